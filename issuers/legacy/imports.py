"""Imports capitalization tables from before the platform.

Lines are loaded into a temporary table, and statements check and write all of them at
once. So a quarter of a million lines need as much memory as a few.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import uuid_utils.compat as uuid
from django.db import connection, transaction
from django.utils import timezone

from accounts.people.imports import (
    NOTED,
    SEVERAL_USERS,
    Checks,
    HolderChanges,
    find_holders,
    judged_holders,
    make_incoming,
    storable,
    write_holders,
)
from issuers.legacy.models import MAX_INT, LegacyImport
from issuers.models import Issuer, Token
from partnerapi.core.csv_tables import CsvStream, stream_table
from partnerapi.core.database import broken_rules, copy, execute, make_temporary
from partnerapi.core.problems import Problem, Problems, WrongFileError
from partnerapi.core.progress import Advance, Begin
from partnerapi.core.times import from_rfc3339

REQUIRED = ("reference", "token_symbol", "number_of_shares", "price_cents")
NAMED_BY = {
    "email": "holder_email",
    "wallet": "holder_wallet",
    "lei": "holder_lei",
}
"""How the file calls what names a holder."""
HOLDER = {
    **NAMED_BY,
    "name": "holder_name",
    "kind": "holder_kind",
    "country": "holder_country",
}
OPTIONAL = (*HOLDER.values(), "created_at")
LONGEST_REFERENCE = 100
MAX_DIGITS = 30
STEP = 5_000


@dataclass(slots=True)
class LegacyChanges:
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    was_imported: bool = False
    ignored_columns: list[str] = field(default_factory=list)
    holders: HolderChanges | None = None
    """What came of the holders, where the file may make them."""


def import_legacy_shareholders(
    issuer: Issuer,
    file_name: str,
    content: bytes,
    actor: str,
    begin: Begin,
    *,
    create_holders: bool,
    dry_run: bool,
) -> LegacyChanges:
    """Write an issuer's lines from a file, all of them or none.

    A file that was imported before changes nothing.

    Raises:
        WrongFileError: the problems of the file, by line, field and rule; for a file
            that was imported before, the lines that are missing.
    """
    checksum = hashlib.sha256(content).hexdigest()
    imported = LegacyImport.objects.filter(issuer=issuer, checksum_sha256=checksum)
    with transaction.atomic():
        stream = stream_table(content, REQUIRED, OPTIONAL)
        make_temporary("incoming_line", COLUMN_TYPES)
        count = copy(
            "incoming_line",
            COLUMNS,
            Lines(stream, issuer).read(begin("Reading", stream.line_count)),
        )
        await_other_imports(issuer)
        if before := imported.first():
            if missing := broken_rules(MISSING.format(batch=before.pk), {}):
                raise WrongFileError(missing)
            return LegacyChanges(was_imported=True)
        batch = LegacyImport.objects.create(
            issuer=issuer,
            file_name=storable(file_name),
            checksum_sha256=checksum,
            imported_by=actor,
            line_count=count,
        )
        problems = stream.problems
        holders = made_holders(problems) if create_holders else None
        # The reasons for missing holders were reported already.
        are_there = not create_holders or holders is not None
        problems += judged_lines(are_there)
        problems += judged_changes(issuer)
        if problems:
            raise WrongFileError(problems)
        changes = write(batch)
        changes.holders = holders
        changes.ignored_columns = stream.ignored_columns
        transaction.set_rollback(dry_run)
    return changes


MISSING = f"""
    SELECT line, 'reference', reference || ' is not a line of the issuer, although '
        || {NOTED}
    FROM incoming_line i, issuers_legacyimport b
    WHERE b.id = '{{batch}}' AND NOT EXISTS (SELECT FROM issuers_legacyshareholder s
        WHERE s.issuer_id = b.issuer_id AND s.reference = i.reference)
"""


def await_other_imports(issuer: Issuer) -> None:
    """Wait for an earlier import of the issuer, so that this one sees its result."""
    # Not by a lock of the issuer's row: no one could change it during an import.
    execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
        [f"import of legacy shareholders of {issuer.pk}"],
    )


class Lines:
    """Reads a file's lines, and reports the errors of each line by itself."""

    def __init__(self, stream: CsvStream, issuer: Issuer) -> None:
        self.stream = stream
        self.checks = Checks(stream.problems)
        self.now = timezone.now()
        self.tokens = dict(
            Token.objects.filter(issuer=issuer).values_list("symbol", "pk")
        )

    def read(self, advance: Advance) -> Iterator[list[Any]]:
        for count, (line, values) in enumerate(self.stream.rows(), 1):
            if count % STEP == 0:
                advance(STEP)
            yield self.line(line, dict(zip(self.stream.columns, values, strict=True)))

    def line(self, line: int, values: dict[str, str]) -> list[Any]:
        def refuse(name: str, rule: str) -> None:
            self.stream.problems.append(Problem(line, name, rule))

        def number(name: str, least: int) -> int | None:
            text = values[name]
            if not text.isascii() or not text.isdecimal():
                rule = f"{text!r:.60} is not a whole number without signs or separators"
                refuse(name, rule)
                return None
            # So many digits are neither parsed nor quoted.
            if len(text) > MAX_DIGITS or not least <= int(text) <= MAX_INT:
                refuse(name, f"{text[:MAX_DIGITS]} is not from {least} to {MAX_INT}")
                return None
            return int(text)

        reference = values["reference"]
        if not reference:
            refuse("reference", "is blank; give each line a unique reference")
        elif len(reference) > LONGEST_REFERENCE:
            refuse("reference", f"has more than {LONGEST_REFERENCE} characters")
        symbol = values["token_symbol"].upper()
        if symbol not in self.tokens:
            rule = (
                f"{symbol!r:.60} is not a token of this issuer; it has "
                f"{', '.join(sorted(self.tokens)) or 'none'}"
            )
            refuse("token_symbol", rule)
        holder = self.checks.holder(
            line, {name: values[column] for name, column in HOLDER.items()}, HOLDER
        )
        created_at = None
        if text := values["created_at"]:
            try:
                created_at = from_rfc3339(text)
                if created_at > self.now:
                    refuse("created_at", f"{text} is in the future")
            except ValueError as error:
                refuse("created_at", str(error))
        return [
            line, uuid.uuid7(), reference, self.tokens.get(symbol),
            number("number_of_shares", 1), number("price_cents", 0), created_at,
            *holder,
        ]  # fmt: skip


COLUMN_TYPES = """
    line integer NOT NULL, id uuid NOT NULL, reference text, token_id uuid,
    number_of_shares bigint, price_cents bigint, created_at timestamptz,
    name text, kind text, email text, wallet text, lei text, country text,
    user_id uuid, holder_id uuid
"""
COLUMNS = (
    "line", "id", "reference", "token_id", "number_of_shares", "price_cents",
    "created_at", "name", "kind", "email", "wallet", "lei", "country", "user_id",
    "holder_id",
)  # fmt: skip


def made_holders(problems: Problems) -> HolderChanges | None:
    """Create the new holders of the incoming lines; several lines that name the same
    holder in the same way create one. Errors are added to `problems`; while there are
    any, no holder is created.
    """
    make_incoming()
    execute(HOLDERS_OF_LINES)
    problems += broken_rules(OTHER_WORDS, HOLDER)
    problems += judged_holders(HOLDER)
    return None if problems else write_holders()


HOLDERS_OF_LINES = """
    INSERT INTO incoming_holder
        (line, name, kind, email, wallet, lei, country, user_id, holder_id)
    SELECT DISTINCT ON (email, lower(wallet), lei)
        line, name, kind, email, wallet, lei, country, user_id, holder_id
    FROM incoming_line
    WHERE email IS NOT NULL OR wallet IS NOT NULL OR lei IS NOT NULL
    ORDER BY email, lower(wallet), lei, line
"""
# By one value, which PostgreSQL can hash: NULL counts as a value like any other.
OTHER_WORDS = """
    SELECT l.line, 'name', 'the name, the kind or the country of the holder differs '
        || 'from line ' || h.line || '; make them equal'
    FROM incoming_line l JOIN incoming_holder h
        ON jsonb_build_array(h.email, lower(h.wallet), h.lei)
            = jsonb_build_array(l.email, lower(l.wallet), l.lei)
    WHERE (l.name, l.kind, l.country) IS DISTINCT FROM (h.name, h.kind, h.country)
"""


def judged_lines(are_there: bool) -> Problems:
    """Conflicts of the lines with each other, and with the holders that they name.

    The existence of the holders is only checked if they `are_there`.
    """
    find_holders("incoming_line")
    problems = broken_rules(TWICE, {})
    for name in NAMED_BY if are_there else ():
        problems += broken_rules(NOBODY.format(name=name), NAMED_BY)
    problems += broken_rules(SEVERAL_USERS, NAMED_BY)
    return problems


TWICE = """
    SELECT line, 'reference', reference || ' is already on line ' || first
    FROM (
        SELECT line, reference, min(line) OVER (PARTITION BY reference) AS first
        FROM incoming_line WHERE reference <> ''
    ) named
    WHERE line > first
"""
NOBODY = """
    SELECT line, '{name}', 'there is no user ' || {name} || '; create the user first, '
        || 'with import holders, or here with --create-holders'
    FROM incoming_line i
    WHERE {name} IS NOT NULL AND NOT EXISTS (
        SELECT FROM found_holder f WHERE f.line = i.line AND f.named_by = '{name}')
"""


def judged_changes(issuer: Issuer) -> Problems:
    """Lock the stored lines that the file names; return those that cannot change."""
    make_temporary("changed_line", "line integer, stored_id uuid, before jsonb")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE incoming_line SET user_id = NULL")
        cursor.execute(RESOLVE)
        # In key order, as a delivery locks them.
        cursor.execute(LOCK, [issuer.pk])
        cursor.execute(CHANGED, [issuer.pk])
    return broken_rules(DELIVERED, {})


RESOLVE = """
    UPDATE incoming_line i SET user_id = f.user_id
    FROM (SELECT DISTINCT ON (line) line, user_id FROM found_holder) f
    WHERE f.line = i.line
"""
LOCK = """
    SELECT FROM issuers_legacyshareholder s
    WHERE s.issuer_id = %s AND s.reference IN (SELECT reference FROM incoming_line)
    ORDER BY s.id FOR UPDATE
"""
# A line without a time leaves the stored time.
CHANGED = """
    INSERT INTO changed_line (line, stored_id, before)
    SELECT i.line, s.id,
        CASE WHEN s.user_id <> i.user_id
            THEN jsonb_build_object('user_id', s.user_id) ELSE '{}' END
        || CASE WHEN s.token_id IS DISTINCT FROM i.token_id
            THEN jsonb_build_object('token_id', s.token_id) ELSE '{}' END
        || CASE WHEN s.number_of_shares <> i.number_of_shares
            THEN jsonb_build_object('number_of_shares', s.number_of_shares)
            ELSE '{}' END
        || CASE WHEN s.price_cents <> i.price_cents
            THEN jsonb_build_object('price_cents', s.price_cents) ELSE '{}' END
        || CASE WHEN s.created_at <> i.created_at
            THEN jsonb_build_object('created_at', s.created_at) ELSE '{}' END
    FROM incoming_line i
    JOIN issuers_legacyshareholder s
        ON s.issuer_id = %s AND s.reference = i.reference
"""
DELIVERED = """
    SELECT c.line, 'reference', s.reference || ' is DELIVERED and cannot change its '
        || (SELECT string_agg(name, ', ' ORDER BY name)
            FROM jsonb_object_keys(c.before) AS name)
        || '; reverse the delivery, and give the correction a new reference'
    FROM changed_line c JOIN issuers_legacyshareholder s ON s.id = c.stored_id
    WHERE c.before <> '{}' AND s.status = 'DELIVERED'
"""


def write(batch: LegacyImport) -> LegacyChanges:
    """Create and correct lines, and keep the earlier values of corrected ones."""
    with connection.cursor() as cursor:
        cursor.execute(KEEP, [batch.pk])
        cursor.execute(CORRECT, [batch.pk])
        updated = cursor.rowcount
        cursor.execute(CREATE, [batch.issuer_id, batch.pk])
        created = cursor.rowcount
        cursor.execute("SELECT count(*) FROM incoming_line")
        [(count,)] = cursor.fetchall()
    return LegacyChanges(created, updated, count - created - updated)


KEEP = """
    INSERT INTO issuers_legacyshareholderchange (id, shareholder_id, batch_id, before)
    SELECT i.id, c.stored_id, %s, c.before
    FROM changed_line c JOIN incoming_line i ON i.line = c.line
    WHERE c.before <> '{}'
"""
CORRECT = """
    UPDATE issuers_legacyshareholder s
    SET user_id = i.user_id, token_id = i.token_id,
        number_of_shares = i.number_of_shares, price_cents = i.price_cents,
        created_at = coalesce(i.created_at, s.created_at), batch_id = %s,
        batch_row = i.line
    FROM changed_line c JOIN incoming_line i ON i.line = c.line
    WHERE c.before <> '{}' AND s.id = c.stored_id
"""
CREATE = """
    INSERT INTO issuers_legacyshareholder (id, issuer_id, user_id, token_id, status,
        number_of_shares, price_cents, created_at, reference, batch_id, batch_row)
    SELECT i.id, %s, i.user_id, i.token_id, 'PENDING', i.number_of_shares,
        i.price_cents, coalesce(i.created_at, now()), i.reference, %s, i.line
    FROM incoming_line i LEFT JOIN changed_line c ON c.line = i.line
    WHERE c.line IS NULL ORDER BY i.line
"""
