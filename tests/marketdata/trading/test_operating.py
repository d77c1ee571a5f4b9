"""What staff do to markets by commands, and what they read of them."""

import io

import pytest
from django.core.management import CommandError, call_command

from accounts.approvals.four_eyes import Superseded, carry_out, decide
from accounts.approvals.models import ApprovalRequest
from issuers.models import Token
from issuers.register.models import TokenLedgerHead, TokenPrice
from marketdata.books import log
from marketdata.books.days import compare_days
from marketdata.books.livebook import LiveBook
from marketdata.books.reading import read_heads
from marketdata.models import BookLevel, OrderBookHead, TradingDay
from marketdata.trading.models import Bust, Execution, Market, OrderEvent
from marketdata.trading.verification import INVARIANTS
from partnerapi.core.invariants import check_invariants
from partnerapi.sandbox.data.approvals import ASKER, DECIDER, colleague
from partnerapi.staff.approvals.kinds import KINDS
from tests.issuers.register import new_issuer
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    placed,
    purse,
    sell,
    units,
)
from tests.typing_in import give_password, typing


@pytest.fixture
def staff(db: None) -> None:
    give_password(colleague(ASKER))
    colleague(DECIDER)


def told(*arguments: str) -> str:
    out = io.StringIO()
    with typing():
        call_command(*arguments, "--staff", ASKER, stdout=out)
    return out.getvalue().strip()


def approved(said: str) -> ApprovalRequest:
    """The request that a command has filed, approved by someone else."""
    request = ApprovalRequest.objects.get(pk=said.split()[1].rstrip(":"))
    decide(request, colleague(DECIDER), is_approved=True)
    request.refresh_from_db()
    return request


def carried(request: ApprovalRequest) -> None:
    carry_out(request, KINDS[request.kind])


def test_a_fed_book_becomes_a_market_of_ours(staff: None):
    token = Token.objects.create(
        issuer=new_issuer(),
        name="Fed",
        symbol="FED",
        market_type=Token.MarketType.SECONDARY_MARKET,
    )
    log.record(token.pk, [log.Message([log.Change(0, 99, 5)])], "feed")
    arguments = ("market", "open", "FED", "--session", "22:00-22:00")
    with pytest.raises(CommandError, match="give a reference price"):
        told(*arguments)
    log.record(token.pk, [log.Message([], [log.Deal(100, 1)])], "feed")
    assert "would open" in told(*arguments, "--dry-run")
    assert not Market.objects.filter(token=token).exists()
    assert "accepts orders from" in told(*arguments)
    assert OrderBookHead.objects.get(token=token).source == "OWN"
    assert not BookLevel.objects.filter(token=token).exists()
    with pytest.raises(CommandError, match="fed from outside"):
        told(*arguments)
    with pytest.raises(CommandError, match="--session"):
        told("market", "open", "FED", "--session", "soon")


def test_a_market_is_halted_by_one_and_reopened_by_two(staff: None):
    token = new_market()
    halt = ("market", "phase", token.symbol, "HALTED", "--reason", "News")
    assert told(*halt) == f"The market of {token.symbol} is HALTED."
    reopen = ("market", "phase", token.symbol, "CALL", "--reason", "Out")
    with pytest.raises(CommandError, match="approval"):
        told(*reopen)
    request = approved(told(*reopen, "--request"))
    rows = KINDS["REOPEN"].preview(request).rows
    assert ("Phase", "Halted", "Call") in rows
    carried(request)
    token.market.refresh_from_db()
    assert token.market.phase == "CALL"
    # Another halt needs another request.
    told(*halt)
    with pytest.raises(Superseded):
        KINDS["REOPEN"].preview(request)


class Traded:
    def __init__(self) -> None:
        self.token = new_market()
        self.buyer, self.seller = new_clients(2)
        deposit(self.buyer, 10_000)
        give(self.token, {self.seller: 50})
        place(self.token, sell(self.seller, 5, 100), buy(self.buyer, 5, 100))
        place(self.token, sell(self.seller, 5, 110), buy(self.buyer, 5, 110))
        as_committed()

    def bust(self, trade: str, *more: str) -> str:
        return told(
            "market", "bust", self.token.symbol, trade, "--reason", "Oops", *more
        )


def test_a_trade_is_busted_by_two(staff: None):
    traded = Traded()
    request = approved(traded.bust("2", "--request"))
    assert KINDS["BUST"].preview(request).rows
    carried(request)
    as_committed()
    assert purse(traded.buyer) == (9_500, 0)
    assert purse(traded.seller) == (500, 0)
    assert units(traded.token, traded.buyer) == (5, 0)
    bust = Bust.objects.get(token=traded.token)
    assert (bust.sequence, bust.requested_by, bust.approved_by) == (2, ASKER, DECIDER)
    kinds = OrderEvent.objects.filter(token=traded.token).values_list("kind", flat=True)
    assert list(kinds.order_by("-number")[:2]) == ["TRADE_BUSTED"] * 2
    # Its price was the last: the one before it is recorded anew.
    prices = TokenPrice.objects.filter(token=traded.token).order_by("number")
    assert [(p.price_cents, p.source) for p in prices] == [
        (100, "TRADE"),
        (110, "TRADE"),
        (100, "MANUAL"),
    ]
    assert TokenLedgerHead.objects.get(token=traded.token).price_cents == 100
    [(token_id, *facts, _, _, _)] = read_heads([traded.token.pk])
    assert LiveBook(token_id, *facts).busts == [[2, 110]]
    with pytest.raises(CommandError, match="already been busted"):
        traded.bust("2", "--dry-run")
    assert [found for found in check_invariants(INVARIANTS) if found.breaches] == []


def figures(token: Token) -> list[int]:
    assert [is_right for _, is_right in compare_days(token.pk)] == [True]
    day = TradingDay.objects.get(token=token)
    prices = [day.open_cents, day.high_cents, day.low_cents, day.close_cents]
    return [*prices, int(day.volume), int(day.value_cents), day.trades]


def test_a_busted_trade_is_not_counted(one_person: None):
    traded = Traded()
    assert figures(traded.token) == [100, 110, 100, 110, 10, 1050, 2]
    traded.bust("1")
    assert figures(traded.token) == [110, 110, 110, 110, 5, 550, 1]
    traded.bust("2")
    assert figures(traded.token) == [110, 110, 110, 110, 0, 0, 0]
    place(traded.token, sell(traded.seller, 2, 105), buy(traded.buyer, 2, 105))
    assert figures(traded.token) == [105, 105, 105, 105, 2, 210, 1]


def test_a_bust_needs_a_second_person_and_units_and_cash_that_are_still_there(
    staff: None,
):
    traded = Traded()
    assert "would be busted" in traded.bust("1", "--dry-run")
    with pytest.raises(CommandError, match="no trade 9"):
        traded.bust("9")
    placed(traded.token, sell(traded.buyer, 10, 110))
    with pytest.raises(CommandError, match="UNITS_RESERVED"):
        traded.bust("1", "--dry-run")
    other = new_market()
    placed(other, buy(traded.seller, 10, 100))
    request = approved(traded.bust("1", "--request"))
    with pytest.raises(Superseded):
        carried(request)
    assert Execution.objects.filter(token=traded.token).count() == 2


def test_reverse_entry_does_not_undo_a_trade(staff: None):
    traded = Traded()
    entry = Execution.objects.get(token=traded.token, sequence=1).ledger_seq
    with pytest.raises(CommandError, match="market bust"):
        told("ledger", "reverse", traded.token.symbol, str(entry), "--reason", "Oops")


def test_orders_are_shown_and_cancelled(staff: None):
    traded = Traded()
    order = placed(traded.token, sell(traded.seller, 5, 110))
    out = io.StringIO()
    call_command(
        "market", "orders", traded.token.symbol, "--status", "OPEN", stdout=out
    )
    assert str(order.pk) in out.getvalue()
    assert "1 order" in out.getvalue()
    out = io.StringIO()
    call_command("market", "orders", "--order", str(order.pk), stdout=out)
    assert "ORDER_ACCEPTED units 5 at 110 left 5" in out.getvalue()
    orders = ("market", "orders", traded.token.symbol)
    out = io.StringIO()
    call_command(*orders, "--limit", "1", stdout=out)
    assert str(order.pk) in out.getvalue()
    assert out.getvalue().endswith("1 order; there are 4 more.\n")
    out = io.StringIO()
    call_command(*orders, stdout=out)
    assert out.getvalue().endswith("5 orders.\n")
    with pytest.raises(CommandError, match="1 or more"):
        call_command(*orders, "--limit", "0")
    cancel = ("market", "cancel-orders", traded.token.symbol)
    assert told(*cancel, "--dry-run").startswith("1 order would")
    assert told(*cancel) == "1 order cancelled."
    order.refresh_from_db()
    assert order.status_reason == "BY_STAFF"


def test_markets_are_verified(staff: None):
    Traded()
    out = io.StringIO()
    call_command("verify", "market", stdout=out)
    assert out.getvalue().strip().splitlines()[-1].startswith("All ")
