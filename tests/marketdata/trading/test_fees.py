"""Fees of orders by their tariffs: examples worked by hand, and who may set one."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import Error, transaction
from django.utils import timezone

from accounts.approvals.four_eyes import NotApproved
from accounts.approvals.models import ApprovalKind
from accounts.cash.models import CashHead, CashTransaction
from issuers.models import Token
from marketdata.trading import busts, market
from marketdata.trading.fees import Fee, OrderFees, Terms
from marketdata.trading.models import Execution, Market, Tariff
from marketdata.trading.queues import BUY, SELL
from marketdata.trading.replayed_fees import replay_fees
from marketdata.trading.tariffs import TariffRefused, set_tariff, tariff_content
from marketdata.trading.telling import Fill
from marketdata.trading.verification import INVARIANTS
from partnerapi.core.invariants import check_invariants
from partnerapi.operations.tasks import sweep_fees
from tests.approved import (
    WHY,
    asker,
    carry_out_requests,
    file_and_approve,
    partner_of,
)
from tests.marketdata.trading.trading import (
    approved_tariff,
    as_committed,
    buy,
    codes,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    placed,
    purse,
    sell,
)

# 0.10 % and 0.25 %, at least 1 € and at most 5 € an order, 19 % VAT.
USUAL = Terms(10, 25, 100, 500, 1_900)


def fees_of(token: Token, side: int) -> Sequence[tuple[int, int]]:
    fills = Fill.objects.filter(token=token, side=side).order_by("sequence")
    return [
        (int(net), int(vat)) for net, vat in fills.values_list("fee_net", "fee_vat")
    ]


def collected(token: Token) -> int:
    account = Market.objects.get(token=token).fees_account_id
    balance: int = CashHead.objects.get(pk=account).balance
    return balance


def check(token: Token) -> None:
    as_committed()
    assert [f for f in check_invariants(INVARIANTS) if f.breaches] == []
    assert list(replay_fees(token.pk)) == []


def bust(token: Token, trade: int) -> None:
    content = busts.bust_content(
        Execution.objects.get(token=token, sequence=trade), WHY
    )
    with carry_out_requests(file_and_approve(ApprovalKind.BUST, content)):
        busts.bust(token.pk, trade, WHY, asker(), "operations@sandbox.example")
        as_committed()


class Traders:
    def __init__(self, terms: Terms | None, price: int = 2_000) -> None:
        self.token = new_market(price)
        self.buyer, self.seller = new_clients(2)
        give(self.token, {self.seller: 1_000})
        if terms:
            approved_tariff(self.token, terms)


@pytest.mark.django_db
def test_a_buy_reserves_the_minimum_and_pays_it_with_its_first_fill():
    # 10 × 20.00 € = 200.00 €. 0.25 % are 0.50 €, so 1.00 €, and 0.19 € VAT.
    of = Traders(USUAL)
    deposit(of.buyer, 20_118)
    assert codes(place(of.token, buy(of.buyer, 10, 2_000))) == ["INSUFFICIENT_FUNDS"]
    deposit(of.buyer, 1)
    placed(of.token, buy(of.buyer, 10, 2_000))
    assert purse(of.buyer) == (20_119, 20_119)
    # 4 × 20.00 € = 80.00 €: as maker 0.08 €, as taker 0.20 €. Each pays 1.00 + 0.19 €.
    placed(of.token, sell(of.seller, 4, 2_000))
    assert purse(of.buyer) == (20_119 - 8_119, 12_000)
    assert purse(of.seller) == (8_000 - 119, 0)
    # The buy has paid for its rest; the second sell pays its own minimum.
    placed(of.token, sell(of.seller, 6, 2_000))
    assert purse(of.buyer) == (0, 0)
    assert fees_of(of.token, BUY) == [(100, 19), (0, 0)]
    assert fees_of(of.token, SELL) == [(100, 19), (100, 19)]
    assert collected(of.token) == 3 * 119
    check(of.token)


@pytest.mark.django_db
def test_a_half_cent_goes_up_and_an_order_keeps_its_tariff_when_it_is_amended():
    # 1 %, 20 % VAT: 12.50 € cost 12.5 cents, so 13, and 2.6, so 3 cents VAT.
    of = Traders(Terms(100, 100, 0, None, 2_000), 1_250)
    deposit(of.buyer, 10_000)
    order = placed(of.token, buy(of.buyer, 1, 1_250))
    assert purse(of.buyer) == (10_000, 1_266)
    approved_tariff(of.token, Terms(1_000, 1_000, 0, None, 2_000))
    # 3 × 12.50 €: 37.5, so 38 cents; 7.6, so 8 cents VAT. By the new tariff: 375, 75.
    market.amend(order.pk, 1, of.buyer.partner.login, 3)
    assert purse(of.buyer) == (10_000, 3_750 + 46)
    approved_tariff(of.token, None)
    # The first unit costs 13 + 3; all three 38 + 8, so the others 25 + 5.
    placed(of.token, sell(of.seller, 1, 1_250))
    placed(of.token, sell(of.seller, 2, 1_250))
    assert fees_of(of.token, BUY) == [(13, 3), (25, 5)]
    assert fees_of(of.token, SELL) == [(0, 0), (0, 0)]
    assert purse(of.buyer) == (10_000 - 3_750 - 46, 0)
    check(of.token)


@pytest.mark.django_db
def test_a_sell_pays_from_its_proceeds_and_a_bust_gives_back_what_is_too_much():
    # At least 3.00 € an order, no VAT, and the seller has nothing.
    of = Traders(Terms(0, 100, 300, None, 0), 100)
    deposit(of.buyer, 10_000)
    placed(of.token, sell(of.seller, 50, 100))
    # 1 × 1.00 €: all of it. 4 × 1.00 €: the other 2.00 €.
    placed(of.token, buy(of.buyer, 1, 100))
    assert purse(of.seller) == (0, 0)
    placed(of.token, buy(of.buyer, 4, 100))
    assert purse(of.seller) == (200, 0)
    assert fees_of(of.token, SELL) == [(100, 0), (200, 0)]
    assert fees_of(of.token, BUY) == [(300, 0), (300, 0)]
    # Without the second trade, 1.00 € of proceeds remain: the fee is 1.00 €.
    bust(of.token, 2)
    assert purse(of.seller) == (0, 0)
    assert purse(of.buyer) == (10_000 - 400, 0)
    assert fees_of(of.token, SELL) == [(100, 0), (0, 0)]
    assert fees_of(of.token, BUY) == [(300, 0), (0, 0)]
    assert collected(of.token) == 400
    check(of.token)


@pytest.mark.django_db
def test_each_night_one_payment_moves_a_markets_fees_to_the_platform():
    of = Traders(USUAL)
    deposit(of.buyer, 50_000)
    placed(of.token, sell(of.seller, 4, 2_000))
    placed(of.token, buy(of.buyer, 4, 2_000))
    house = CashHead.objects.get(kind="FEES").balance
    sweep_fees()
    assert collected(of.token) == 0
    assert CashHead.objects.get(kind="FEES").balance == house + 238
    # The bust finds an empty account: the platform pays.
    bust(of.token, 1)
    assert collected(of.token) == -238
    sweep_fees()
    sweep_fees()
    assert collected(of.token) == 0
    assert CashHead.objects.get(kind="FEES").balance == house
    swept = CashTransaction.objects.filter(kind="FEE", actor="market")
    assert swept.count() == 2
    check(of.token)


def test_the_higher_rate_bounds_what_a_buy_pays():
    fees = OrderFees(Terms(5, 40, 0, 500, 1_900))
    assert fees.held(100_000) == 400 + 76
    assert fees.fill(60_000, takes=False, sells=False) == Fee(30, 6)
    assert fees.held(40_000) == 190 + 36 - 36
    assert fees.fill(40_000, takes=True, sells=False) == Fee(160, 30)
    assert fees.held(0) == 0
    assert OrderFees(Terms(5, 40, 0, 500, 1_900)).held(10**9) == 500 + 95


def test_what_proceeds_do_not_cover_is_paid_with_the_next_fill():
    fees = OrderFees(Terms(0, 0, 100, None, 2_000))
    assert fees.fill(60, takes=True, sells=True) == Fee(50, 10)
    assert fees.fill(80, takes=True, sells=True) == Fee(50, 10)
    assert fees.fill(80, takes=True, sells=True) == Fee(0, 0)
    assert fees.bust(80, took=True, sells=True) == Fee(0, 0)
    assert fees.bust(80, took=True, sells=True) == Fee(50, 10)


@pytest.mark.django_db
def test_a_partner_has_its_own_tariff_and_checks_what_it_would_pay():
    of = Traders(USUAL)
    deposit(of.buyer, 100_000)
    own = approved_tariff(of.token, Terms(0, 0, 0, None, 0), of.buyer.partner)
    found = market.check(of.token.pk, buy(of.buyer, 10, 2_000))
    assert (found.reserves, found.fee) == (20_000, Fee(0, 0))
    approved_tariff(of.token, None, of.buyer.partner)
    found = market.check(of.token.pk, buy(of.buyer, 10, 2_000))
    assert (found.reserves, found.fee) == (20_119, Fee(100, 19))
    found = market.check(of.token.pk, sell(of.seller, 10, 2_000))
    assert (found.reserves, found.fee) == (10, Fee(100, 19))
    assert own is not None
    own.refresh_from_db()
    assert own.ended_at is not None
    assert own.ended_by == asker()


@pytest.mark.django_db
def test_no_one_sets_a_tariff_alone_or_another_than_was_approved():
    token = new_market()
    content = tariff_content(token, None, None, USUAL, WHY)
    with (
        pytest.raises(Error, match="approval by a second person"),
        transaction.atomic(),
    ):
        set_tariff(token.pk, None, None, USUAL, WHY, asker())
    requests = file_and_approve(ApprovalKind.TARIFF, content)
    other = USUAL._replace(taker=26)
    with (
        pytest.raises(NotApproved, match="approval by a second person"),
        carry_out_requests(requests),
    ):
        set_tariff(token.pk, None, None, other, WHY, asker())
    assert Market.objects.get(token=token).fees_account_id is None
    with carry_out_requests(requests):
        set_tariff(token.pk, None, None, USUAL, WHY, asker())
    row = Tariff.objects.get(token=token)
    assert (row.created_by, row.approved_by) == (asker(), "operations@sandbox.example")


@pytest.mark.django_db
def test_a_tariff_of_later_leaves_orders_of_today_alone():
    of = Traders(USUAL)
    deposit(of.buyer, 100_000)
    later = (timezone.now() + timedelta(days=1)).replace(microsecond=0)
    content = tariff_content(of.token, None, later, Terms(0, 0, 900, 900, 0), WHY)
    with carry_out_requests(file_and_approve(ApprovalKind.TARIFF, content)):
        set_tariff(of.token.pk, None, later, Terms(0, 0, 900, 900, 0), WHY, asker())
    assert market.check(of.token.pk, buy(of.buyer, 10, 2_000)).fee == Fee(100, 19)
    first, second = Tariff.objects.filter(token=of.token).order_by("pk")
    assert (first.ended_at, second.valid_from, second.replaces) == (later, later, first)
    # Until that one has begun or ended, none begins before it.
    with pytest.raises(TariffRefused, match="End it first"):
        tariff_content(of.token, None, None, USUAL, WHY)


@pytest.mark.django_db
def test_no_cash_goes_back_to_an_account_that_is_closed():
    of = Traders(USUAL)
    deposit(of.buyer, 8_119)
    placed(of.token, sell(of.seller, 4, 2_000))
    placed(of.token, buy(of.buyer, 4, 2_000))
    assert purse(of.buyer) == (0, 0)
    of.buyer.change_status("CLOSED", partner_of(of.buyer), None)
    with pytest.raises(busts.NotBusted, match="account of the buyer is CLOSED"):
        bust(of.token, 1)
    check(of.token)
