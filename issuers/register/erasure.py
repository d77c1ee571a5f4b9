"""Erases a person: names, the salts that open commitments, and texts with the names.

The commitments of statements and their padding leaves stay, and reveal nothing without
the salts. So every statement's tree can still be computed, and what was proved stays
proved. An erasure takes two people. Its record is a line of a chain; the next statement
has the head.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.people.models import User
from issuers.register.erasure_records import lock_erasures
from issuers.register.stated_rows import TABLES, keys_and_commitments
from issuers.register.statement_models import Erasure, StatedRows
from partnerapi.core.chains import rows_of
from partnerapi.core.database import constraint_of
from partnerapi.core.progress import Advance
from partnerapi.core.times import to_rfc3339


class Retention(NamedTuple):
    """How many days the rows of a table keep their texts, and which law says so."""

    days: int
    source: str


BOOKS = Retention(3_653, "accounts and their vouchers: Code de commerce, L123-22")
ORDERS = Retention(1_827, "records of orders: Regulation (EU) 600/2014, article 25")
DECISIONS = Retention(1_827, "records of services: Directive 2014/65/EU, article 16")
KNOWN = Retention(1_827, "due diligence: Directive (EU) 2015/849, article 40")
RETENTION: Mapping[str, Retention] = {
    "accounts_applicant": KNOWN,
    "accounts_approvaldecision": DECISIONS,
    "accounts_approvaloutcome": DECISIONS,
    "accounts_approvalrequest": DECISIONS,
    "accounts_bankline": BOOKS,
    "accounts_cashtransaction": BOOKS,
    "accounts_investorattestation": KNOWN,
    "accounts_investorchange": KNOWN,
    "accounts_investorprofile": KNOWN,
    "accounts_payee": BOOKS,
    "accounts_paymentfile": BOOKS,
    "accounts_withdrawal": BOOKS,
    "cash_entry_lines": BOOKS,
    "trading_bust": ORDERS,
    "trading_orderevent": ORDERS,
}
"""Tables that keep texts after an erasure; all others lose them at once."""


class NotErasable(Exception):
    """The database refuses to erase this person; the message says why."""


class Found(NamedTuple):
    """The rows of a table that name a person.

    `erased` are the keys of those that lose their texts now; the others stay until
    their retention has ended: `until` is the last of these times.
    """

    table: str
    erased: list[str]
    kept: int
    until: datetime | None


def erasure_content(person: UUID, kept: Mapping[str, int]) -> dict[str, Any]:
    """What a second person approves: whom, and the days that tables keep texts."""
    return {"person": str(person), "kept": dict(kept)}


def erasure_title(person: UUID) -> str:
    """Without the name, since a request is kept longer."""
    return f"Erasure of the person {person}"


def days_kept() -> dict[str, int]:
    return {table: retention.days for table, retention in RETENTION.items()}


def found(person: UUID, kept: Mapping[str, int]) -> list[Found]:
    """The tables with rows that name the person, by name."""
    by_table: dict[str, dict[str, datetime | None]] = defaultdict(dict)
    for table, key, ends in rows_of(ROWS, [person, json.dumps(dict(kept))]):
        by_table[table][key] = ends
    return [
        Found(
            table,
            [key for key, ends in rows.items() if ends is None],
            sum(ends is not None for ends in rows.values()),
            max((ends for ends in rows.values() if ends), default=None),
        )
        for table, rows in sorted(by_table.items())
    ]


def erase(
    person: UUID, actor: str, kept: Mapping[str, int], advance: Advance
) -> Erasure:
    """Erase a person, in the transaction that carries the approval.

    `advance` is called for each table with rows that name the person.

    Raises:
        NotErasable: the person has units, pending legacy shares, an open account or
            an issuer.
    """
    # A statement that is published meanwhile would have what is erased.
    lock_erasures()
    stated: list[dict[str, Any]] = []
    for of in found(person, kept):
        stated += parts_without(of.table, of.erased)
        advance(1)
    arguments = [actor, person, json.dumps(dict(kept)), json.dumps(stated)]
    try:
        [erasure] = Erasure.objects.raw(ERASE, arguments)
    except IntegrityError as error:
        if constraint_of(error) != ERASABLE:
            raise
        raise NotErasable(str(error).partition("\n")[0]) from None
    return erasure


def parts_without(table: str, erased: Iterable[str]) -> Iterator[dict[str, Any]]:
    """What parts of statements keep of a table of which rows are erased.

    The salts of the rows that stay, by key: the seed is deleted, since the salts of the
    erased rows could be derived from it.
    """
    gone = {*erased}
    for stated_table in TABLES:
        if stated_table.name != table or not gone:
            continue
        for part in StatedRows.objects.filter(name=stated_table.stated_name):
            salts, commitments = keys_and_commitments(stated_table, part)
            if lost := gone & commitments.keys():
                yield {
                    "name": part.name,
                    "statement": part.statement_id,
                    "salts": {k: s.hex() for k, s in salts.items() if k not in lost},
                    "erased": {key: commitments[key].hex() for key in lost},
                }


class ErasePerson:
    """Carried out by the command, which shows its progress."""

    def preview(self, request: ApprovalRequest) -> Preview:
        content = request.content
        person = UUID(content["person"])
        user = User.objects.get(pk=person)
        rows = [("Person", "", str(person))]
        for of in found(person, content["kept"]):
            stay = f"{of.kept:,} until {to_rfc3339(of.until)}" if of.until else "0"
            rows.append((of.table, f"{len(of.erased) + of.kept:,}", stay))
        warning = (
            "What is erased cannot be restored. Compare the periods with the law of "
            "the issuers: a table that is not named loses its texts at once."
        )
        return Preview(rows, [warning], {"Person": user})

    def execute(self, request: ApprovalRequest) -> None:
        """
        Raises:
            Superseded: always, since the command carries it out.
        """
        self.preview(request)
        raise Superseded("Run `erase_person` with --approval to execute it.")


ERASABLE = "person_may_be_erased"
"""The rule of `erasure_erase` that a person breaks."""
ROWS = "SELECT place, key, ends FROM erasure_rows(%s, %s)"
ERASE = "SELECT * FROM erasure_erase(%s, %s, %s, %s)"
