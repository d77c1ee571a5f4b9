"""What statements say of the rows of other tables, without saying what is in a row.

Each statement covers the rows that came since the one before. The commitment of a row
is the SHA-256 of a salt and of its line, and the salt an HMAC of the row's key under
the statement's seed for that table: without the seed a commitment reveals nothing. The
digest is the SHA-256 of the commitments in the order of their bytes. A table's last
digest covers all of its statements.

When the text of a row is erased, so is the seed, since the row's salt could be derived
from it. The salts of the other rows and the commitment of the erased one are kept.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection

from issuers.register.statement_models import Erasure, StatedRows
from partnerapi.core.chains import rows_of
from partnerapi.core.times import to_rfc3339

EVENTS_ARE_KEPT = timedelta(days=30)
"""No event is pruned sooner (`events_prune`)."""


class Kept(NamedTuple):
    """A table whose rows stay: their key, their time, and what may still change.

    `kept` is how long a row stays at least, where old rows are pruned.
    """

    name: str
    key: str
    time: str
    without: tuple[str, ...] = ()
    kept: timedelta | None = None

    @property
    def stated_name(self) -> str:
        """Rows that end are stated twice: as they were made, and as they ended."""
        return f"{self.name} ended" if self.time == "ended_at" else self.name


ENDS = ("ended_by", "ended_at")
# Rows without a time of their own have that of what they are written with.
BOOKED = """(SELECT s.booked_at FROM accounts_bankstatement s
    WHERE s.id = accounts_bankline.statement_id)"""
WITHDRAWN = """(SELECT w.created_at FROM accounts_withdrawal w
    WHERE w.id = accounts_payee.withdrawal_id)"""
ORDERED = """(SELECT f.made_at FROM accounts_paymentfile f
    WHERE f.id = accounts_paymentorder.file_id)"""
TABLES = (
    Kept("accounts_accountstatuschange", "id", "recorded_at"),
    Kept("accounts_approvalrequest", "id", "filed_at"),
    Kept("accounts_approvaldecision", "request_id", "decided_at"),
    Kept("accounts_approvaloutcome", "request_id", "ended_at"),
    Kept("accounts_assertion", "id", "made_at"),
    Kept("accounts_bankline", "reference", BOOKED),
    Kept("accounts_bankstatement", "id", "booked_at", ("made_in",)),
    Kept("accounts_cashtransaction", "id", "at"),
    Kept("cash_entry_lines", "cash_account_id, number", "at"),
    Kept("accounts_houseaccount", "id", "named_at"),
    Kept("accounts_investorattestation", "id", "created_at"),
    Kept("accounts_investorchange", "id", "created_at"),
    Kept("accounts_payee", "withdrawal_id", WITHDRAWN),
    Kept("accounts_paymentfile", "id", "made_at"),
    Kept("accounts_paymentorder", "withdrawal_id", ORDERED),
    Kept("accounts_rowchange", "id", "at"),
    Kept("accounts_userholdername", "id", "replaced_at"),
    Kept("django_admin_log", "id", "action_time"),
    Kept("issuers_approvedholder", "id", "created_at", ENDS),
    Kept("issuers_approvedholder", "id", "ended_at"),
    Kept("issuers_event", "partner_id, sequence", "at", kept=EVENTS_ARE_KEPT),
    Kept("issuers_legacyshareholder", "id", "delivered_at"),
    Kept("issuers_restriction", "id", "created_at", ENDS),
    Kept("issuers_restriction", "id", "ended_at"),
    Kept("issuers_tokenrule", "id", "created_at", ENDS),
    Kept("issuers_tokenrule", "id", "ended_at"),
    Kept("marketdata_trade", "token_id, sequence", "at"),
    Kept("trading_bust", "token_id, sequence", "at"),
    Kept("trading_marketparameters", "id", "created_at", ("announced_at",)),
    Kept("trading_orderblock", "id", "blocked_at", ("released_by", "released_at")),
    Kept("trading_orderevent", "token_id, number", "at"),
    Kept("trading_tariff", "id", "created_at", ENDS),
    Kept("trading_tariff", "id", "ended_at"),
)


def state_rows(table: Kept, until: datetime) -> list[StatedRows]:
    """What was stated of a table, and last what a statement of now adds; unsaved."""
    stated = [*StatedRows.objects.filter(name=table.stated_name).order_by("until")]
    fresh = StatedRows(
        name=table.stated_name,
        columns=columns_of(table),
        since=stated[-1].until if stated else None,
        until=until,
        seed=secrets.token_bytes(16),
    )
    fresh.rows, fresh.digest = computed(table, fresh)
    return [*stated, fresh]


def computed(table: Kept, stated: StatedRows) -> tuple[int, bytes]:
    """How many rows there are now of what was stated, and the digest."""
    _, commitments = keys_and_commitments(table, stated)
    ordered = sorted(commitments.values())
    return len(ordered), hashlib.sha256(b"".join(ordered)).digest()


def keys_and_commitments(
    table: Kept, stated: StatedRows
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The salts of the rows of what was stated, and their commitments, by key.

    A row that was erased has its commitment of then, and no salt. One that has neither
    was not stated: its salt is empty.
    """
    seed = stated.seed and bytes(stated.seed)
    erased = {k: bytes.fromhex(c) for k, c in (stated.erased or {}).items()}
    known = {key: bytes.fromhex(salt) for key, salt in (stated.salts or {}).items()}
    salts: dict[str, bytes] = {}
    commitments: dict[str, bytes] = {}
    for key, line in lines_of(table, stated):
        if key in erased:
            commitments[key] = erased[key]
        else:
            salts[key] = salt_of(seed, key) if seed else known.get(key, b"")
            commitments[key] = hashlib.sha256(salts[key] + line.encode()).digest()
    return salts, commitments


def lines_of(table: Kept, stated: StatedRows) -> Iterator[tuple[str, str]]:
    """The keys and the lines of the rows that there are now of what was stated."""
    # Names of tables and columns are the project's own, and its statements'.
    listed = ", ".join(f"{table.name}.{column}" for column in stated.columns)
    yield from rows_of(
        f"SELECT ROW({table.key})::text, ROW({listed})::text FROM {table.name}"
        f" WHERE {table.time} >= coalesce(%s::timestamptz, '-infinity')"
        f" AND {table.time} < %s",
        [stated.since, stated.until],
    )


def salt_of(seed: bytes, key: str) -> bytes:
    return hmac.digest(seed, key.encode(), "sha256")


def digest_over(stated: Sequence[StatedRows]) -> str:
    """The digest over all that was stated of a table, in order."""
    digest = bytes(32)
    for one in stated:
        said = f"{to_rfc3339(one.until)} {one.rows} {bytes(one.digest).hex()}"
        digest = hashlib.sha256(digest + said.encode()).digest()
    return digest.hex()


def table_differences(tables: list[dict[str, Any]], at: datetime) -> Iterator[str]:
    """Tables of a statement whose covered rows have changed."""
    erased = {
        name for e in Erasure.objects.all() for name in json.loads(e.line)["rows"]
    }
    for stated in tables:
        # Older statements name the columns, and digest all rows at once.
        if "columns" not in stated:
            yield from rows_differ(stated, at)
            continue
        table = next(one for one in TABLES if one.name == stated["table"])
        if table.name in erased:
            continue
        until = datetime.fromisoformat(stated["until"])
        rows, now = table_digest(table, stated["columns"], until)
        if (rows, now) != (stated["rows"], stated["digest"]):
            yield (
                f"The rows of {table.name} until {stated['until']} are not those "
                f"that were stated: {rows:,} instead of {stated['rows']:,}, and "
                f"their digest is {now}, not {stated['digest']}."
            )


def rows_differ(said: dict[str, Any], at: datetime) -> Iterator[str]:
    """Differences between a table and what a statement says of it, a sentence each.

    Rows that may have been pruned by the instant `at` are not compared.
    """
    table = next(one for one in TABLES if one.stated_name == said["table"])
    stated = [
        *StatedRows.objects.filter(
            name=table.stated_name, until__lte=datetime.fromisoformat(said["until"])
        ).order_by("until")
    ]
    if digest_over(stated) != said["digest"]:
        yield (
            f"What earlier statements say of {table.stated_name} until {said['until']} "
            "is not what was stated."
        )
    for one in stated:
        if table.kept and (one.since or one.until) < at - table.kept:
            continue
        rows, digest = computed(table, one)
        if (rows, digest) != (one.rows, bytes(one.digest)):
            yield (
                f"The rows of {table.stated_name} until {to_rfc3339(one.until)} are "
                f"not those that were stated: {rows:,} instead of {one.rows:,}, and "
                f"their digest is {digest.hex()}, not {bytes(one.digest).hex()}."
            )


def table_digest(table: Kept, columns: list[str], until: datetime) -> tuple[int, str]:
    """How many rows are older, and the SHA-256 of their lines, each with its end."""
    listed = ", ".join(f"{table.name}.{column}" for column in columns)
    count, digest = 0, hashlib.sha256()
    for (line,) in rows_of(
        f"SELECT ROW({listed})::text FROM {table.name} WHERE {table.time} < %s"
        f" ORDER BY {table.key}",
        [until],
    ):
        count += 1
        digest.update(f"{line}\n".encode())
    return count, digest.hexdigest()


def columns_of(table: Kept) -> list[str]:
    with connection.cursor() as cursor:
        described = connection.introspection.get_table_description(cursor, table.name)
    return sorted({column.name for column in described} - {*table.without})
