"""Texts that a partner may send, though no one expects them."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from accounts.keys.models import Partner
from marketdata.fix.acceptor.supervision import Supervisor
from marketdata.fix.client.initiator import Initiator, LoggedOut
from marketdata.fix.protocol.rules import LONGEST_REFERENCE
from marketdata.fix.protocol.wire import utc_timestamp
from marketdata.models import FixSession
from tests.marketdata.fix.engines import Bench, logged_on, new_book, running_engine
from tests.waiting import until


@pytest.fixture
def bench() -> Iterator[Bench]:
    with running_engine([new_book("LUM")]) as bench:
        yield bench


def send_bytes(client: Initiator, type_: str, *fields: tuple[int, bytes]) -> None:
    """A message whose fields are no text of any encoding."""
    client.sent += 1
    head = f"35={type_}|34={client.sent}|49={client.sender}|56={client.target}|"
    head += f"52={utc_timestamp(datetime.now(UTC))}|"
    body = head.replace("|", "\x01").encode()
    body += b"".join(b"%d=%s\x01" % field for field in fields)
    message = b"8=FIX.4.4\x019=%d\x01%s" % (len(body), body)
    assert client.socket is not None
    client.socket.sendall(b"%s10=%03d\x01" % (message, sum(message) % 256))


def test_any_reason_of_a_logout_can_be_written_down(bench, db):
    comp_ids = bench.comp_ids
    partner = Partner.objects.create(login="acme_co", name="Acme")
    FixSession.objects.create(comp_id=comp_ids[0], partner=partner)
    supervisor = Supervisor(bench.sessions)
    client = bench.initiator()
    with logged_on(client, bench):
        send_bytes(client, "5", (58, b"fin de journ\xe9e\x00\n"))
        until(lambda: client.sender not in bench.sessions.live)
    supervisor.write()
    session = FixSession.objects.get(comp_id=comp_ids[0])
    assert session.last_logout_reason == "logged out by the partner: fin de journ?e??"


def test_a_message_whose_type_is_not_its_third_field_is_ignored(bench):
    client = bench.initiator()
    with logged_on(client, bench):
        garbled = b"34=2\x0135=0\x01"
        message = b"8=FIX.4.4\x019=%d\x01%s" % (len(garbled), garbled)
        client.socket.sendall(b"%s10=%03d\x01" % (message, sum(message) % 256))
        client.send("x", (320, "Q1"), (559, 4))
        assert client.receive().get(320) == "Q1"


def test_a_logout_may_have_any_text(bench):
    client = bench.initiator()
    with logged_on(client, bench) as session:
        bench.call(session.end, "Schlüssel “Łódź” – widerrufen")
        with pytest.raises(LoggedOut, match="Schlüssel “Łódź” – widerrufen"):
            client.receive()


def test_an_unknown_symbol_of_no_encoding_is_answered(bench):
    client = bench.initiator()
    client.hears_states = True
    with logged_on(client, bench):
        named = [(55, b"[N/A]"), (48, b"\xe9\xff"), (22, b"8")]
        for fields, told in (([(55, b"LUM\xe9\xff")], "LUM??"), (named, "[N/A]")):
            send_bytes(client, "e", (324, b"1"), *fields, (263, b"1"))
            answer = client.receive()
            assert (answer.type, answer.get(55), answer.get(326)) == ("f", told, "20")


def test_of_a_long_id_only_the_beginning_is_kept_and_repeated(bench):
    client = bench.initiator()
    now = utc_timestamp(timezone.now()).encode()
    order = [(11, b"x" * 50_000), (55, b"LUM"), (54, b"1"), (60, now), (40, b"1")]
    with logged_on(client, bench) as session:
        send_bytes(client, "D", *order, (38, b"1"))
        answer = client.receive()
        assert (answer.type, answer.get(379)) == ("j", "x" * LONGEST_REFERENCE)
        assert session.refused == ("D", "x" * LONGEST_REFERENCE)
