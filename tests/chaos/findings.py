"""The content of the database, compared with the answers to clients."""

import json
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg

from tests.chaos.clients import STATUSES, Key

FIRST_NUMBER = 3
"""An account's history begins with its opening and its check by staff."""


@dataclass
class Findings:
    """How many keys there are, and how many of them broke which promise."""

    keys: int = 0
    rows: int = 0
    kept: int = 0
    twice: int = 0
    lost: int = 0
    with_two_answers: int = 0
    out_of_order: int = 0
    other_than_answered: int = 0

    @property
    def broken(self) -> dict[str, int]:
        """The promises that were not kept."""
        promises = asdict(self)
        counts = {n: promises.pop(n) for n in ("keys", "rows", "kept")}
        if len(set(counts.values())) > 1:
            promises |= counts
        return {name: number for name, number in promises.items() if number}


@dataclass(frozen=True)
class Row:
    number: int
    previous_status: str
    status: str
    key: str
    created_at: datetime


def read_histories(accounts: Iterable[UUID]) -> dict[UUID, list[Row]]:
    """By account, the entries that mutations have made, in their order."""
    histories: dict[UUID, list[Row]] = defaultdict(list)
    with psycopg.connect(os.environ["DATABASE_URL"]) as session:
        found = session.execute(
            "SELECT account_id, number, previous_status, status, reason, created_at"
            " FROM accounts_accountstatuschange"
            " WHERE number >= %s AND account_id = ANY(%s) ORDER BY account_id, number",
            [FIRST_NUMBER, list(accounts)],
        )
        for account, *values in found:
            histories[account].append(Row(*values))
    return histories


def count_kept(keys: Iterable[Key]) -> int:
    with psycopg.connect(os.environ["DATABASE_URL"]) as session:
        found = session.execute(
            "SELECT count(*) FROM partnerapi_idempotencyrecord"
            " WHERE key = ANY(%s) AND body IS NOT NULL",
            [[UUID(key.text) for key in keys]],
        ).fetchone()
    assert found is not None
    return int(found[0])


def missing_effects(acknowledged: Iterable[Key]) -> list[str]:
    """The keys that were answered and that no history names."""
    keys = list(acknowledged)
    histories = read_histories({key.account for key in keys})
    present = {row.key for rows in histories.values() for row in rows}
    return [key.text for key in keys if key.text not in present]


def examine(chains: Iterable[list[Key]]) -> Findings:
    chains = list(chains)
    every = [key for chain in chains for key in chain]
    histories = read_histories({chain[0].account for chain in chains})
    findings = Findings(keys=len(every), kept=count_kept(every))
    for chain in chains:
        history = histories[chain[0].account]
        by_key: dict[str, list[Row]] = defaultdict(list)
        for row in history:
            by_key[row.key].append(row)
        findings.rows += len(history)
        findings.out_of_order += out_of_order(chain, history)
        for key in chain:
            rows = by_key[key.text]
            findings.twice += len(rows) > 1
            findings.lost += not rows or not key.answers
            findings.with_two_answers += len(key.answers) > 1
            findings.other_than_answered += not all(
                tells(body, key, row) for body in key.answers for row in rows
            )
    return findings


def out_of_order(chain: list[Key], history: list[Row]) -> int:
    """How many rows are not where, and not from which status, their key says."""
    statuses = ["ACTIVE", *(STATUSES[key.place % 2] for key in chain)]
    expected = [
        (FIRST_NUMBER + n, statuses[n], statuses[n + 1], key.text)
        for n, key in enumerate(chain)
    ]
    found = [(r.number, r.previous_status, r.status, r.key) for r in history]
    return sum(here != there for here, there in zip(expected, found, strict=False))


def tells(body: bytes, key: Key, row: Row) -> bool:
    """Whether an answer says what the history does."""
    answer: dict[str, Any] = json.loads(body)["data"]["updateAccountStatus"]
    return answer == {
        "previousStatus": row.previous_status,
        "changedAt": answer["changedAt"],
        "account": {"id": f"Account|{key.account}", "status": row.status},
    } and (datetime.fromisoformat(answer["changedAt"]) == row.created_at)
