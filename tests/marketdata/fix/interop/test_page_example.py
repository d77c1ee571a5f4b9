"""The example session of the page for partners, played against the acceptor."""

import socket
from datetime import UTC, datetime

from marketdata.books.log import Deal, record
from marketdata.books.log import Message as MarketMessage
from marketdata.books.orderbook import BID, Change
from marketdata.fix import reference
from marketdata.fix.protocol.wire import Decoder, Message, encode, utc_timestamp
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.waiting import PATIENCE_SECONDS


def fields_of(step: reference.Step) -> list[tuple[int, str]]:
    parted = (field.partition("=") for field in step.fields)
    return [(int(tag), value) for tag, _, value in parted]


def sent_now(fields: list[tuple[int, str]], key: str) -> bytes:
    now = {52: utc_timestamp(datetime.now(UTC)), 554: key}
    return encode([(tag, now.get(tag, value)) for tag, value in fields[2:-1]])


def receive(connection: socket.socket, decoder: Decoder, awaited: str) -> Message:
    while (message := decoder.next()) is None:
        try:
            data = connection.recv(65536)
        except TimeoutError:
            raise AssertionError(f"no {awaited} came") from None
        assert data, f"the acceptor closed the connection instead of {awaited}"
        decoder.feed(data)
    return message


def test_the_acceptor_answers_as_the_example_tells(acceptor: Acceptor, market: Market):
    address = (acceptor.host, acceptor.port)
    decoder = Decoder()
    with socket.create_connection(address, PATIENCE_SECONDS) as connection:
        for step in reference.conversation():
            fields = fields_of(step)
            kind = dict(fields)[35]
            if not step.is_ours:
                connection.sendall(sent_now(fields, acceptor.members[0].key))
                continue
            if kind == "1":
                # It comes after more bytes; the Heartbeat that follows does no harm.
                continue
            if kind == "X":
                changes = [Change(BID, 985, 0), Change(BID, 990, 50)]
                sold = MarketMessage(changes, [Deal(990, 10)])
                record(market.listed.pk, [sold], "tests")
            answer = receive(connection, decoder, kind)
            assert [tag for tag, _ in answer.fields] == [tag for tag, _ in fields]
            alike = {35, 15, 22, 55, 58, 262, 263, 268, 269, 279, 281, 320, 372, 380}
            assert [pair for pair in answer.fields if pair[0] in alike] == [
                pair for pair in fields if pair[0] in alike
            ]
