"""Files requests that need a second person, decides them and carries them out.

A kind of request is a class with `preview` and `execute`. At the commit the database
checks its effect again, against the content of the request and the person who decided.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Model
from django.utils import timezone
from uuid_utils.compat import uuid7

from accounts.approvals.models import ApprovalDecision, ApprovalRequest
from accounts.people.models import User
from partnerapi.core.database import constraint_of, execute, fetch, value_of

LIFETIME = timedelta(days=7)


class Superseded(Exception):
    """The request cannot be executed any more; the message says why."""


class NotApproved(Exception):
    """The request cannot be decided or carried out; the message says why."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The lines of a long request; `rows` reads a range of them.

    `columns` are their headings, each with a flag for columns of numbers.
    """

    caption: str
    columns: Sequence[tuple[str, bool]]
    count: int
    rows: Callable[[int, int], list[tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a request would change: rows with a name, a value before and one after.

    A row without a value before is a fact. `links` are the objects of rows, by name.
    """

    rows: list[tuple[str, str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    links: Mapping[str, Model] = field(default_factory=dict)
    lines: Listing | None = None

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        return [row for row in self.rows if not row[1]]

    @property
    def changes(self) -> list[tuple[str, str, str]]:
        return [row for row in self.rows if row[1]]


class Kind(Protocol):
    def preview(self, request: ApprovalRequest) -> Preview:
        """What would change; nothing is written.

        Raises:
            Superseded
        """

    def execute(self, request: ApprovalRequest) -> Any:
        """Execute the request in the transaction that carries it; return its outcome.

        Raises:
            Superseded
        """


COMMAND = "command"
"""As whom commands count, since they name whom they like (`approvals_person`)."""


def is_needed(
    kind: str, person: str, amounts: Mapping[UUID, int | None] | int | None = None
) -> bool:
    """Whether an action needs a second person, given what this one did alone today.

    `amounts` are units by issuer, or euro cents; without amounts, it does. `person` is
    the id, as text, of the signed-in user, or `COMMAND`.
    """
    by_issuer = amounts if isinstance(amounts, Mapping) else {None: amounts}
    [(needed,)] = fetch(
        OVER, [kind, person, [*by_issuer], [*by_issuer.values()]], tuple
    )
    return bool(needed)


OVER = "SELECT approvals_over(%s, %s, %s::uuid[], %s::numeric[])"


def rests_until(person: User) -> datetime | None:
    """The time until which this person may not decide; None: they may decide.

    Someone else changed their access less than 24 hours before.
    """
    [(until,)] = fetch(RESTS_UNTIL, [person.pk], tuple)
    return until


RESTS_UNTIL = "SELECT approvals_rests_until(%s, clock_timestamp())"


def needs_passkey(kind: str) -> bool:
    """Whether decisions of a kind are signed, since a passkey counts."""
    return bool(value_of(NEEDS_PASSKEY, [kind]))


NEEDS_PASSKEY = """
    SELECT EXISTS (SELECT FROM accounts_passkey WHERE listed_at IS NOT NULL)
        AND NOT coalesce((
            SELECT allows_code FROM accounts_approvalpolicy WHERE kind = %s), FALSE)
"""


def file_request(
    kind: str,
    content: Mapping[str, Any],
    title: str,
    reason: str,
    filed_by: User,
    lifetime: timedelta = LIFETIME,
) -> ApprovalRequest:
    """File a request for an action; the database compares the action with `content`.

    Raises:
        NotApproved: this person may not ask for it.
    """
    asked: ApprovalRequest
    try:
        with transaction.atomic():
            [asked] = ApprovalRequest.objects.raw(
                FILE,
                [
                    *(uuid7(), kind, json.dumps(content), title[:200], reason),
                    *(filed_by.pk, timezone.now() + lifetime),
                ],
            )
    except IntegrityError as error:
        raise NotApproved(sentence(error)) from None
    asked.filed_by = filed_by
    return asked


FILE = "SELECT * FROM approvals_file_request(%s, %s, %s::jsonb, %s, %s, %s, %s)"


def decide(
    request: ApprovalRequest, decided_by: User, is_approved: bool, reason: str = ""
) -> ApprovalDecision:
    """Approve or reject a request; the decision is final.

    Raises:
        NotApproved: this person cannot decide it, or not at this time.
    """
    [decision] = decide_all([request], decided_by, is_approved, reason)
    return decision


def decide_all(
    requests: Sequence[ApprovalRequest],
    decided_by: User,
    is_approved: bool,
    reason: str = "",
) -> list[ApprovalDecision]:
    """Approve or reject requests, all or none.

    Raises:
        NotApproved: this person cannot decide them, or not at this time.
    """
    keys = [request.pk for request in requests]
    try:
        with transaction.atomic():
            at = value_of(DECIDE, [keys, decided_by.pk, is_approved, reason])
    except IntegrityError as error:
        raise NotApproved(sentence(error)) from None
    return decisions(requests, decided_by, is_approved, reason, at)


DECIDE = "SELECT approvals_decide_requests(%s, %s, %s, %s)"


def decisions(
    requests: Sequence[ApprovalRequest],
    decided_by: User,
    is_approved: bool,
    reason: str,
    at: datetime,
) -> list[ApprovalDecision]:
    """The decisions that were written, which their requests know from here on."""
    return [
        ApprovalDecision(
            request=request,
            decided_by=decided_by,
            is_approved=is_approved,
            reason=reason,
            decided_at=at,
        )
        for request in requests
    ]


def take_back(request: ApprovalRequest, reason: str = "") -> ApprovalDecision:
    """Withdraw an open request in the name of the person who filed it.

    Raises:
        NotApproved: it no longer waits.
    """
    return decide(request, request.filed_by, False, reason)


@contextmanager
def carrying(requests: Iterable[UUID]) -> Iterator[None]:
    """A transaction that may execute these approved requests, each once.

    The database compares at the commit, so a refusal is raised at the block's end.

    Raises:
        NotApproved
    """
    ids = ",".join(map(str, requests))
    try:
        with transaction.atomic():
            execute(CARRY, [ids])
            yield
    except IntegrityError as error:
        if constraint_of(error) not in REFUSALS:
            raise
        raise NotApproved(sentence(error)) from None


EXECUTED = "accounts_approvaloutcome_pkey"
DECIDED = "accounts_approvaldecision_pkey"
REFUSALS = {"second_person_approves", EXECUTED}
"""The constraints that an action without its approval breaks."""
CARRY = """
    SELECT set_config('partnerapi.approvals', concat_ws(',', nullif(
        current_setting('partnerapi.approvals', TRUE), ''), nullif(%s::text, '')), TRUE)
"""


def carry_out(request: ApprovalRequest, kind: Kind) -> Any:
    """Execute an approved request; mark it superseded if it has become impossible.

    Raises:
        Superseded: it never executes.
        NotApproved: the database refuses it.
    """
    try:
        with carrying([request.pk]):
            return kind.execute(request)
    except Superseded as error:
        overtake(request, str(error))
        raise


def overtake(request: ApprovalRequest, why: str) -> None:
    """Mark a request superseded, because the data on which it depends has changed."""
    execute("SELECT approvals_overtake(%s, %s)", [request.pk, why])


def sentence(error: IntegrityError) -> str:
    broken = constraint_of(error)
    if broken == DECIDED:
        return "Another person has already decided this request."
    if broken == EXECUTED:
        return "This request has already been executed."
    return str(error).splitlines()[0]
