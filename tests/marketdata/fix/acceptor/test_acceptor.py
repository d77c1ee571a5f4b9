"""The whole acceptor, as its operator runs it."""

import contextlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.keys.models import ApiKey
from issuers import grants
from issuers.models import IssuerGrant
from marketdata.fix.acceptor.leases import LOGGED_ON_THERE
from marketdata.fix.client.client import Client, Refused
from marketdata.fix.client.health import own_certificate
from marketdata.fix.client.initiator import (
    FixFailure,
    Initiator,
    LoggedOut,
    LogonRefused,
    NoConnection,
    tls_context,
)
from marketdata.fix.protocol.rules import (
    LOGGED_ON_ELSEWHERE,
    LOGON_WITHIN,
    TOO_LONG,
)
from marketdata.fix.protocol.wire import Message
from marketdata.models import FixSession
from partnerapi.sandbox.data.approvals import approved_grant
from tests.approved import asker
from tests.marketdata.fix.acceptor_process import (
    Acceptor,
    database_url,
    running_acceptor,
)
from tests.marketdata.fix.certificates import RSA, new_certificate
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.market import moving
from tests.marketdata.fix.peers import Partner
from tests.waiting import PATIENCE_SECONDS, PROGRAM_SECONDS, until

Start = Callable[..., Acceptor]


def logged_out(client: Initiator) -> str:
    """Keep the session up until the acceptor ends it; returns the reason."""
    with pytest.raises(LoggedOut) as end:
        until(lambda: client.receive(0.1) and False)
    return end.value.text


def row_becomes(comp_id: str, **values: object) -> FixSession:
    """The row of a session once it has these values, which takes some seconds."""
    rows = FixSession.objects.filter(comp_id=comp_id)
    until(rows.filter(**values).exists, lambda: rows.values(), pause=0.1)
    return rows.get()


def symbols(client: Client) -> list[str]:
    return [each.symbol for each in client.instruments()]


def test_looks_after_sessions_and_ends_in_good_order(
    acceptor: Acceptor, market: Market
):
    first, second = market.members
    approved_grant(second.partner, market.hidden.issuer)
    before = timezone.now()
    with acceptor.client(0) as revoked, acceptor.client(1) as other:
        assert symbols(revoked) == ["LUM", "ORB"]
        assert symbols(other) == ["HID", "LUM", "ORB"]
        connected = row_becomes(first.comp_id, connected_since__isnull=False)
        assert before <= connected.connected_since <= timezone.now()
        assert connected.last_heartbeat_at >= connected.connected_since

        for grant in IssuerGrant.objects.live():
            grants.end(grant, asker())
        until(lambda: symbols(other) == ["LUM", "ORB"], pause=0.2)
        with pytest.raises(Refused, match="Unknown symbol") as refused:
            other.snapshots(["HID"])
        assert refused.value.answer.get(281) == "0"

        ApiKey.objects.get(partner=first.partner).revoke(timezone.now())
        assert "no longer live: it was revoked" in logged_out(revoked)
        assert symbols(other) == ["LUM", "ORB"]
        with pytest.raises(LogonRefused, match=r"Password\(554\) is not a live API"):
            revoked.logon()

        FixSession.objects.get(comp_id=second.comp_id).switch(False)
        assert "switched off" in logged_out(other)
    ended = row_becomes(first.comp_id, connected_since=None)
    assert "no longer live" in ended.last_logout_reason
    assert ended.messages_sent >= 1

    FixSession.objects.get(comp_id=second.comp_id).switch(True)
    with acceptor.client(1) as last:
        acceptor.process.send_signal(signal.SIGTERM)
        assert "shutting down" in logged_out(last)
    assert acceptor.process.wait(PATIENCE_SECONDS) == 0
    assert (
        "shutting down"
        in row_becomes(second.comp_id, connected_since=None).last_logout_reason
    )
    log = acceptor.log.read_text()
    assert f"{first.comp_id} (member_1) logs on from 127.0.0.1" in log
    assert "Traceback" not in log
    for member in market.members:
        assert member.key.rpartition("_")[2] not in log


class Answering(threading.Thread):
    """Keeps a session up, as an engine does, until it ends."""

    def __init__(self, client: Initiator) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.messages: list[Message] = []
        self.end = ""
        self.leaving = threading.Event()
        self.start()

    def run(self) -> None:
        try:
            while not self.leaving.is_set():
                if message := self.client.receive(0.05):
                    self.messages.append(message)
        except FixFailure as failure:
            self.end = str(failure)

    def leave(self) -> None:
        self.leaving.set()
        self.join()
        self.client.logout()


def test_a_second_logon_is_refused_while_the_session_lives(
    acceptor: Acceptor, market: Market
):
    first = acceptor.client()
    first.logon()
    first.subscribe(["LUM"])
    answering = Answering(first)
    for _ in range(3):
        with pytest.raises(
            LogonRefused, match=r"^logged on from 127\.0\.0\.1 since 20"
        ):
            acceptor.client().logon()
    with moving(market.listed):
        seen = len(answering.messages)
        until(lambda: len(answering.messages) > seen)
    answering.leave()
    assert (answering.end, first.gaps) == ("", 0)
    with acceptor.client() as second:
        assert symbols(second) == ["LUM", "ORB"]


def test_two_engines_of_one_comp_id_do_not_disturb_the_first(
    acceptor: Acceptor, market: Market
):
    first = acceptor.client()
    first.logon()
    answering = Answering(first)
    texts: list[str] = []

    def try_once() -> None:
        with pytest.raises(LogonRefused) as refusal:
            acceptor.client().logon()
        texts.append(refusal.value.text)

    threads = [threading.Thread(target=try_once) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answering.leave()
    assert answering.end == ""
    assert len(texts) == 5
    assert all(text.startswith("logged on from 127.0.0.1 since ") for text in texts)


def test_a_session_that_is_silent_is_taken_over_and_told(
    start_acceptor: Start, market: Market
):
    acceptor = start_acceptor(LOG_FORMAT="json")
    comp_id = market.members[0].comp_id
    # It reads nothing, like a line whose other end is gone.
    first = acceptor.client()
    first.logon()
    with acceptor.client() as second:
        assert symbols(second) == ["LUM", "ORB"]
        assert logged_out(first) == LOGGED_ON_ELSEWHERE
        with acceptor.client() as third:
            assert symbols(third) == ["LUM", "ORB"]
            assert logged_out(second) == LOGGED_ON_ELSEWHERE
            row_becomes(
                comp_id,
                connected_since__isnull=False,
                last_logout_reason=LOGGED_ON_ELSEWHERE,
            )
    acceptor.process.send_signal(signal.SIGTERM)
    acceptor.process.wait(PATIENCE_SECONDS)
    log = acceptor.log.read_text()
    assert "Traceback" not in log
    each_session_has_an_id(comp_id, log)


def test_one_of_many_that_come_at_once_is_taken(acceptor: Acceptor, market: Market):
    refused: list[str] = []
    logged_on: list[Answering] = []

    def log_on() -> None:
        client = acceptor.client()
        try:
            client.logon()
        except LogonRefused as refusal:
            refused.append(refusal.text)
        else:
            logged_on.append(Answering(client))

    threads = [threading.Thread(target=log_on) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [answering] = logged_on
    answering.leave()
    assert answering.end == ""
    assert len(refused) == 5
    assert all(text.startswith("logged on from ") for text in refused)


def test_a_second_logon_at_the_other_acceptor_is_refused_too(
    market: Market, tmp_path: Path
):
    members = market.members
    with (
        running_acceptor(tmp_path / "1.log", members, FIX_ACCEPTOR="one") as one,
        running_acceptor(tmp_path / "2.log", members, FIX_ACCEPTOR="two") as two,
    ):
        first = one.client()
        first.logon()
        answering = Answering(first)
        for _ in range(3):
            with pytest.raises(LogonRefused, match=r"^logged on from 127\.0\.0\.1 sin"):
                two.client().logon()
        answering.leave()
        assert (answering.end, first.gaps) == ("", 0)
        # A silent session gives way, and gets the reason.
        with one.client() as silent:
            with two.client() as second:
                assert symbols(second) == ["LUM", "ORB"]
            assert logged_out(silent) == LOGGED_ON_THERE


def each_session_has_an_id(comp_id: str, log: str) -> None:
    """All its log lines have the id, in every thread."""
    lines = map(json.loads, log.splitlines())
    of_session = defaultdict(list)
    for line in lines:
        if comp_id in line["event"]:
            of_session[line["requestId"]].append(line["event"])
    # One of them looked whether the acceptor was ready.
    assert len(of_session) == 4
    for events in of_session.values():
        assert events[0].startswith(f"{comp_id} (member_1) logs on from")
        assert events[1] == f"{comp_id} is logged on"
        assert events[-1].startswith(f"{comp_id} disconnected: ")
    told = f"{comp_id} is logged out: {LOGGED_ON_ELSEWHERE}"
    assert sum(told in events for events in of_session.values()) == 2


def test_a_killed_acceptor_leaves_nobody_connected(market: Market, tmp_path: Path):
    members = market.members
    with running_acceptor(tmp_path / "first.log", members) as first:
        client = first.client()
        client.logon()
        row_becomes(members[0].comp_id, connected_since__isnull=False)
        first.process.kill()
        first.process.wait()
        client.close()
    assert FixSession.objects.filter(connected_since__isnull=False).count() == 1
    with running_acceptor(tmp_path / "second.log", members) as second:
        assert row_becomes(members[1].comp_id, connected_since=None)
        assert (
            FixSession.objects.get(comp_id=members[0].comp_id).connected_since is None
        )
        second.process.send_signal(signal.SIGINT)
        assert second.process.wait(PATIENCE_SECONDS) == 0


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments],
        cwd=settings.BASE_DIR,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )


def test_serves_tls_checks_its_own_health_and_renews_its_certificate(
    start_acceptor: Start,
    market: Market,
    tmp_path: Path,
):
    certificate = new_certificate(tmp_path, RSA)
    chain, key = map(str, certificate)
    tls = {"FIX_TLS_CERTIFICATE": chain, "FIX_TLS_KEY": key}
    acceptor = start_acceptor(own_certificate(chain), **tls)
    member = market.members[0]
    with acceptor.client(host="localhost", tls=tls_context(chain)) as client:
        assert symbols(client) == ["LUM", "ORB"]
    check = ["run_fix_acceptor", "--check", f"--comp-id={member.comp_id}"]
    port = {"FIX_PORT": str(acceptor.port)}
    sound = manage(*check, FIX_KEY=member.key, **port, **tls)
    assert (sound.returncode, sound.stderr) == (0, "")
    assert sound.stdout == (
        f"{member.comp_id} logged on to 127.0.0.1:{acceptor.port} and logged out.\n"
    )
    for environment, why in (
        (port | tls | {"FIX_KEY": f"{member.key}x"}, "is not a live API key"),
        (port | {"FIX_KEY": member.key}, "It may expect TLS"),
        ({"FIX_KEY": ""}, "put it into FIX_KEY"),
    ):
        unsound = manage(*check, **environment)
        assert unsound.returncode == 1
        assert why in unsound.stderr
        assert unsound.stderr.count("\n") == 1

    with acceptor.client(1) as live:
        certificate[0].write_text("half of a certificate")
        acceptor.process.send_signal(signal.SIGHUP)
        wait_for_line(acceptor, "the old certificate stays in use")
        new_certificate(certificate[0].parent)
        acceptor.process.send_signal(signal.SIGHUP)
        wait_for_line(acceptor, "certificate.pem was reloaded")
        with acceptor.client(tls=own_certificate(chain)) as client:
            assert symbols(client) == symbols(live)
        with pytest.raises(NoConnection):
            acceptor.client().logon()
        # A client that needs RSA does not get the old certificate.
        only_rsa = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        only_rsa.check_hostname, only_rsa.verify_mode = False, ssl.CERT_NONE
        only_rsa.maximum_version = ssl.TLSVersion.TLSv1_2
        only_rsa.set_ciphers("ECDHE-RSA-AES128-GCM-SHA256")
        with pytest.raises(NoConnection):
            acceptor.client(tls=only_rsa).logon()


@pytest.mark.skipif(sys.platform != "linux", reason="glibc keeps it, others do not")
def test_memory_of_tls_connections_goes_back_to_the_system(
    start_acceptor: Start, tmp_path: Path
):
    chain, key = map(str, new_certificate(tmp_path))
    trust = own_certificate(chain)
    acceptor = start_acceptor(
        trust,
        FIX_TLS_CERTIFICATE=chain,
        FIX_TLS_KEY=key,
        FIX_CONNECTIONS_PER_ADDRESS="200",
    )
    process = psutil.Process(acceptor.process.pid)
    before = process.memory_info().rss
    with contextlib.ExitStack() as stack:
        held = 0
        for _ in range(100):
            stack.enter_context(Partner(acceptor.port, trust))
            held = max(held, process.memory_info().rss - before)
    # Each has buffers of 256 KB; what every first connection needs stays.
    until(lambda: process.memory_info().rss - before < held / 2)


def wait_for_line(acceptor: Acceptor, part: str) -> None:
    until(lambda: part in acceptor.log.read_text(), acceptor.log.read_text)


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"FIX_HOST": "192.0.2.1"}, "192.0.2.1 port 9878 cannot be used: Cannot assi"),
        (
            {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/nothing"},
            "The database cannot be used: .* Check that the server of DATABASE_URL "
            "answers",
        ),
    ],
)
@pytest.mark.django_db
def test_says_in_one_line_why_it_does_not_start(environment: dict[str, str], told: str):
    at = {"DATABASE_URL": database_url()} | environment
    ended = manage("run_fix_acceptor", "--skip-checks", **at)
    assert ended.returncode == 1
    [*_, line] = ended.stderr.splitlines()
    assert re.search(told, line), line


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (("", "key.pem"), "Only one of FIX_TLS_CERTIFICATE and FIX_TLS_KEY is set"),
        (("no.pem", "no.pem"), "FIX_TLS_KEY=no.pem: .*No such file.* two PEM files"),
    ],
)
def test_refuses_files_that_make_no_tls(
    settings: Any, named: tuple[str, str], told: str
):
    settings.FIX_TLS_CERTIFICATE, settings.FIX_TLS_KEY = named
    with pytest.raises(CommandError, match=told):
        call_command("run_fix_acceptor")


@pytest.mark.django_db
def test_web_workers_know_nothing_of_quickfix():
    asked = (
        "import sys, partnerapi.wsgi, django.urls;"
        "django.urls.get_resolver().url_patterns;"
        "print('quickfix' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", asked],
        cwd=settings.BASE_DIR,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "partnerapi.settings",
            "DATABASE_URL": database_url(),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


def test_a_logon_within_a_session_ends_it_in_the_order_of_its_numbers(
    acceptor: Acceptor, market: Market
):
    received: list[int] = []
    client = acceptor.client(on_receive=lambda raw: received.append(number_of(raw)))
    client.logon()
    with moving(market.listed):
        client.subscribe(["LUM"])
        until(lambda: client.receive() and len(received) > 5)
        client.send("A", (98, 0), (108, 30), (141, "Y"), (554, client.key))
        assert logged_out(client) == LOGON_WITHIN
    assert received == list(range(1, len(received) + 1))


def test_a_session_that_announces_too_much_is_told(acceptor: Acceptor):
    client = acceptor.client()
    client.logon()
    client.socket.sendall(b"8=FIX.4.4\x019=999999999\x0135=0\x01")
    assert logged_out(client) == TOO_LONG


def number_of(raw: bytes) -> int:
    return Message(raw).sequence
