"""Offerings from opening to register: allotted, settled, failed, withdrawn."""

import uuid
from datetime import datetime, timedelta
from io import StringIO

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, transaction
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.approvals.four_eyes import NotApproved, Superseded, carrying
from accounts.approvals.models import ApprovalKind
from accounts.cash.models import CashHead, CashPosting, CashTransaction, Withdrawal
from accounts.cash.verification import verify as verify_cash
from issuers.models import Event, Token
from issuers.offerings import deciding
from issuers.offerings.deciding import OfferingRefused
from issuers.offerings.drafting import draft
from issuers.offerings.models import IssuerCash, Offering, Subscription
from issuers.offerings.paying import payout_content
from issuers.offerings.verification import INVARIANTS as OF_OFFERINGS
from issuers.register.models import HolderBalance, LedgerTransaction, TokenLedgerHead
from issuers.register.verification import verify as verify_register
from marketdata.trading.verification import INVARIANTS as OF_MARKETS
from partnerapi.core.database import execute
from partnerapi.core.errors import NotNow
from partnerapi.core.invariants import check_invariants
from partnerapi.sandbox.data.approvals import (
    approved_grant,
    approved_key,
    file_and_approve,
)
from tests.accounts.money import bank, cancel, carry, deposit, head_of
from tests.approved import approved_rule, asker, desk
from tests.characters import Ask
from tests.issuers.offerings.offerings import (
    allot,
    close,
    new_token,
    opened,
    set_reflection,
    settle,
    step,
    subscribe,
    terms,
)
from tests.marketdata.trading.trading import (
    buy,
    new_clients,
    new_market,
    new_partner,
    place,
)
from tests.owner import as_committed, tamper

pytestmark = pytest.mark.django_db


def clients(*cents: int) -> list[Account]:
    accounts = new_clients(len(cents), new_partner())
    for account, amount in zip(accounts, cents, strict=True):
        if amount:
            deposit(account, amount)
    return accounts


def breaches() -> list[str]:
    as_committed()
    found = [*verify_cash(), *verify_register()]
    found += check_invariants(OF_OFFERINGS + OF_MARKETS)
    return [finding.rule for finding in found if finding.breaches]


def allotted(offering: Offering) -> list[tuple[int | None, str]]:
    rows = Subscription.objects.filter(offering=offering).order_by("created_at", "id")
    return [*rows.values_list("allotted", "status")]


def issuer_head(offering: Offering) -> CashHead:
    cash = IssuerCash.objects.get(issuer=offering.token.issuer).cash_account
    return CashHead.objects.get(cash_account=cash)


def units_of(offering: Offering, account: Account) -> int:
    found = HolderBalance.objects.filter(token=offering.token, user=account.user)
    return int(sum(found.values_list("balance", flat=True)))


@pytest.mark.parametrize("source", ["TREASURY", "MINT"])
@pytest.mark.parametrize(
    ("rule", "shares"), [("PRO_RATA", [50, 25, 25]), ("FIRST_COME", [80, 20, 0])]
)
def test_an_offering_is_sold_from_end_to_end(source: str, rule: str, shares: list[int]):
    token = new_token(treasury=1_000 if source == "TREASURY" else 0)
    offering = opened(token, rule=rule, source=source, fee=150, vat=2_000)
    accounts = clients(80_000, 50_000, 40_000)
    for account, units in zip(accounts, (80, 40, 40), strict=True):
        subscribe(offering, account, units)
    assert close(offering).status == "CLOSED"
    assert allot(offering).status == "ALLOTTED"
    supply = TokenLedgerHead.objects.get(token=token).supply
    settled = settle(offering)
    assert settled.status == "SETTLED"
    assert [units_of(offering, account) for account in accounts] == shares
    for account, paid, units in zip(
        accounts, (80_000, 50_000, 40_000), shares, strict=True
    ):
        assert head_of(account) == (paid - 1_000 * units, 0)
    # 1.5 % of 100,000 cents, and 20 % of it.
    assert (settled.fee_net, settled.fee_vat) == (1_500, 300)
    assert issuer_head(offering).balance == 100_000 - 1_800
    head = TokenLedgerHead.objects.get(token=token)
    assert (head.supply - supply, head.held) == (100 * (source == "MINT"), 100)
    assert head.price_cents == 1_000
    states = ["SETTLED" if units else "RELEASED" for units in shares]
    assert allotted(offering) == list(zip(shares, states, strict=True))
    assert breaches() == []
    as_committed()
    told = Event.objects.filter(partner=accounts[0].partner)
    kinds = {*told.values_list("type", flat=True)}
    assert {"OFFERING_CHANGED", "SUBSCRIPTION_CHANGED", "CASH_CHANGED"} <= kinds


def test_a_table_of_any_instant_before_stays_as_it_was():
    token = new_token()
    minted = timezone.now()
    offering = opened(token)
    opened_at = timezone.now()
    [account] = clients(100_000)
    subscribe(offering, account, 50)
    close(offering)
    allot(offering)
    allotted_at = timezone.now()
    partner = new_partner()
    approved_grant(partner, token.issuer)
    ask = Ask(approved_key(partner, list(Scope))[1])
    last = timezone.now()
    instants = [minted, opened_at, allotted_at, last]
    earlier = [table(ask, token, at) for at in instants]
    settle(offering)
    assert [table(ask, token, at) for at in instants] == earlier
    assert table(ask, token, timezone.now()) != table(ask, token, last)


def table(ask: Ask, token: Token, at: datetime) -> bytes:
    variables = {"id": f"Issuer|{token.issuer_id}", "date": at.isoformat()}
    return orjson.dumps(ask(TABLE, variables).data)


TABLE = """
query ($id: ID!, $date: Time) { issuer(id: $id) { capitalizationTable(date: $date) {
  date totalValue tokens { token { id } currentPrice totalBalanceSpecificToken
    totalBalancesSupply totalTokenValue totalSupplyValue }
  holders { userHolder { id } percentage } } } }
"""


def test_one_price_comes_from_the_book():
    offering = opened(rule="BOOK", price=None, floor=500, cap=1_500, maximum=60)
    accounts = clients(100_000, 100_000, 100_000)
    for account, units, limit in zip(
        accounts, (30, 40, 40), (1_200, 1_000, 800), strict=True
    ):
        subscribe(offering, account, units, limit)
    close(offering)
    with pytest.raises(OfferingRefused, match="no price"):
        deciding.offering_content(offering, deciding.ALLOT)
    step(offering, deciding.PRICE, price=1_000)
    allot(offering)
    assert [units for units, _ in allotted(offering)] == [30, 30, 0]
    settle(offering)
    assert [head_of(account) for account in accounts] == [
        (70_000, 0),
        (70_000, 0),
        (100_000, 0),
    ]
    assert breaches() == []


def test_a_holder_that_a_rule_refuses_gets_nothing():
    offering = opened(minimum=1)
    accounts = clients(100_000, 100_000)
    for account in accounts:
        subscribe(offering, account, 100)
    close(offering)
    approved_rule(offering.token, "MAX_HOLDERS", {"holders": 1})
    allot(offering)
    assert [units for units, _ in allotted(offering)] == [100, 0]
    refused = Subscription.objects.get(account=accounts[1])
    assert refused.refusal == "MAX_HOLDERS_EXCEEDED"
    settle(offering)
    assert head_of(accounts[1]) == (100_000, 0)
    assert breaches() == []


def test_units_wait_for_the_last_reflection_period():
    offering = opened()
    [account] = clients(100_000)
    made = subscribe(offering, account, 50)
    close(offering)
    [request] = file_and_approve(
        ApprovalKind.OFFERING, deciding.offering_content(offering, deciding.ALLOT)
    )
    set_reflection(made, timezone.now() + timedelta(hours=1))
    with pytest.raises(OfferingRefused, match="reflection period"):
        deciding.offering_content(offering, deciding.ALLOT)
    arguments = [asker(), offering.pk, [made.pk], [50], [""]]
    with (
        pytest.raises(IntegrityError, match="reflection period"),
        carrying([request.pk]),
    ):
        execute(deciding.ALLOT_UNITS, arguments)


def test_an_offering_that_misses_its_minimum_only_releases():
    offering = opened(minimum=60)
    [account] = clients(100_000)
    subscribe(offering, account, 50)
    postings = CashPosting.objects.count()
    assert close(offering).status == "FAILED"
    assert head_of(account) == (100_000, 0)
    assert CashPosting.objects.count() == postings
    assert allotted(offering) == [(0, "RELEASED")]
    assert breaches() == []


def test_an_allotment_that_can_no_longer_reach_the_minimum_fails():
    offering = opened(minimum=60)
    accounts = clients(100_000, 100_000)
    for account in accounts:
        subscribe(offering, account, 50)
    close(offering)
    with pytest.raises(OfferingRefused, match=r"100 units can be allotted.* Withdraw"):
        deciding.offering_content(offering, deciding.FAILED)
    allot(offering)
    accounts[1].change_status("SUSPENDED", desk(), None)
    offering.refresh_from_db()
    with pytest.raises(OfferingRefused, match="End it as failed"):
        deciding.offering_content(offering, deciding.ALLOT)
    step(offering, deciding.FAILED, reason="A suspended account")
    offering.refresh_from_db()
    assert (offering.status, offering.status_reason) == (
        "FAILED",
        "A suspended account",
    )
    assert [head_of(account) for account in accounts] == [(100_000, 0)] * 2
    assert breaches() == []


@pytest.mark.parametrize("status", ["OPEN", "CLOSED", "ALLOTTED"])
def test_two_people_withdraw_an_offering_until_it_settles(status: str):
    offering = opened()
    [account] = clients(100_000)
    made = subscribe(offering, account, 50)
    if status != "OPEN":
        close(offering)
    if status == "ALLOTTED":
        allot(offering)
    offering.refresh_from_db()
    assert offering.status == status
    as_committed()
    postings = CashPosting.objects.count()
    step(offering, deciding.WITHDRAWN, reason="No need any more")
    offering.refresh_from_db()
    assert (offering.status, offering.status_reason) == (
        "WITHDRAWN",
        "No need any more",
    )
    assert head_of(account) == (100_000, 0)
    assert CashPosting.objects.count() == postings
    assert allotted(offering) == [(0, "RELEASED")]
    assert breaches() == []
    told = Event.objects.filter(partner=account.partner).order_by("sequence")
    last = {event.type: event for event in told}
    assert last["OFFERING_CHANGED"].subject_id == offering.pk
    assert last["OFFERING_CHANGED"].reason == "WITHDRAWN"
    assert last["SUBSCRIPTION_CHANGED"].subject_id == made.pk
    assert last["SUBSCRIPTION_CHANGED"].reason == "RELEASED"


def test_an_account_that_is_suspended_after_the_allotment_gets_nothing():
    offering = opened()
    first, second = clients(100_000, 100_000)
    for account in (first, second):
        subscribe(offering, account, 50)
    close(offering)
    allot(offering)
    first.change_status("SUSPENDED", desk(), None)
    with pytest.raises(NotApproved, match=f"ACCOUNT_NOT_ACTIVE: account {first.pk}"):
        settle(offering)
    assert [units for units, _ in allotted(offering)] == [50, 50]
    as_committed()
    told = Event.objects.filter(account_id=first.pk, type="SUBSCRIPTION_CHANGED")
    before = told.count()
    allot(offering)
    as_committed()
    assert told.count() == before + 1
    refused = Subscription.objects.get(account=first)
    assert (refused.allotted, refused.refusal) == (0, "ACCOUNT_NOT_ACTIVE")
    settle(offering)
    assert allotted(offering) == [(0, "RELEASED"), (50, "SETTLED")]
    assert [head_of(account) for account in (first, second)] == [
        (100_000, 0),
        (50_000, 0),
    ]
    assert breaches() == []


def test_an_account_without_units_does_not_stop_a_settlement():
    offering = opened(rule="FIRST_COME", maximum=50)
    first, second = clients(100_000, 100_000)
    for account in (first, second):
        subscribe(offering, account, 50)
    close(offering)
    allot(offering)
    second.change_status("SUSPENDED", desk(), None)
    settle(offering)
    assert allotted(offering) == [(50, "SETTLED"), (0, "RELEASED")]


def ready() -> tuple[Offering, Account]:
    """An offering that is allotted."""
    offering = opened()
    [account] = clients(100_000)
    subscribe(offering, account, 50)
    close(offering)
    return allot(offering), account


def test_a_lone_insider_moves_no_offering():
    drafted = draft(new_token(), terms(), asker())
    offering, account = ready()
    book = opened(rule="BOOK", price=None, floor=5, cap=9)
    subscribe(book, account, 20, 9)
    close(book)
    made = Subscription.objects.get(offering=offering)
    issuer = offering.token.issuer_id
    for statement, arguments in (
        ("SELECT offerings_open(%s, %s)", [drafted.pk]),
        ("SELECT offerings_price(%s, %s, 7)", [book.pk]),
        (
            "SELECT offerings_allot(%s, %s, %s::uuid[], '{50}', '{\"\"}')",
            [offering.pk, [made.pk]],
        ),
        ("SELECT offerings_settle(%s, %s)", [offering.pk]),
        ("SELECT offerings_end(%s, %s, 'WITHDRAWN', 'Mine')", [offering.pk]),
    ):
        refused(statement, [asker(), *arguments])
    settle(offering)
    refused(
        "SELECT offerings_pay_out(%s, %s, %s, 1, 'Me', 'FR76')",
        [asker(), uuid.uuid4(), issuer],
    )
    for statement in (
        "DELETE FROM issuers_issuercash",
        "DELETE FROM issuers_subscription",
        "INSERT INTO issuers_subscription DEFAULT VALUES",
        "UPDATE issuers_offering SET status = 'SETTLED'",
        "UPDATE issuers_subscription SET quantity = 1",
        "UPDATE issuers_document SET name = 'another.pdf'",
    ):
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            transaction.atomic(),
        ):
            execute(statement)


def refused(statement: str, arguments: list[object]) -> None:
    with (
        pytest.raises(IntegrityError, match="needs an approval"),
        transaction.atomic(),
    ):
        execute(statement, arguments)


def test_an_approval_is_for_one_allotment():
    offering = opened(rule="FIRST_COME")
    accounts = clients(100_000, 100_000)
    for account in accounts:
        subscribe(offering, account, 60)
    close(offering)
    content = deciding.offering_content(offering, deciding.ALLOT)
    approved_rule(offering.token, "MAX_BALANCE", {"units": 50})
    with pytest.raises(Superseded):
        carry(ApprovalKind.OFFERING, content)
    assert Offering.objects.get(pk=offering.pk).status == "CLOSED"


def test_an_issuer_is_paid_by_two_people_and_a_bank_line():
    offering, _ = ready()
    settle(offering)
    content = payout_content(
        offering.token.issuer, 20_000, "Lumarelle SA", "FR7630006000011234567890189"
    )
    withdrawal: Withdrawal = carry(ApprovalKind.PAYOUT, content)
    assert issuer_head(offering).reserved == 20_000
    assert breaches() == []
    with pytest.raises(Superseded):
        carry(ApprovalKind.PAYOUT, payout_content(
            offering.token.issuer, 30_001, "Lumarelle SA", "FR7630006000011234567890189"
        ))  # fmt: skip
    returned: Withdrawal = carry(ApprovalKind.PAYOUT, payout_content(
        offering.token.issuer, 10_000, "Lumarelle SA", "FR7630006000011234567890189"
    ))  # fmt: skip
    cancel(returned)
    assert issuer_head(offering).reserved == 20_000
    bank((withdrawal.payment_reference, -20_000))
    withdrawal.refresh_from_db()
    assert withdrawal.status == "PAID"
    head = issuer_head(offering)
    assert (head.balance, head.reserved) == (30_000, 0)
    assert breaches() == []


def test_orders_of_investors_are_refused_at_once_while_their_offering_settles():
    offering, account = ready()
    market = new_market()
    [other] = clients(100_000)
    marking = "SELECT offerings_mark(%s, %s, 30)", [asker(), offering.pk]
    with (
        pytest.raises(IntegrityError, match="settlement that two people approved"),
        transaction.atomic(),
    ):
        execute(*marking)
    place(market, buy(account, 1, 100))
    content = deciding.settlement_content(offering)
    file_and_approve(ApprovalKind.SETTLEMENT, content)
    execute(*marking)
    with pytest.raises(NotNow) as refused:
        place(market, buy(account, 1, 100))
    assert 1 <= refused.value.details["retryAfter"] <= 30
    place(market, buy(other, 1, 100))
    with pytest.raises(NotNow):
        subscribe(opened(), account, 10)
    execute("SELECT offerings_mark(%s, %s, 0)", [asker(), offering.pk])
    place(market, buy(account, 1, 100))


def test_a_settlement_that_is_refused_changes_nothing_and_ends_its_mark():
    offering, account = ready()
    with pytest.raises(NotApproved, match="settlement that two people approved"):
        deciding.settle(offering, uuid.uuid4(), asker())
    content = deciding.settlement_content(offering)
    file_and_approve(ApprovalKind.SETTLEMENT, content)
    with pytest.raises(NotApproved, match="needs an approval by a second person"):
        deciding.settle(offering, uuid.uuid4(), asker())
    offering.refresh_from_db()
    assert (offering.status, offering.settling_until) == ("ALLOTTED", None)
    assert head_of(account) == (100_000, 50_000)
    assert not CashTransaction.objects.filter(kind="OFFERING").exists()
    entries = LedgerTransaction.objects.filter(token=offering.token)
    assert not entries.filter(kind="ALLOCATE").exists()


def test_only_tokens_of_the_primary_market_with_enough_units_are_offered():
    token = new_token(treasury=99)
    drafted = draft(token, terms(), asker())
    content = deciding.offering_content(drafted, deciding.OPEN)
    with pytest.raises(NotApproved, match="units that the issuer has"):
        carry(ApprovalKind.OFFERING, content)
    Token.objects.filter(pk=token.pk).update(market_type="SECONDARY_MARKET")
    smaller = draft(token, terms(maximum=50), asker(), drafted.pk)
    content = deciding.offering_content(smaller, deciding.OPEN)
    with pytest.raises(NotApproved, match="on the primary market"):
        carry(ApprovalKind.OFFERING, content)


def test_a_token_stays_on_the_primary_market_while_it_is_offered():
    offering, account = ready()
    token = offering.token
    with (
        pytest.raises(IntegrityError, match="offering under way"),
        transaction.atomic(),
    ):
        Token.objects.filter(pk=token.pk).update(market_type="SECONDARY_MARKET")
    opening = ("market", "open-secondary", token.symbol, "--staff", asker())
    with pytest.raises(CommandError, match="offering under way. Nothing was written"):
        call_command(*opening, "--reason", "Early")
    settle(offering)
    said = StringIO()
    call_command(*opening, "--reason", "Offering settled", stdout=said)
    assert said.getvalue() == (
        f"{token.symbol} is now on the secondary market. Its offering proposes the "
        f"reference price €10.00: market open {token.symbol} --reference-price 1000\n"
    )
    token.refresh_from_db()
    assert token.market_type == "SECONDARY_MARKET"
    assert units_of(offering, account) == 50


def test_the_market_is_verified_with_its_offerings():
    offering, _ = ready()
    settle(offering)
    as_committed()
    call_command("verify", "market", stdout=StringIO())
    tamper(
        "UPDATE issuers_subscription SET allotted = 49"
        f" WHERE offering_id = '{offering.pk}'"
    )
    said = StringIO()
    with pytest.raises(CommandError, match="1 of .* rules are broken"):
        call_command("verify", "market", stdout=said)
    rule = "settled subscriptions, their entries and payments match one to one"
    [line] = [line for line in said.getvalue().splitlines() if rule in line]
    assert line == f"{rule}: 1, BROKEN 1 times"
