"""All entries of a token's ledger, and the chain that their canonical lines make.

The line of an entry is JSON with sorted members and no white space; the digest after it
is the SHA-256 of the digest before it (32 zero bytes at first) and the line's UTF-8.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db import connection, transaction

from issuers.exports.tables import Column
from issuers.models import Token

FETCHED = 2_000
BEGINNING = bytes(32)
"""The digest before the first entry."""

COLUMNS = (
    Column("seq", 8, is_number=True),
    Column("kind", 15),
    Column("amount", 20, is_number=True),
    Column("from", 36),
    Column("from_name", 30),
    Column("to", 36),
    Column("to_name", 30),
    Column("effective_at", 27),
    Column("recorded_at", 27),
    Column("supply_after", 20, is_number=True),
    Column("held_after", 20, is_number=True),
    Column("holders_after", 13, is_number=True),
    Column("actor", 25),
    Column("reason", 30),
    Column("chain_reference", 20),
    Column("legacy_shareholder", 36),
    Column("reverses", 8, is_number=True),
)


class LedgerLine(NamedTuple):
    """An entry; `source` and `target` are users' ids, "treasury", or None."""

    seq: int
    kind: str
    amount: int
    source: str | None
    source_name: str | None
    target: str | None
    target_name: str | None
    effective_at: datetime
    recorded_at: datetime
    supply_after: int
    held_after: int
    holders_after: int
    actor: str
    reason: str
    chain_reference: str | None
    legacy_shareholder: str | None
    reverses: int | None


@contextmanager
def entries(token: Token, user_id: Any = None) -> Iterator[Iterator[LedgerLine]]:
    """The entries of a token in their order; with a user, those of that user."""
    statement = ENTRIES.format(condition=OF_USER if user_id else "")
    arguments = [token.pk, user_id, user_id] if user_id else [token.pk]
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(statement, arguments)
        yield read(cursor)


def read(cursor: Any) -> Iterator[LedgerLine]:
    while rows := cursor.fetchmany(FETCHED):
        for row in rows:
            line = LedgerLine(*row)
            yield line._replace(
                amount=int(line.amount),
                supply_after=int(line.supply_after),
                held_after=int(line.held_after),
            )


def canonical_line(token: Token, entry: LedgerLine) -> str:
    """What the chain covers. Numbers that may be above 2⁵³ are strings."""
    said = {
        "actor": entry.actor,
        "amount": str(entry.amount),
        "chainReference": entry.chain_reference,
        "effectiveAt": instant(entry.effective_at),
        "from": entry.source,
        "heldAfter": str(entry.held_after),
        "holdersAfter": entry.holders_after,
        "kind": entry.kind,
        "legacyShareholder": entry.legacy_shareholder,
        "reason": entry.reason,
        "recordedAt": instant(entry.recorded_at),
        "reverses": entry.reverses,
        "seq": entry.seq,
        "supplyAfter": str(entry.supply_after),
        "to": entry.target,
        "token": str(token.pk),
    }
    return json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def chained(token: Token, lines: Iterator[LedgerLine]) -> Iterator[tuple[str, bytes]]:
    """Each entry's canonical line, and the digest of the chain after it."""
    digest = BEGINNING
    for entry in lines:
        line = canonical_line(token, entry)
        digest = hashlib.sha256(digest + line.encode()).digest()
        yield line, digest


PLACE = """
    CASE WHEN t.{side}_id IS NULL THEN NULL
        WHEN {side}.user_id IS NULL THEN 'treasury' ELSE {side}.user_id::text END,
    coalesce({side}_holder.name, CASE WHEN t.{side}_id IS NOT NULL THEN 'treasury' END)
"""
ENTRIES = f"""
    SELECT t.seq, t.kind, t.amount, {PLACE.format(side="source")},
        {PLACE.format(side="target")}, t.effective_at, t.recorded_at, t.supply_after,
        t.held_after, t.holders_after, t.actor, t.reason, t.chain_reference,
        t.legacy_shareholder_id::text, t.reverses
    FROM issuers_ledgertransaction t
    LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id
    LEFT JOIN accounts_userholder source_holder ON source_holder.id = source.holder_id
    LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id
    LEFT JOIN accounts_userholder target_holder ON target_holder.id = target.holder_id
    WHERE t.token_id = %s {{condition}}
    ORDER BY t.seq
"""
OF_USER = "AND (source.user_id = %s OR target.user_id = %s)"
