"""What is written about sessions, and that they outlive the database."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from time import time
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.keys.models import ApiKey, Partner
from issuers.callers import caller_of
from marketdata.books.feed import Feed
from marketdata.fix.acceptor.liveness import read_signs
from marketdata.fix.acceptor.logon import Admission
from marketdata.fix.acceptor.sessions import Status
from marketdata.fix.acceptor.supervision import Supervisor
from marketdata.models import FixSession
from tests.owner import tamper
from tests.waiting import PATIENCE_SECONDS, until

SINCE, LATER = (datetime(2026, 3, 2, 9, minute, tzinfo=UTC) for minute in (30, 45))


class Sessions:
    """Reports the given states, and notes the sessions it ends."""

    def __init__(self) -> None:
        self.told: dict[str, Status] = {}
        self.ended: list[tuple[str, str]] = []
        self.feed = Feed([])
        self.live: dict[str, object] = {}

    def status(self) -> dict[str, Status]:
        return self.told

    def from_thread(self, call: Callable[..., object], *arguments: object) -> None:
        call(*arguments)

    def look(self) -> None:
        """Nothing is sent."""

    def end(self, comp_id: str, text: str) -> None:
        self.ended.append((comp_id, text))


@pytest.fixture
def sessions() -> Sessions:
    return Sessions()


@pytest.fixture
def supervisor(sessions: Sessions) -> Supervisor:
    return Supervisor(sessions)


@pytest.fixture
def session(db: None) -> FixSession:
    partner = Partner.objects.create(login="acme_co", name="Acme")
    FixSession.objects.bind(partner, 2)
    FixSession.objects.update(messages_sent=100)
    return FixSession.objects.get(comp_id="PARTNER001")


def row(session: FixSession) -> Status:
    session.refresh_from_db()
    return Status(
        session.connected_since,
        session.last_heartbeat_at,
        session.messages_sent,
        session.last_logout_reason,
    )


def test_writes_a_session_from_its_logon_to_its_end(sessions, supervisor, session):
    sessions.told = {"PARTNER001": Status(SINCE, SINCE, 7, "")}
    supervisor.write()
    assert row(session) == Status(SINCE, SINCE, 107, "")
    sessions.told = {"PARTNER001": Status(SINCE, LATER, 9, "")}
    supervisor.write()
    assert row(session) == Status(SINCE, LATER, 109, "")
    sessions.told = {"PARTNER001": Status(None, None, 12, "slow consumer" * 50)}
    supervisor.write()
    assert row(session) == Status(None, LATER, 112, ("slow consumer" * 50)[:200])


def test_writes_those_that_changed_in_one_statement(
    sessions, supervisor, session, django_assert_num_queries
):
    sessions.told = {
        f"PARTNER{n:03d}": Status(SINCE, SINCE, n, "") for n in range(1, 9)
    }
    with django_assert_num_queries(1):
        supervisor.write()
    with django_assert_num_queries(0):
        supervisor.write()
    counts = FixSession.objects.values_list("comp_id", "messages_sent")
    assert dict(counts) == {"PARTNER001": 101, "PARTNER002": 102}


@pytest.fixture
def admitted(committed_key: str, sessions: Sessions) -> Admission:
    key = ApiKey.objects.select_related("partner").get()
    admission = Admission("PARTNER001", str(key.pk), caller_of(key))
    sessions.live = {"PARTNER001": SimpleNamespace(admission=admission)}
    return admission


def test_sessions_outlive_the_database(sessions, supervisor, admitted, caplog):
    caplog.set_level(logging.INFO, "marketdata.fix")
    ApiKey.objects.get().narrow(scopes=[])
    tamper("ALTER TABLE accounts_apikey RENAME TO away")
    try:
        supervisor.attempt()
        supervisor.attempt()
    finally:
        tamper("ALTER TABLE away RENAME TO accounts_apikey")
    assert sessions.ended == []
    supervisor.attempt()
    [(comp_id, text)] = sessions.ended
    assert comp_id == "PARTNER001"
    assert "lacks the scope marketdata:read" in text
    said = [r.message for r in caplog.records if "supervised" in r.message]
    assert len(said) == 2
    assert said[0].startswith("PostgreSQL does not answer (relation")
    assert said[1].startswith("PostgreSQL answers again")


def test_forgets_who_was_connected_when_the_last_one_was_killed(
    supervisor, committed_key
):
    FixSession.objects.update(connected_since=timezone.now(), messages_sent=5)
    supervisor.start()
    supervisor.stop()
    fared = FixSession.objects.values_list("connected_since", "messages_sent")
    assert list(fared) == [(None, 5)] * 2


@pytest.mark.django_db(transaction=True)
def test_leaves_a_sign_of_life_until_it_is_told_to_end(
    supervisor: Supervisor, sessions: Sessions
):
    sessions.live = {}
    supervisor.start()
    # An acceptor that another test has killed may have left one.
    until(lambda: [sign.sessions for sign in read_signs()] == [0])
    [sign] = read_signs()
    assert sign.place.endswith(f":{settings.FIX_PORT}")
    assert abs(time() - sign.at) < PATIENCE_SECONDS
    supervisor.stop()
    assert read_signs() == []
