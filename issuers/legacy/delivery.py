"""Legacy shares become tokens: once, all of a line or none of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Issuer
from issuers.register import ledger
from issuers.register.errors import LedgerError
from issuers.register.ledger import Entry, Kind, Recorded
from issuers.register.models import LedgerTransaction
from partnerapi.core.lock_waits import giving_up_on_others


class NotPending(LedgerError):
    """The line was delivered before, or there is no such line."""

    code = "NOT_PENDING"


class NoTokenToDeliver(LedgerError):
    """The line does not say which token of its issuer its shares become."""

    code = "NO_TOKEN_TO_DELIVER"


NO_TOKEN = "The line names no token of its issuer; choose one first."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a line: delivered, skipped, or refused for a reason."""

    shareholder_id: UUID
    is_delivered: bool = False
    is_skipped: bool = False
    refusal: str = ""


def deliver_one(shareholder_id: UUID, source: str, actor: str) -> None:
    """Deliver one line.

    Raises:
        LedgerError: not PENDING, no token, or what the ledger refuses.
    """
    with transaction.atomic():
        rows = locked([shareholder_id])
        if not rows or rows[0].status != LegacyShareholder.Status.PENDING:
            raise NotPending(f"Line {shareholder_id} is not PENDING: nothing is due.")
        [row] = rows
        if not names_token(row):
            raise NoTokenToDeliver(NO_TOKEN)
        ledger.record(entries([row], source), actor)
        mark_delivered([row.pk])


def deliver(ids: Sequence[UUID], source: str, actor: str) -> list[Outcome]:
    """Deliver each line that can be; in one transaction, one outcome for each.

    Rows are locked in the order of their keys, then the ledgers in that of theirs.
    """
    with transaction.atomic():
        rows = {row.pk: row for row in locked(ids)}
        due = pending(rows.values())
        results = ledger.record_each(entries(due, source), actor)
        outcomes = outcomes_of(ids, rows, due, results)
        mark_delivered([o.shareholder_id for o in outcomes if o.is_delivered])
    return outcomes


class Rehearsal:
    """Deliveries that are tried one after another, and of which nothing is written.

    Each is judged by what those before it would have left. Between two of them
    nothing is held, so what others write to the same ledgers is not seen.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.register = ledger.Rehearsal()

    def deliver(self, ids: Sequence[UUID]) -> list[Outcome]:
        """What would come of each line.

        Raises:
            HeldByOthersError: a ledger did not come free.
        """
        with giving_up_on_others(), transaction.atomic():
            rows = {row.pk: row for row in lines(ids)}
            due = pending(rows.values())
            # Holders may get ledger accounts for it: for no longer than it takes.
            results = self.register.record_each(entries(due, self.source))
            transaction.set_rollback(True)
        return outcomes_of(ids, rows, due, results)


def outcomes_of(
    ids: Sequence[UUID],
    rows: Mapping[UUID, LegacyShareholder],
    due: Sequence[LegacyShareholder],
    results: Sequence[Recorded | LedgerError],
) -> list[Outcome]:
    said = {row.pk: result for row, result in zip(due, results, strict=True)}
    outcomes = []
    for pk in ids:
        if isinstance(result := said.get(pk), LedgerError):
            outcomes.append(Outcome(pk, refusal=str(result)))
        elif result:
            outcomes.append(Outcome(pk, is_delivered=True))
        elif pk not in rows:
            outcomes.append(Outcome(pk, refusal="There is no such line any more."))
        elif rows[pk].status == LegacyShareholder.Status.DELIVERED:
            outcomes.append(Outcome(pk, is_skipped=True))
        else:
            outcomes.append(Outcome(pk, refusal=NO_TOKEN))
    return outcomes


def reverse(shareholder: LegacyShareholder, actor: str, reason: str) -> None:
    """Take a delivery back, whole.

    Raises:
        LedgerError: not delivered, reversed before, or units have moved on.
    """
    delivery = LedgerTransaction.objects.filter(legacy_shareholder=shareholder).first()
    if delivery is None:
        raise NotPending("The line was not delivered; there is nothing to reverse.")
    ledger.record([ledger.reversal_of(delivery, reason)], actor)


def not_replaceable(shareholder: LegacyShareholder) -> str:
    """Why a line can not be replaced; empty where its delivery was reversed."""
    if shareholder.status == LegacyShareholder.Status.PENDING:
        return "This line is PENDING: correct it, or leave it out."
    if LedgerTransaction.objects.filter(
        token=shareholder.token_id, reverses=shareholder.ledger_seq
    ).exists():
        return ""
    entry = shareholder.ledger_seq
    return f"The delivery of this line stands; reverse it first (entry {entry})."


def lines(ids: Sequence[UUID]) -> QuerySet[LegacyShareholder]:
    rows = LegacyShareholder.objects.filter(pk__in=ids).order_by("pk")
    return rows.select_related("token")


def locked(ids: Sequence[UUID]) -> list[LegacyShareholder]:
    return list(lines(ids).select_for_update(of=["self"]))


def pending(rows: Iterable[LegacyShareholder]) -> list[LegacyShareholder]:
    status = LegacyShareholder.Status.PENDING
    return [row for row in rows if row.status == status and names_token(row)]


def names_token(row: LegacyShareholder) -> bool:
    return row.token is not None and row.token.issuer_id == row.issuer_id


def entries(rows: Sequence[LegacyShareholder], source: str) -> list[Entry]:
    accounts = ledger.holder_accounts(row.user_id for row in rows)
    treasuries = {}
    if source == DeliveryJob.Source.TREASURY:
        issuers = Issuer.objects.filter(pk__in={row.issuer_id for row in rows})
        treasuries = {issuer.pk: ledger.treasury(issuer) for issuer in issuers}
    return [
        Entry(
            row.token_id,
            Kind.LEGACY_DELIVERY,
            row.number_of_shares,
            treasuries.get(row.issuer_id),
            accounts[row.user_id],
            legacy_shareholder_id=row.pk,
        )
        for row in rows
        if row.token_id
    ]


def mark_delivered(ids: Sequence[UUID]) -> None:
    """Let lines say what the ledger says of their delivery."""
    with connection.cursor() as cursor:
        cursor.execute(MARK, [list(ids)])


MARK = """
    UPDATE issuers_legacyshareholder s
    SET status = 'DELIVERED', delivered_at = t.effective_at, delivered_by = t.actor,
        ledger_seq = t.seq, token_id = t.token_id
    FROM issuers_ledgertransaction t
    WHERE t.legacy_shareholder_id = s.id AND s.id = ANY (%s)
"""
