"""A token that is offered on the primary market: listed on FIX, without a book."""

from collections.abc import Callable

from issuers.models import Token
from issuers.offerings import deciding
from marketdata.books.log import Message, record
from marketdata.books.orderbook import BID, Change
from marketdata.fix.acceptor.statuses import PRIMARY
from marketdata.fix.client.client import Client
from tests.accounts.money import deposit
from tests.issuers.offerings.offerings import (
    allot,
    close,
    opened,
    settle,
    step,
    subscribe,
)
from tests.marketdata.fix.acceptor.test_silent_writers import await_status
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.trading.trading import new_clients
from tests.waiting import until


def source(client: Client, symbol: str) -> str:
    """What SecurityDefinition(d) says of the source of a book."""
    client.send("c", (320, "C"), (321, 0), (55, symbol))
    told = client.answer(lambda message: message.type == "d")
    return [value for tag, value in told.fields if tag == 872][-1]


def listed(client: Client) -> set[str]:
    return {instrument.symbol for instrument in client.instruments()}


def test_an_offered_token_is_listed_until_it_trades(
    one_person: None, market: Market, start_acceptor: Callable[..., Acceptor]
):
    offering = opened()
    token = offering.token
    ended = opened().token
    with start_acceptor().client() as client:
        assert {token.symbol, ended.symbol} <= listed(client)
        assert source(client, token.symbol) == "MARKET=PRIMARY"
        client.send("e", (324, "E"), (263, 0), (55, token.symbol))
        state = client.answer(lambda message: message.type == "f")
        assert (state.get(326), state.get(58)) == ("18", PRIMARY)
        [book] = client.snapshots([token.symbol], trades=True)
        assert book.ladder() == ((), ())
        assert await_status(client, token.symbol, "18") == PRIMARY
        step(ended.offerings.get(), deciding.WITHDRAWN, reason="Over")
        until(lambda: ended.symbol not in listed(client), pause=0.1)
        [account] = new_clients(1)
        deposit(account, 100_000)
        subscribe(offering, account, 50)
        allot(close(offering))
        settle(offering)
        assert token.symbol in listed(client)
        Token.objects.filter(pk=token.pk).update(market_type="SECONDARY_MARKET")
        await_status(client, token.symbol, "17")
        assert source(client, token.symbol) == "MARKET=FED"
        record(token.pk, [Message([Change(BID, 990, 5)])], "tests")
        until(lambda: client.receive(0.1) and book.ladder().bids == ((990, 5),))
