"""Our own client, which shares nothing with the acceptor but the specification."""

import time

from tests.marketdata.fix.acceptor import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.market import ladder_of, moving

SECONDS = 2
QUIET_SECONDS = 0.5


def test_rebuilds_the_books_while_the_market_moves(acceptor: Acceptor, market: Market):
    tokens = [market.listed, market.unnumbered]
    with acceptor.client() as client:
        listed, unnumbered = client.instruments()
        assert (listed.symbol, listed.isin, listed.id) == ("LUM", "FR0000120271", "")
        assert (unnumbered.symbol, unnumbered.id) == ("ORB", str(market.unnumbered.pk))
        with moving(*tokens):
            client.subscribe(["LUM", "ORB"], trades=True)
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                client.receive(0.1)
        while client.receive(QUIET_SECONDS):
            pass
        assert client.gaps == 0
        for token in tokens:
            book = client.books[token.symbol]
            assert book.ladder() == ladder_of(token)
            assert book.updates > SECONDS * 5
            assert [trade.price for trade in book.trades] == list(
                token.trades.order_by("sequence").values_list("price_cents", flat=True)
            )[-len(book.trades) :]
