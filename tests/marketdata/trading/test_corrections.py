"""A correction busts a trade and enters another in its place, in one commit."""

from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.db import DatabaseError, transaction

from accounts.approvals.four_eyes import NotApproved, Superseded
from accounts.approvals.models import ApprovalKind
from accounts.keys.models import Partner
from issuers.compliance import restrictions
from issuers.models.events import Event
from issuers.register.models import LedgerTransaction, TokenPrice
from marketdata.documents.contract_notes import draft_note
from marketdata.documents.drafts import Period
from marketdata.models import Trade
from marketdata.trading import busts
from marketdata.trading.fees import Terms
from marketdata.trading.models import Bust, Execution, Market, OrderEvent
from marketdata.trading.verification import verify
from partnerapi.core.database import execute
from partnerapi.sandbox.data.approvals import (
    ASKER,
    DECIDER,
    carry_out_requests,
    file_and_approve,
)
from partnerapi.staff.approvals.kinds import KINDS
from tests.approved import approved_rule, asker
from tests.marketdata.trading.test_operating import (
    approved,
    carried,
    figures,
    staff,
    told,
)
from tests.marketdata.trading.trading import (
    approved_tariff,
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    placed,
    purse,
    sell,
    units,
)

__all__ = ["staff"]
ASKED = "TRADE_BUST_REQUESTED"


class Traded:
    """Five units at 100 cents; the buyer would have paid 110, and sells no more."""

    def __init__(self, terms: Terms | None = None) -> None:
        self.token = new_market()
        [self.buyer], [self.seller] = (new_clients(1, new_partner()) for _ in range(2))
        if terms:
            approved_tariff(self.token, terms)
        deposit(self.buyer, 1_000)
        give(self.token, {self.seller: 50})
        placed(self.token, sell(self.seller, 5, 100))
        placed(self.token, buy(self.buyer, 5, 110))
        as_committed()

    def bust(self, trade: int, *more: str) -> str:
        named = (self.token.symbol, str(trade))
        return told("market", "bust", *named, "--reason", "Oops", *more)

    def correct(self, trade: int, price: int) -> Execution:
        """As two people decide it."""
        execution = Execution.objects.get(token=self.token, sequence=trade)
        content = busts.bust_content(execution, "Oops", price)
        with carry_out_requests(file_and_approve(ApprovalKind.BUST, content)):
            busts.bust(self.token.pk, trade, "Oops", ASKER, DECIDER, price)
            as_committed()
        return Execution.objects.filter(token=self.token).latest("sequence")

    def events(self, partner: Partner) -> list[tuple[str, int | None, int | None]]:
        of = Event.objects.filter(partner=partner, trade__isnull=False)
        return [*of.order_by("sequence").values_list("type", "trade", "price")]


def breaches() -> list[str]:
    return [finding.rule for finding in verify() if finding.breaches]


def test_a_trade_is_corrected_by_two(staff: None):
    traded = Traded()
    request = approved(traded.bust(1, "--price", "108", "--request"))
    as_committed()
    for client in (traded.buyer, traded.seller):
        assert traded.events(client.partner)[1:] == [(ASKED, 1, 108)]
    rows = KINDS["BUST"].preview(request).rows
    assert ("Price of the new trade in its place", "€1.00", "€1.08") in rows
    assert ("Cash of the buyer", "€5.00", "€4.60") in rows
    assert ("Cash of the seller", "€5.00", "€5.40") in rows
    carried(request)
    as_committed()
    assert (purse(traded.buyer), purse(traded.seller)) == ((460, 0), (540, 0))
    assert units(traded.token, traded.buyer) == (5, 0)
    bust = Bust.objects.get(token=traded.token)
    assert (bust.requested_by, bust.approved_by) == (ASKER, DECIDER)
    old, new = Execution.objects.filter(token=traded.token).order_by("sequence")
    assert (new.sequence, new.price, new.quantity, new.corrects) == (2, 108, 5, 1)
    assert (new.buy_order_id, new.aggressor) == (old.buy_order_id, old.aggressor)
    tape = Trade.objects.filter(token=traded.token).order_by("sequence")
    assert [*tape.values_list("price_cents", "quantity")] == [(100, 5), (108, 5)]
    assert figures(traded.token) == [108, 108, 108, 108, 5, 540, 1]
    for client in (traded.buyer, traded.seller):
        assert traded.events(client.partner)[2:] == [
            ("TRADE_BUSTED", 1, 100), ("ORDER_TRADED", 2, 108)
        ]  # fmt: skip
    kinds = OrderEvent.objects.filter(token=traded.token).order_by("number")
    assert [*kinds.values_list("kind", flat=True)][-4:] == [
        *["TRADE_BUSTED"] * 2, *["TRADE_CORRECTED"] * 2
    ]  # fmt: skip
    entries = LedgerTransaction.objects.filter(token=traded.token).order_by("seq")
    assert [*entries.values_list("kind", flat=True)][-3:] == [
        "TRADE", "REVERSAL", "TRADE"
    ]  # fmt: skip
    assert (
        TokenPrice.objects.filter(token=traded.token).latest("number").price_cents
        == 108
    )
    assert Market.objects.get(token=traded.token).last_price == 108
    order = old.buy_order
    assert (order.status, order.filled, order.filled_value) == ("FILLED", 5, 500)
    assert breaches() == []


def test_a_request_for_a_bust_alone_names_no_price(staff: None):
    traded = Traded()
    traded.bust(1, "--request")
    as_committed()
    for client in (traded.buyer, traded.seller):
        assert traded.events(client.partner)[1:] == [(ASKED, 1, None)]


def test_fees_of_a_correction_are_those_of_the_new_trade(db: None):
    # Makers pay 10 %, takers 20 %, at most 1.05 € and 20 % VAT of it.
    traded = Traded(Terms(1_000, 2_000, 0, 105, 2_000))
    assert (purse(traded.buyer), purse(traded.seller)) == ((380, 0), (440, 0))
    # 5 × 1.08 € = 5.40 €: the seller pays 0.54 + 0.11 €, the buyer 1.05 + 0.21 €.
    traded.correct(1, 108)
    assert purse(traded.buyer) == (1_000 - 540 - 126, 0)
    assert purse(traded.seller) == (540 - 65, 0)
    # 5 × 1.02 €: 0.51 + 0.10 €, and 1.02 + 0.20 €.
    traded.correct(2, 102)
    assert purse(traded.buyer) == (1_000 - 510 - 122, 0)
    assert purse(traded.seller) == (510 - 61, 0)
    assert breaches() == []


def test_a_contract_note_has_both_trades_and_the_bust(db: None):
    traded = Traded(Terms(1_000, 2_000, 0, 105, 2_000))
    today = traded.correct(1, 108).at.date()
    period = Period(today - timedelta(days=1), today + timedelta(days=1))
    for client, cash in ((traded.buyer, -666), (traded.seller, 475)):
        said = draft_note(client.pk, period).content
        prices = [[t["price"] for t in said[name]] for name in ("trades", "busts")]
        assert (prices, said["cash"]) == ([[100, 108], [100]], cash)


def test_a_correction_is_busted_as_any_trade(one_person: None):
    traded = Traded()
    placed(traded.token, sell(traded.seller, 1, 90))
    placed(traded.token, buy(traded.buyer, 1, 90))
    new = traded.correct(1, 105)
    assert new.sequence == 3
    traded.bust(3)
    as_committed()
    assert (purse(traded.buyer), purse(traded.seller)) == ((910, 0), (90, 0))
    # The other trade stands: its price is the last.
    assert (
        TokenPrice.objects.filter(token=traded.token).latest("number").price_cents == 90
    )
    assert Market.objects.get(token=traded.token).last_price == 90
    assert breaches() == []


def test_without_a_trade_that_stands_the_band_is_around_the_reference_price(
    one_person: None,
):
    traded = Traded()
    traded.correct(1, 110)
    traded.bust(2)
    market = Market.objects.get(token=traded.token)
    assert market.last_price == market.reference_price == 100


@pytest.mark.parametrize(
    ("price", "saying"),
    [
        ("100", "already has this price"),
        ("99", "€1.00 to €1.10"),
        ("111", "€1.00 to €1.10"),
    ],
)
def test_a_price_that_no_correction_has(one_person: None, price: str, saying: str):
    traded = Traded()
    with pytest.raises(CommandError, match=saying):
        traded.bust(1, "--price", price)
    with (
        pytest.raises(DatabaseError, match="corrected to another price"),
        transaction.atomic(),
    ):
        execute(
            "SELECT trading_correct(%s, 1, %s, 'why', 'me', 'you')",
            [traded.token.pk, int(price)],
        )


def test_the_buyer_needs_the_cash_of_a_higher_price(one_person: None):
    traded = Traded()
    placed(traded.token, buy(traded.buyer, 5, 95))
    # Of the 500 cents that are left, 475 are reserved.
    assert "would be corrected" in traded.bust(1, "--price", "105", "--dry-run")
    with pytest.raises(CommandError, match="0.25 available, and €0.30 more to pay"):
        traded.bust(1, "--price", "106", "--dry-run")


@pytest.mark.parametrize(("asked", "done"), [(108, 107), (108, None), (None, 108)])
def test_an_approval_is_of_its_price(staff: None, asked: int | None, done: int | None):
    traded = Traded()
    execution = Execution.objects.get(token=traded.token, sequence=1)
    content = busts.bust_content(execution, "Oops", asked)
    requests = file_and_approve(ApprovalKind.BUST, content)

    def carry_out() -> None:
        with transaction.atomic(), carry_out_requests(requests):
            busts.bust(traded.token.pk, 1, "Oops", ASKER, DECIDER, done)
            as_committed()

    with pytest.raises(NotApproved, match="BUST"):
        carry_out()
    assert not Bust.objects.exists()


def test_one_person_alone_corrects_no_trade(staff: None):
    traded = Traded()
    values = [traded.token.pk, ASKER, ASKER]
    with transaction.atomic():
        execute("SELECT trading_correct(%s, 1, 108, 'why', %s, %s)", values)
        with pytest.raises(DatabaseError, match="approval"):
            as_committed()
        transaction.set_rollback(True)
    assert not Bust.objects.exists()


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (("MAX_BALANCE", {"units": 4}), "MAX_BALANCE_EXCEEDED"),
        (("TRANSFERS_PAUSED", {}), "TRANSFERS_PAUSED"),
        ("buyer", "RECEIVER_FROZEN"),
        ("seller", "SENDER_FROZEN"),
    ],
)
def test_a_rule_that_forbids_the_new_trade_is_named(
    staff: None, rule: str | tuple[str, dict[str, int]], code: str
):
    traded = Traded()
    request = approved(traded.bust(1, "--price", "108", "--request"))
    if isinstance(rule, str):
        frozen = {"buyer": traded.buyer, "seller": traded.seller}[rule]
        terms = restrictions.Terms("FREEZE", "A court", traded.token)
        restrictions.restrict(frozen.user, terms, asker())
    else:
        approved_rule(traded.token, *rule)
    as_committed()
    with pytest.raises(CommandError, match=code):
        traded.bust(1, "--price", "108", "--dry-run")
    with pytest.raises(Superseded, match=code):
        KINDS["BUST"].preview(request)
    with pytest.raises(Superseded, match=code):
        carried(request)
    assert not Bust.objects.exists()
    # No rule forbids that the units go back.
    assert "would be busted" in traded.bust(1, "--dry-run")


def test_what_has_moved_on_is_not_corrected(staff: None):
    traded = Traded()
    request = approved(traded.bust(1, "--price", "108", "--request"))
    placed(traded.token, sell(traded.buyer, 5, 110))
    with pytest.raises(Superseded, match="UNITS_RESERVED"):
        carried(request)
