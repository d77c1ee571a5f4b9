"""Delivers legacy shares as tokens: each line once and completely.

The writer of the entry marks the line DELIVERED.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Max, Min
from django.utils import timezone
from uuid_utils.compat import uuid7

from accounts.approvals.four_eyes import is_needed
from accounts.approvals.models import ApprovalKind
from issuers.legacy.models import DeliveryJob, DeliveryStep, LegacyShareholder
from issuers.models import Issuer
from issuers.register import ledger
from issuers.register.errors import (
    InsufficientBalance,
    LedgerError,
    SupplyOverflow,
    ValueOverflow,
)
from issuers.register.ledger import Entry, Kind, Recorded
from partnerapi.core import lock_waits
from partnerapi.core.database import array_text, execute, fetch, rows_of
from partnerapi.core.money import euros

LOCKED = """
    SELECT l.id, l.issuer_id, l.user_id, l.token_id, l.status, l.number_of_shares,
        t.issuer_id
    FROM issuers_legacyshareholder l LEFT JOIN issuers_token t ON t.id = l.token_id
    WHERE l.id = ANY (%s::uuid[]) ORDER BY l.id FOR UPDATE OF l
"""
LINES = LOCKED.rpartition(" FOR ")[0]
LINES_OF_A_STEP = 200
HELD_LENGTH = 500
CHANGED = (
    "The line has changed since this delivery was prepared; start a new delivery for "
    "it."
)
GONE = "This line no longer exists; omit it."
NO_TOKEN = "The line has no token; choose one of the issuer's tokens first."
REMEDIES = {
    InsufficientBalance: (
        "transfer units to the treasury first, or deliver newly issued units"
    ),
    SupplyOverflow: "deliver fewer lines",
    ValueOverflow: "have the token's price corrected first",
}
"""Where the ledger's refusal says none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a line: delivered, skipped or refused, with reason and remedy."""

    shareholder_id: UUID
    is_delivered: bool = False
    is_skipped: bool = False
    refusal: str = ""


class Line(NamedTuple):
    """What a delivery needs to know of a legacy line, and its token's issuer."""

    id: UUID
    issuer_id: UUID
    user_id: UUID
    token_id: UUID | None
    status: str
    shares: int
    token_issuer_id: UUID | None


def deliver(step: DeliveryStep, source: str, actor: str) -> list[Outcome]:
    """Deliver each line that the rules allow, in one transaction; return the outcomes.

    It locks lines in key order, then ledgers in key order.
    """
    with transaction.atomic():
        rows = lines(step.shareholder_ids, LOCKED)
        due = unchanged_rows(pending(rows.values()), step)
        results = ledger.record_each(entries(due, source), actor, step.pk)
    return outcomes_of(step.shareholder_ids, rows, due, results)


def unchanged_rows(rows: Iterable[Line], step: DeliveryStep) -> list[Line]:
    frozen = {
        pk: said
        for pk, *said in zip(
            step.shareholder_ids,
            step.units,
            step.token_ids,
            step.user_ids,
            strict=True,
        )
    }
    return [
        row for row in rows if frozen[row.id] == [row.shares, row.token_id, row.user_id]
    ]


class DryRun:
    """Tries deliveries one after another, and writes none of them.

    Each is judged by the state that the previous ones would have left. Nothing is
    locked, so the dry run misses concurrent writes to the same ledgers.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.register = ledger.DryRun()

    def deliver(self, ids: Sequence[UUID]) -> list[Outcome]:
        """The outcome that each line would have.

        Raises:
            LockTimeout: a ledger stayed locked for too long.
        """
        with lock_waits.name_locked_row(), transaction.atomic():
            rows = lines(ids)
            due = pending(rows.values())
            # This opens missing ledger accounts; the rollback undoes it.
            results = self.register.record_each(entries(due, self.source))
            transaction.set_rollback(True)
        return outcomes_of(ids, rows, due, results)


def begin_job(source: str, ids: Sequence[UUID], created_by: str) -> DeliveryJob:
    """Freeze the lines of a delivery, with their content, in steps of 200.

    After `release`, `deliver_next` can deliver them.
    """
    job = uuid7()
    execute(BEGIN, [job, source, created_by, [*ids], LINES_OF_A_STEP])
    return DeliveryJob.objects.get(pk=job)


BEGIN = "SELECT delivery_begin(%s, %s, %s, %s::uuid[], %s)"


def frozen_totals(job: DeliveryJob) -> tuple[int, int]:
    """The number of lines of a job, and the sum of their shares."""
    [(lines, shares)] = rows_of(TOTALS, [job.pk])
    return int(lines), int(shares)


TOTALS = """
    SELECT coalesce(sum(cardinality(s.shareholder_ids)), 0), coalesce(sum(l.units), 0)
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL (SELECT sum(u) AS units FROM unnest(s.units) AS u) l
    WHERE s.job_id = %s
"""


def needs_approval(ids: Sequence[UUID], person: str) -> bool:
    """Whether a delivery of these lines needs a second person, given today's others.

    It does if `person` created or changed one of its lines. `is_needed` describes how
    people are named.
    """
    rows = fetch(BY_ISSUER, [person, [*ids]], tuple)
    units = {issuer: None if own else int(units) for issuer, units, own in rows}
    return is_needed(ApprovalKind.DELIVERY, person, units)


BY_ISSUER = """
    SELECT issuer_id, sum(number_of_shares),
        bool_or(delivery_is_own(makers::text[], %s))
    FROM issuers_legacyshareholder WHERE id = ANY (%s) GROUP BY issuer_id
"""


def release(job: DeliveryJob) -> None:
    """Release the lines of a job for delivery; once.

    Raises:
        IntegrityError: the job needs an approval that the transaction does not carry.
    """
    execute("SELECT delivery_release(%s)", [job.pk])
    job.refresh_from_db()


def steps_of(ids: Sequence[UUID]) -> Iterator[Sequence[UUID]]:
    for first in range(0, len(ids), LINES_OF_A_STEP):
        yield ids[first : first + LINES_OF_A_STEP]


def deliver_next(job: DeliveryJob, actor: str = "") -> int:
    """Deliver the lines of the next step; return their number.

    `actor` resumes a job that someone else began; the default is the last person to
    resume it. A closed or unreleased job has no next step. All is one transaction: a
    run that ends early leaves the job between two steps.

    Raises:
        LockTimeout: lines or ledgers stayed locked; nothing was delivered.
    """
    with lock_waits.name_locked_row(), transaction.atomic():
        locked_job = DeliveryJob.objects.select_for_update().get(pk=job.pk)
        step = None
        if locked_job.is_open:
            step = locked_job.steps.filter(position=locked_job.position).first()
        if step is not None:
            actor = actor or locked_job.resumed_by or locked_job.created_by
            outcomes = deliver(step, locked_job.source, actor)
            step.refusals = count_outcomes(locked_job, outcomes)
            step.skipped_ids = [o.shareholder_id for o in outcomes if o.is_skipped]
            step.save(update_fields=["refusals", "skipped_ids"])
            locked_job.tried_at, locked_job.held = timezone.now(), ""
            if not locked_job.remaining:
                locked_job.finished_at = timezone.now()
            locked_job.save(update_fields=PROGRESS)
    job.refresh_from_db()
    return len(step.shareholder_ids) if step else 0


PROGRESS = (
    "position", "delivered", "skipped", "refused", "tried_at", "held", "finished_at",
)  # fmt: skip


def note_held(job: DeliveryJob, what: str) -> None:
    """Record that a step met a lock, unless someone works on the job now."""
    with transaction.atomic():
        free = DeliveryJob.objects.select_for_update(skip_locked=True)
        if locked_job := free.filter(pk=job.pk).first():
            locked_job.tried_at = timezone.now()
            locked_job.held = what[:HELD_LENGTH]
            locked_job.save(update_fields=["tried_at", "held"])
    job.refresh_from_db()


def close_job(job: DeliveryJob) -> None:
    """Cancel the remaining lines; a process that still delivers them stops.

    Raises:
        LockTimeout: a process that delivers a step did not finish in time.
    """
    with lock_waits.name_locked_row(), transaction.atomic():
        locked_job = DeliveryJob.objects.select_for_update().get(pk=job.pk)
        if locked_job.finished_at is None:
            locked_job.finished_at = timezone.now()
            locked_job.save(update_fields=["finished_at"])
    job.refresh_from_db()


def lines_left(job: DeliveryJob) -> list[UUID]:
    steps = job.steps.filter(position__gte=job.position).order_by("position")
    ids = steps.values_list("shareholder_ids", flat=True)
    return [pk for lines in ids for pk in lines]


def unpriced_warnings(ids: Sequence[UUID]) -> list[str]:
    """A sentence for each token without a price whose lines have one."""
    rows = (
        LegacyShareholder.objects.filter(
            pk__in=ids, price_cents__gt=0, token__ledger_head__price_cents=None
        )
        .values("token__symbol")
        .annotate(least=Min("price_cents"), most=Max("price_cents"))
        .order_by("token__symbol")
        .exclude(token=None)
    )
    return [
        f"{row['token__symbol']} has no price, but its lines have prices of "
        f"{euros(row['least'])} to {euros(row['most'])}: capitalization tables value "
        "it at 0 until ledger set-price records a price."
        for row in rows
    ]


def count_outcomes(job: DeliveryJob, outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Add the next lines to the job's counts; the reasons of refusals, by line id."""
    refusals = {str(o.shareholder_id): o.refusal for o in outcomes if o.refusal}
    job.position += len(outcomes)
    job.delivered += sum(outcome.is_delivered for outcome in outcomes)
    job.skipped += sum(outcome.is_skipped for outcome in outcomes)
    job.refused += len(refusals)
    return refusals


def outcomes_of(
    ids: Sequence[UUID],
    rows: Mapping[UUID, Line],
    due: Sequence[Line],
    results: Sequence[Recorded | LedgerError],
) -> list[Outcome]:
    results_of = {row.id: result for row, result in zip(due, results, strict=True)}
    outcomes = []
    for pk in ids:
        if isinstance(result := results_of.get(pk), LedgerError):
            outcomes.append(Outcome(pk, refusal=refusal_of(result)))
        elif result:
            outcomes.append(Outcome(pk, is_delivered=True))
        elif pk not in rows:
            outcomes.append(Outcome(pk, refusal=GONE))
        elif rows[pk].status == LegacyShareholder.Status.DELIVERED:
            outcomes.append(Outcome(pk, is_skipped=True))
        elif names_token(rows[pk]):
            outcomes.append(Outcome(pk, refusal=CHANGED))
        else:
            outcomes.append(Outcome(pk, refusal=NO_TOKEN))
    return outcomes


def refusal_of(error: LedgerError) -> str:
    remedy = REMEDIES.get(type(error))
    return f"{str(error).removesuffix('.')}; {remedy}." if remedy else str(error)


def lines(ids: Sequence[UUID], statement: str = LINES) -> dict[UUID, Line]:
    """The lines that there are, by id and in its order."""
    rows = fetch(statement, [array_text(ids)], Line._make)
    return {row.id: row for row in rows}


def pending(rows: Iterable[Line]) -> list[Line]:
    status = LegacyShareholder.Status.PENDING
    return [row for row in rows if row.status == status and names_token(row)]


def names_token(row: Line) -> bool:
    return row.token_id is not None and row.token_issuer_id == row.issuer_id


def entries(rows: Sequence[Line], source: str) -> list[Entry]:
    accounts = ledger.holder_accounts(row.user_id for row in rows)
    treasuries = {}
    if source == DeliveryJob.Source.TREASURY:
        issuers = Issuer.objects.filter(pk__in={row.issuer_id for row in rows})
        treasuries = {issuer.pk: ledger.treasury(issuer) for issuer in issuers}
    return [
        Entry(
            row.token_id,
            Kind.LEGACY_DELIVERY,
            row.shares,
            treasuries.get(row.issuer_id),
            accounts[row.user_id],
            legacy_shareholder_id=row.id,
        )
        for row in rows
        if row.token_id
    ]
