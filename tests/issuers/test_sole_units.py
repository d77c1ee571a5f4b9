"""Units that one person makes or delivers alone, summed over a day and an issuer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.approvals.four_eyes import NotApproved, carrying
from accounts.people.models import User
from issuers.legacy import delivery
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Issuer, Token
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from issuers.register.models import LedgerTransaction
from partnerapi.core.authors import written_by
from tests.issuers.register import empty_token, new_issuer, people
from tests.owner import appoint, as_committed, tamper

pytestmark = pytest.mark.django_db
COMMITS = pytest.mark.django_db(transaction=True)
ANA, BEN, CY = (f"{name}@staff.example" for name in ("ana", "ben", "cy"))
PAGE, COMMAND = "page /admin/", "command x"
NEEDED = "needs an approval"
NAMES = {"type": "INDIVIDUAL", "first_name": "A", "last_name": "B"}


@pytest.fixture(autouse=True)
def staff(db: None) -> None:
    """People who may do alone what is below a limit."""
    rights = Permission.objects.filter(codename__in=["file_mint", "file_reversal"])
    for email in (ANA, BEN, CY):
        person = User.objects.create_user(email, is_staff=True, **NAMES)
        person.user_permissions.set(rights)
        appoint(person)


def id_of(email: str) -> str:
    return str(User.objects.get(email=email).pk)


@pytest.fixture
def token() -> Token:
    return of(new_issuer(), "ONE")


def of(issuer: Issuer, symbol: str) -> Token:
    """A token of an issuer that was there before."""
    token = empty_token(issuer, symbol, timezone.now())
    tamper("UPDATE issuers_issuer SET recorded_in = 0")
    return token


def line(token: Token, units: int, who: str = BEN, source: str = PAGE) -> UUID:
    [holder] = people(1)
    with written_by(who, source):
        made = LegacyShareholder.objects.create(
            issuer=token.issuer, token=token, user=holder, number_of_shares=units,
            price_cents=1,
        )  # fmt: skip
    return made.pk


def deliver(*lines: UUID, who: str = ANA, source: str = PAGE) -> None:
    with written_by(who, source), carrying([]):
        job = delivery.begin_job(DeliveryJob.Source.MINT, [*lines], who)
        delivery.release(job)
    delivery.deliver_next(job)
    assert job.delivered == len(lines)


def needed(act: Callable[[], None]) -> None:
    before = LedgerTransaction.objects.count()
    with pytest.raises((NotApproved, IntegrityError), match=NEEDED):
        act()
    assert LedgerTransaction.objects.count() == before


def test_deliveries_of_a_day_are_summed_by_person_and_issuer(token: Token):
    other = of(token.issuer, "TWO")
    deliver(line(token, 4_000))
    deliver(line(other, 5_999))
    assert delivery.needs_approval([line(token, 1)], id_of(ANA))
    for last in (token, other):
        needed(partial(lambda one: deliver(line(one, 1)), last))
    # Another issuer's, or another person's, count by themselves.
    deliver(line(of(new_issuer(), "NEW"), 9_999))
    assert not delivery.needs_approval([line(token, 1, CY)], id_of(BEN))
    deliver(line(token, 9_999, CY), who=BEN)


def test_a_delivery_of_two_issuers_counts_for_each(token: Token):
    deliver(line(token, 9_000), line(of(new_issuer(), "TWO"), 9_000))
    needed(lambda: deliver(line(token, 1_000), line(of(new_issuer(), "NEW"), 1)))


def made_by(makers: str, *lines: UUID) -> tuple[UUID, ...]:
    tamper(f"UPDATE issuers_legacyshareholder SET makers = '{makers}'")
    return lines


def test_a_line_from_before_may_be_anybody_s(token: Token):
    """It does not say who made it."""
    lines = made_by("{}", line(token, 1))
    for who, source in ((ANA, PAGE), (BEN, PAGE), (ANA, COMMAND)):
        needed(partial(deliver, *lines, who=who, source=source))
    assert delivery.needs_approval(lines, id_of(ANA))


def test_commands_are_one_person_whomever_they_name(token: Token):
    lines = made_by("{SQL}", line(token, 9_999), line(token, 1))
    deliver(lines[0], who=ANA, source=COMMAND)
    needed(lambda: deliver(lines[1], who=BEN, source=COMMAND))


@pytest.mark.parametrize(
    ("made", "delivered"),
    [
        ((ANA, PAGE), (ANA, PAGE)),
        ((ANA, COMMAND), (ANA, COMMAND)),
        ((ANA, COMMAND), (BEN, COMMAND)),
        ((ANA, COMMAND), (BEN, PAGE)),
        ((ANA, PAGE), (BEN, COMMAND)),
    ],
)
def test_lines_that_a_person_may_have_made_need_a_second_one(
    token: Token, made: tuple[str, str], delivered: tuple[str, str]
):
    own = line(token, 1, *made)
    needed(lambda: deliver(own, who=delivered[0], source=delivered[1]))


@pytest.mark.parametrize("changed", ["number_of_shares", "user", "token"])
def test_a_line_that_was_changed_is_of_both(token: Token, changed: str):
    own = LegacyShareholder.objects.get(pk=line(token, 1))
    becomes = {
        "number_of_shares": 2,
        "user": people(1)[0],
        "token": of(token.issuer, "TWO"),
    }
    setattr(own, changed, becomes[changed])
    with written_by(ANA, PAGE):
        own.save()
    needed(lambda: deliver(own.pk))
    # Nor is it the second one's alone, who has changed it since.
    own.number_of_shares = 3
    with written_by(CY, PAGE):
        own.save()
    needed(lambda: deliver(own.pk))
    needed(lambda: deliver(own.pk, who=CY))


def test_a_change_of_the_price_alone_makes_no_maker(token: Token):
    other = LegacyShareholder.objects.get(pk=line(token, 1))
    other.price_cents, other.makers = 2, []
    with written_by(ANA, PAGE):
        other.save()
    other.refresh_from_db()
    assert other.makers == [id_of(BEN)]
    deliver(other.pk)


def mint(token: Token, units: int, who: str = ANA, source: str = PAGE) -> None:
    [account] = ledger.holder_accounts([people(1)[0].pk]).values()
    enter(Entry(token.pk, Kind.MINT, units, None, account, "New"), who, source)


def enter(entry: Entry, who: str = ANA, source: str = PAGE) -> None:
    with written_by(who, source), transaction.atomic():
        ledger.record([entry], who)
        as_committed()


def test_mints_need_two_unless_the_owner_bounds_them(token: Token):
    needed(lambda: mint(token, 1))


def test_mints_of_a_day_are_summed_and_no_reversal_takes_off(token: Token):
    tamper("UPDATE accounts_approvalpolicy SET from_amount = 100 WHERE kind = 'MINT'")
    tamper(
        "UPDATE accounts_approvalpolicy SET from_amount = 100 WHERE kind = 'REVERSAL'"
    )
    other = of(token.issuer, "TWO")
    mint(token, 60)
    enter(ledger.reversal_of(LedgerTransaction.objects.get(), "A mistake"))
    mint(other, 39)
    for last in (token, other):
        needed(partial(mint, last, 1))
    mint(of(new_issuer(), "NEW"), 99)
    mint(token, 99, BEN)
    mint(token, 99, BEN, COMMAND)
    needed(lambda: mint(token, 1, CY, COMMAND))


@COMMITS
def test_of_many_who_deliver_at_once_the_sum_stays_below(
    patient_locks: None, transactional_db: None
):
    token = of(new_issuer(), "ONE")
    lines = [line(token, 3_000) for _ in range(8)]

    def attempt(one: UUID) -> str:
        try:
            deliver(one)
        except NotApproved as error:
            return str(error)
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(8) as threads:
        refusals = [said for said in threads.map(attempt, lines) if said]
    assert len(refusals) == 5
    assert all(NEEDED in said for said in refusals)
    token.ledger_head.refresh_from_db()
    assert token.ledger_head.supply == 9_000
