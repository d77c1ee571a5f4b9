"""Our own client, which shares nothing with the acceptor but the specification."""

from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.market import ladder_of, moving
from tests.waiting import until

UPDATES = 10
QUIET_SECONDS = 0.5


def test_rebuilds_the_books_while_the_market_moves(acceptor: Acceptor, market: Market):
    tokens = [market.listed, market.unnumbered]
    with acceptor.client() as client:
        listed, unnumbered = client.instruments()
        assert (listed.symbol, listed.isin, listed.id) == ("LUM", "FR0000120271", "")
        assert (unnumbered.symbol, unnumbered.id) == ("ORB", str(market.unnumbered.pk))
        with moving(*tokens):
            client.subscribe(["LUM", "ORB"], trades=True)

            def has_moved() -> bool:
                client.receive(0.1)
                books = client.books.values()
                return len(books) == 2 and all(b.updates > UPDATES for b in books)

            until(has_moved)
        until(
            lambda: (
                client.receive(QUIET_SECONDS) is None
                and all(client.books[t.symbol].ladder() == ladder_of(t) for t in tokens)
            )
        )
        assert client.gaps == 0
        for token in tokens:
            book = client.books[token.symbol]
            assert [trade.price for trade in book.trades] == list(
                token.trades.order_by("sequence").values_list("price_cents", flat=True)
            )[-len(book.trades) :]
