"""An order over GraphQL moves the book on FIX, and the capitalization table."""

from collections.abc import Callable

from accounts.access import Scope
from marketdata.trading import phases, uncrossing
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.api.test_orders import PLACE, once
from tests.approved import asker
from tests.characters import Ask
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market, market, start_acceptor
from tests.marketdata.trading.test_calls import call, end_call
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    placed,
    sell,
)
from tests.waiting import until

__all__ = ["market", "start_acceptor"]
TABLE = """
query ($id: ID!) { issuer(id: $id) { capitalizationTable { holders {
  holderName tokenBalances { balanceSpecificToken } } } } }
"""


def test_an_order_is_on_fix_and_in_the_table(
    one_person: None, market: Market, start_acceptor: Callable[..., Acceptor]
):
    token = new_market()
    partner = new_partner()
    approved_grant(partner, token.issuer)
    seller, buyer = new_clients(2, partner)
    deposit(buyer, 100_000)
    give(token, {seller: 100})
    ask = Ask(approved_key(partner, list(Scope))[1])

    def order(account: str, side: str, quantity: int, price: int) -> None:
        once(
            ask,
            PLACE,
            accountID=f"Account|{account}",
            tokenID=f"Token|{token.pk}",
            side=side,
            quantity=quantity,
            limitPrice=price,
        )

    with start_acceptor().client() as client:
        [book] = client.snapshots([token.symbol], trades=True)
        assert book.ladder() == ((), ())
        order(str(seller.pk), "SELL", 10, 101)
        until(lambda: client.receive(0.1) and book.ladder().asks == ((101, 10),))
        order(str(buyer.pk), "BUY", 4, 101)
        told = ask(TABLE, {"id": f"Issuer|{token.issuer_id}"}).data["issuer"]
        holders = told["capitalizationTable"]["holders"]
        held = [b["balanceSpecificToken"] for h in holders for b in h["tokenBalances"]]
        assert sorted(held) == [4, 96]
        until(lambda: client.receive(0.1) and book.ladder().asks == ((101, 6),))
        [trade] = book.trades
        assert (trade.price, trade.quantity) == (101, 4)


def test_fix_shows_a_market_through_a_halt_and_its_auction(
    one_person: None, market: Market, start_acceptor: Callable[..., Acceptor]
):
    token = new_market()
    seller, buyer = new_clients(2)
    deposit(buyer, 100_000)
    give(token, {seller: 100})
    placed(token, sell(seller, 10, 101))
    with start_acceptor().client() as client:
        [book] = client.snapshots([token.symbol], trades=True)
        client.send("e", (324, "S1"), (55, token.symbol), (263, 1))

        def state() -> list[str]:
            """The next state: 326, the units and the price of a call."""
            said = client.answer(lambda m: m.type == "f" and m.get(324) == "S1")
            return [said.get(tag) for tag in (326, 330, 331, 332)]

        assert state()[0] == "17"
        phases.change_phase(token.pk, "HALTED", asker(), "News")
        assert state()[0] == "2"
        assert book.ladder().asks == ((101, 10),)
        call(token)
        assert state()[0] == "21"
        assert book.ladder() == ((), ())
        placed(token, buy(buyer, 4, 102))
        uncrossing.indicate(token.pk)
        assert state() == ["5", "4", "10", "1.01"]
        end_call(token)
        assert state()[0] == "17"
        assert book.ladder() == ((), ((101, 6),))
        assert [(t.price, t.quantity) for t in book.trades] == [(101, 4)]


def test_fix_tells_the_rules_of_a_market(
    market: Market, start_acceptor: Callable[..., Acceptor]
):
    token = new_market(1_000, tick_cents=5, lot_units=10, collar_bps=2_000)
    with start_acceptor().client() as client:
        client.send("c", (320, "C1"), (321, 0), (55, token.symbol))
        told = client.answer(lambda message: message.type == "d")
    attributes = [value for tag, value in told.fields if tag == 872]
    assert attributes == ["TICK=0.05", "FLOOR=8.00", "CAP=12.00", "MARKET=OWN"]
    assert (told.get(561), told.get(562)) == ("10", "10")
