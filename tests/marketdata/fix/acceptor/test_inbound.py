"""Which of a client's bytes reach the engine, at every split."""

import itertools
import random
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from datetime import UTC, datetime

import pytest

from marketdata.fix.acceptor.inbound import Inbound, RuleBroken
from marketdata.fix.client.initiator import Initiator, LoggedOut, LogonRefused
from marketdata.fix.protocol.dictionary import STOCK_DICTIONARY
from marketdata.fix.protocol.rules import (
    DATA_FIELD,
    LONG_TAG,
    LONGEST_MESSAGE,
    TOO_LONG,
)
from marketdata.fix.protocol.wire import DATA_FIELDS, encode, utc_timestamp
from tests.chaos.mutations import LENGTH_FIELDS, LENGTH_VALUES, SPELLINGS
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.waiting import until

HEARTBEAT = encode([(35, "0"), (34, 2)])


def wire(text: str) -> bytes:
    """A message of these fields, "|" for SOH, with its length and its sum."""
    body = text.replace("|", "\x01").encode()
    message = b"8=FIX.4.4\x019=%d\x01%s" % (len(body), body)
    return b"%s10=%03d\x01" % (message, sum(message) % 256)


def passed(pieces: Iterable[bytes]) -> list[bytes]:
    inbound = Inbound()
    return [message for piece in pieces for message in inbound.messages(piece)]


def test_whole_messages_pass_wherever_the_stream_is_cut():
    messages = [encode([(35, "1"), (112, "x" * n)]) for n in (0, 1, 30, 400, 5000)]
    # An engine that writes zeros, and one of another version, which gets that reason.
    messages += [wire("35=0|").replace(b"9=5", b"9=000005"), b""]
    messages[-1] = messages[0].replace(b"FIX.4.4", b"FIX.4.2")
    for number in (-1, -2):
        message = messages[number][:-7]
        messages[number] = b"%s10=%03d\x01" % (message, sum(message) % 256)
    stream = b"".join(messages)
    dice = random.Random(7)
    for _ in range(200):
        cuts = sorted(dice.sample(range(1, len(stream)), 6))
        pairs = zip([0, *cuts], [*cuts, len(stream)], strict=True)
        assert passed(stream[a:b] for a, b in pairs) == messages
    assert passed(bytes([byte]) for byte in stream) == messages


@pytest.mark.parametrize(
    "garbled",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"58=x\x018=FI",
        b"58=x\x018=FIX.4.4\x01",
        HEARTBEAT[:-4] + b"999\x01",
        HEARTBEAT.replace(b"9=10", b"9=9"),
        HEARTBEAT.replace(b"9=10", b"9=-10"),
        HEARTBEAT.replace(b"9=10", b"9=+10"),
        HEARTBEAT.replace(b"9=10", b"9=10 "),
        HEARTBEAT.replace(b"9=10", b"9=4294967306"[:9] + b"x"),
        HEARTBEAT.replace(b"9=10", b"9="),
        wire("35=0|34=2|garbled|"),
        wire("35=0|3garbled4=2|"),
        wire("35=0|34=2|=5|"),
        wire("35=0|34=2| 95=-1|96=a|"),
        wire("35=0|34=2|+95=-1|+96=a|"),
        wire("35=0|34=2|95\x00=-1|96\x00=a|"),
        wire("35=0|34=2|٩٥=-1|٩٦=a|"),
    ],
)
def test_what_is_garbled_is_left_out(garbled: bytes):
    assert passed([garbled, HEARTBEAT]) == [HEARTBEAT]


def test_a_message_whose_length_is_too_long_is_left_out_with_the_next():
    early = HEARTBEAT.replace(b"9=10", b"9=20")
    assert passed([early, HEARTBEAT, HEARTBEAT]) == [HEARTBEAT]
    without_sum = HEARTBEAT.replace(b"\x0110=", b"\x01010=")
    assert passed([without_sum, HEARTBEAT, HEARTBEAT]) == [HEARTBEAT]


def test_the_fields_of_the_stock_dictionary_are_known():
    fields = ElementTree.parse(STOCK_DICTIONARY).findall("fields/field")
    numbers = {
        int(field.get("number", "")): field.get("type", "").upper() for field in fields
    }
    data = {tag for tag, type_ in numbers.items() if "DATA" in type_}
    lengths = {tag for tag, type_ in numbers.items() if type_ == "LENGTH"}
    # BodyLength and MaxMessageSize announce no field.
    assert data | lengths - {9, 383} == DATA_FIELDS
    assert lengths - {9, 383} == set(LENGTH_FIELDS)


@pytest.mark.parametrize("length", LENGTH_FIELDS)
def test_no_field_that_tells_a_length_passes(length: int):
    data = LENGTH_FIELDS[length]
    for spell, value in itertools.product(SPELLINGS, LENGTH_VALUES):
        for fields in (
            f"{spell(length)}={value}|{spell(data)}=a|",
            f"{spell(data)}=a|",
            f"{spell(data)}=a|{spell(length)}={value}|",
            f"58=x|{spell(length)}=1|{spell(data)}=a|{spell(length)}={value}|"
            f"{spell(data)}=b|",
            f"146=1|55=LUM|{spell(length)}={value}|{spell(data)}=a|",
            f"95=3|96=a|b|{spell(length)}={value}|{spell(data)}=a|",
        ):
            message = wire(f"35=0|34=3|{fields}")
            for pieces in (
                [HEARTBEAT + message],
                [HEARTBEAT, message[:-20], message[-20:]],
            ):
                with pytest.raises(RuleBroken):
                    passed(pieces)


def test_a_refusal_names_the_field():
    with pytest.raises(RuleBroken) as refusal:
        passed([wire("35=0|34=2|0095=-1|96=a|")])
    assert str(refusal.value) == DATA_FIELD.format(tag=95)
    with pytest.raises(RuleBroken) as refusal:
        passed([wire("35=0|34=2|4294967391=-1|4294967392=a|")])
    assert str(refusal.value) == LONG_TAG


@pytest.mark.parametrize(
    "endless",
    [
        b"8=FIX.4.4\x019=%d\x01" % (LONGEST_MESSAGE + 1),
        b"8=FIX.4.4\x019=99999999999999999999\x01",
        b"8=FIX.4.4\x019=60000\x01" + b"x" * LONGEST_MESSAGE,
    ],
)
def test_what_is_longer_than_a_message_may_be_is_refused(endless: bytes):
    with pytest.raises(RuleBroken, match=TOO_LONG):
        passed([endless])


def test_any_number_of_messages_may_come_at_once():
    messages = [encode([(35, "0"), (58, "x" * 60_000)])] * 3
    assert passed([b"".join(messages)]) == messages


def test_no_garbage_is_kept():
    inbound = Inbound()
    for _ in range(100):
        assert not list(inbound.messages(b"8=FI" * 10_000))
        assert len(inbound.buffer) < 100


def logged_out(client: Initiator) -> str:
    with pytest.raises(LoggedOut) as end:
        until(lambda: client.receive(0.1) and False)
    return end.value.text


def test_no_length_ends_the_process(acceptor: Acceptor, market: Market):
    """Each field once, with values and spellings in turn."""
    neighbour = acceptor.client(1)
    neighbour.logon()
    values = [value for value in LENGTH_VALUES if value]
    for number, (length, data) in enumerate(LENGTH_FIELDS.items()):
        spell = SPELLINGS[number % len(SPELLINGS)]
        value = values[number % len(values)]
        client = acceptor.client(0)
        client.logon()
        assert client.socket is not None
        body = f"35=0|34=2|49={client.sender}|56={client.target}|52=20260101-00:00:00|"
        message = wire(f"{body}{spell(length)}={value}|{spell(data)}=a|")
        client.socket.sendall(message[:-12])
        client.socket.sendall(message[-12:] + message)
        assert logged_out(client) in (DATA_FIELD.format(tag=length), LONG_TAG)
    neighbour.subscribe(["LUM"])
    assert neighbour.receive().type == "W"
    neighbour.close()
    assert acceptor.process.poll() is None


def test_what_comes_with_the_logon_is_judged_too(acceptor: Acceptor, market: Market):
    client = acceptor.client(0)
    client.connect()
    assert client.socket is not None
    together: list[bytes] = []
    terms = [(98, 0), (108, 30), (141, "Y"), (554, client.key)]
    for type_, number, fields in ("A", 1, terms), ("0", 2, [(95, -1), (96, "a")]):
        head = [(35, type_), (34, number), (49, client.sender), (56, client.target)]
        at = utc_timestamp(datetime.now(UTC))
        together.append(encode([*head, (52, at), *fields]))
    client.socket.sendall(b"".join(together))
    assert client.await_logon().type == "A"
    assert logged_out(client) == DATA_FIELD.format(tag=95)
    with acceptor.client(0) as client:
        assert client.instruments()


@pytest.mark.parametrize("value", ["-1", "3", "99999", "x"])
def test_a_logon_with_such_a_field_is_refused(
    acceptor: Acceptor, market: Market, value: str
):
    for length, data in LENGTH_FIELDS.items():
        client = acceptor.client(0)
        client.connect()
        fields = [(98, 0), (108, 30), (length, value), (data, "a\x01b"), (141, "Y")]
        client.send("A", *fields, (554, client.key))
        with pytest.raises(LogonRefused) as refusal:
            client.await_logon()
        assert refusal.value.text == DATA_FIELD.format(tag=length)
        client.close()
    with acceptor.client(0) as client:
        assert client.instruments()
