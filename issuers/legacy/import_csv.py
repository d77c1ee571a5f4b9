"""Imports capitalization tables from before the platform, as legacy shareholders."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from issuers.legacy.models import (
    MAX_INT,
    LegacyImport,
    LegacyShareholder,
    LegacyShareholderChange,
)
from issuers.models import Issuer, Token
from partnerapi.core.csv_tables import CsvRow, read_table
from partnerapi.core.problems import Problem, WrongFileError
from partnerapi.core.times import from_rfc3339

REQUIRED = ("reference", "token_symbol", "number_of_shares", "price_cents")
OPTIONAL = ("holder_email", "holder_lei", "created_at")
COMPARED = ("user_id", "token_id", "number_of_shares", "price_cents", "created_at")
LONGEST_REFERENCE = 100
MAX_DIGITS = 30
BATCH = 2_000


@dataclass(slots=True)
class LegacyChanges:
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    was_imported: bool = False
    ignored_columns: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Known:
    """Users and tokens that the lines refer to; read once for all lines."""

    by_email: dict[str | None, Any]
    by_lei: dict[str | None, Any]
    tokens: dict[str, Any]


def import_legacy_shareholders(
    issuer: Issuer, file_name: str, content: bytes, actor: str, *, dry_run: bool
) -> LegacyChanges:
    """Write an issuer's lines as a file has them, all or none.

    Raises:
        WrongFileError: every problem of the file, by line, field and rule.
    """
    checksum = hashlib.sha256(content).hexdigest()
    table = read_table(content, REQUIRED, OPTIONAL)
    lines, problems = read_lines(table.rows, issuer)
    with transaction.atomic():
        await_other_imports(issuer)
        if LegacyImport.objects.filter(
            issuer=issuer, checksum_sha256=checksum
        ).exists():
            return LegacyChanges(was_imported=True)
        changes = LegacyChanges(ignored_columns=table.ignored_columns)
        batch = LegacyImport.objects.create(
            issuer=issuer,
            file_name=file_name[:255],
            checksum_sha256=checksum,
            imported_by=actor,
        )
        problems += write(lines, batch, changes)
        problems += table.problems
        if problems:
            raise WrongFileError(problems)
        transaction.set_rollback(dry_run)
    return changes


def await_other_imports(issuer: Issuer) -> None:
    """Wait for other imports of the issuer, to see what they wrote."""
    # Not the issuer's row: until the import ends, nobody could change that.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
            [f"import of legacy shareholders of {issuer.pk}"],
        )


def read_lines(
    rows: list[CsvRow], issuer: Issuer
) -> tuple[list[tuple[int, dict[str, Any]]], list[Problem]]:
    """The lines without problems, each with its number; and the problems."""
    emails = {row.values.get("holder_email", "").lower() for row in rows} - {""}
    leis = {row.values.get("holder_lei", "").upper() for row in rows} - {""}
    known = Known(
        dict(User.objects.filter(email__in=emails).values_list("email", "pk")),
        dict(User.objects.filter(lei__in=leis).values_list("lei", "pk")),
        dict(Token.objects.filter(issuer=issuer).values_list("symbol", "pk")),
    )
    lines, problems = [], []
    seen: dict[str, int] = {}
    for row in rows:
        wrong: list[Problem] = []
        line = read_line(row, known, wrong)
        reference = line["reference"]
        if reference in seen:
            rule = f"{reference} stands on line {seen[reference]} already"
            wrong.append(Problem(row.line, "reference", rule))
        seen.setdefault(reference, row.line)
        problems += wrong
        if not wrong:
            lines.append((row.line, line))
    return lines, problems


def read_line(row: CsvRow, known: Known, wrong: list[Problem]) -> dict[str, Any]:
    values = row.values

    def refuse(name: str, rule: str) -> None:
        wrong.append(Problem(row.line, name, rule))

    def number(name: str, least: int) -> int | None:
        text = values[name]
        if not text.isascii() or not text.isdecimal():
            refuse(name, f"{text!r} is not a whole number without signs or separators")
            return None
        # Longer numbers are neither converted nor repeated in the message.
        if len(text) > MAX_DIGITS or not least <= int(text) <= MAX_INT:
            refuse(name, f"{text[:MAX_DIGITS]} is not from {least} to {MAX_INT}")
            return None
        return int(text)

    reference = values["reference"]
    if not reference:
        refuse("reference", "is empty; give each line a name of its own")
    elif len(reference) > LONGEST_REFERENCE:
        refuse("reference", f"has more than {LONGEST_REFERENCE} characters")
    symbol = values["token_symbol"].upper()
    if symbol not in known.tokens:
        rule = f"{symbol!r} is no token of this issuer; it has {sorted(known.tokens)}"
        refuse("token_symbol", rule)
    line: dict[str, Any] = {
        "reference": reference,
        "user_id": read_holder(values, known, refuse),
        "token_id": known.tokens.get(symbol),
        "number_of_shares": number("number_of_shares", 1),
        "price_cents": number("price_cents", 0),
    }
    if text := values.get("created_at"):
        try:
            line["created_at"] = at = from_rfc3339(text)
            if at > timezone.now():
                refuse("created_at", f"{text} is in the future")
        except ValueError as error:
            refuse("created_at", str(error))
    return line


def read_holder(values: dict[str, str], known: Known, refuse: Any) -> Any:
    email = values.get("holder_email", "").lower()
    lei = values.get("holder_lei", "").upper()
    if not email and not lei:
        refuse("holder_email", "is empty, and so is holder_lei; give one of them")
        return None
    found = set()
    for name, text, users in (
        ("holder_email", email, known.by_email),
        ("holder_lei", lei, known.by_lei),
    ):
        if text and text not in users:
            refuse(name, f"there is no user {text}; create the user first")
        elif text:
            found.add(users[text])
    if len(found) > 1:
        refuse("holder_lei", f"{lei} is another user than {email}; correct one")
    return next(iter(found), None)


def write(
    lines: list[tuple[int, dict[str, Any]]], batch: LegacyImport, changes: LegacyChanges
) -> list[Problem]:
    """Create and update lines; a problem for each DELIVERED one that differs."""
    references = [line["reference"] for _, line in lines]
    stored = {
        row.reference: row
        # A delivery locks lines in the same order.
        for row in LegacyShareholder.objects.filter(
            issuer=batch.issuer, reference__in=references
        )
        .order_by("pk")
        .select_for_update()
    }
    created, updated, history, problems = [], [], [], []
    for number, line in lines:
        row = stored.get(line["reference"])
        if row is None:
            created.append(
                LegacyShareholder(
                    issuer=batch.issuer, batch=batch, batch_row=number, **line
                )
            )
            continue
        before = {
            name: json_value(getattr(row, name))
            for name in COMPARED
            if name in line and getattr(row, name) != line[name]
        }
        if not before:
            changes.unchanged += 1
        elif row.status == LegacyShareholder.Status.DELIVERED:
            rule = (
                f"{row.reference} is DELIVERED and can not change its "
                f"{', '.join(sorted(before))}; reverse the delivery, and give the "
                "correction a reference of its own"
            )
            problems.append(Problem(number, "reference", rule))
        else:
            for name, value in line.items():
                setattr(row, name, value)
            row.batch, row.batch_row = batch, number
            updated.append(row)
            history.append(
                LegacyShareholderChange(shareholder=row, batch=batch, before=before)
            )
    LegacyShareholder.objects.bulk_create(created, batch_size=BATCH)
    LegacyShareholder.objects.bulk_update(
        updated,
        [name.removesuffix("_id") for name in (*COMPARED, "batch", "batch_row")],
        batch_size=BATCH,
    )
    LegacyShareholderChange.objects.bulk_create(history, batch_size=BATCH)
    changes.created, changes.updated = len(created), len(updated)
    return problems


def json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)
