"""The records of erasures: a chain of lines, whose head each statement has."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from issuers.register.statement_models import Erasure, RedactedLine, StatedRows
from partnerapi.core.chains import BEGINNING, after, rows_of
from partnerapi.core.database import execute


def lock_erasures() -> None:
    """Until the transaction ends, no person is erased and no statement published."""
    execute("SELECT pg_advisory_xact_lock(hashtextextended('erasures', 0))")


def erasures_now() -> dict[str, Any]:
    """The number of the last erasure, and the head of the chain of their records."""
    last = Erasure.objects.order_by("-number").first()
    head = bytes(last.digest) if last else BEGINNING
    return {"number": last.number if last else 0, "digest": head.hex()}


def erasure_differences(stated: dict[str, Any] | None) -> Iterator[str]:
    """What the records of erasures do not say as they were written, or do not cover."""
    digest, heads = BEGINNING, {0: BEGINNING.hex()}
    lines: set[tuple[str, int, str, str]] = set()
    parts: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    unsalted: set[str] = set()
    for erasure in Erasure.objects.order_by("number"):
        digest = after(digest, erasure.line)
        heads[erasure.number] = digest.hex()
        if digest != bytes(erasure.digest):
            yield f"The record of {str(erasure).lower()} was altered."
        said = json.loads(erasure.line)
        unsalted |= {*said["unsalted"]}
        lines |= {
            (one["token"], one["number"], one["digestBefore"], one["digestAfter"])
            for one in said["lines"]
        }
        for part in said["stated"] or ():
            parts[part["name"], part["statement"]] |= part["erased"]
    if stated and heads.get(stated["number"]) != stated["digest"]:
        yield f"The records of erasures up to {stated['number']} are not those stated."
    redacted = {
        (str(o.token_id), o.number, o.digest_before.hex(), o.digest_after.hex())
        for o in RedactedLine.objects.all()
    }
    if redacted != lines:
        yield "The redacted lines of entries are not those of the records of erasures."
    known = StatedRows.objects.exclude(erased=None)
    if {(one.name, one.statement_id): one.erased for one in known} != parts:
        yield "The erased rows of statements are not those of the records of erasures."
    if {key for (key,) in rows_of(UNSALTED, [])} != unsalted:
        yield "Private parts without a salt are not those of the records of erasures."


def not_compared(said: dict[str, Any]) -> list[str]:
    """What cannot be compared with a statement, since persons were erased after it."""
    last = said.get("erasures", {"number": 0})["number"]
    notes = []
    for erasure in Erasure.objects.filter(number__gt=last).order_by("number"):
        rows = json.loads(erasure.line)["rows"]
        of = ", ".join(f"{count:,} of {name}" for name, count in sorted(rows.items()))
        notes.append(
            f"not comparable after erasure {erasure.number}, but by their commitments: "
            f"the person's names, and rows: {of}"
        )
    return notes


UNSALTED = """
    SELECT ROW(token_id, seq)::text FROM issuers_ledgertransaction
    WHERE private_digest IS NOT NULL AND salt IS NULL
    UNION ALL
    SELECT ROW(cash_account_id, number)::text FROM accounts_cashposting
    WHERE private_digest IS NOT NULL AND salt IS NULL
"""
