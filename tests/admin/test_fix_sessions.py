from datetime import UTC, datetime

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.keys.models import Partner
from marketdata.models import FixSession
from tests.admin.test_accounts import signed_in

LIST = reverse("admin:marketdata_fixsession_changelist")
SINCE = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.fixture
def staff(db: None) -> Client:
    return signed_in("view_fixsession", "change_fixsession", "delete_fixsession")


@pytest.fixture
def session(db: None) -> FixSession:
    partner = Partner.objects.create(login="acme_co", name="Acme")
    [session] = FixSession.objects.bind(partner)
    FixSession.objects.update(
        connected_since=SINCE,
        last_heartbeat_at=SINCE,
        last_logout_reason="slow consumer",
        messages_sent=12_345,
    )
    return session


def page(session: FixSession) -> str:
    return reverse("admin:marketdata_fixsession_change", args=[session.pk])


def test_shows_who_is_connected_and_how_it_fares(staff, session):
    text = staff.get(LIST).content.decode()
    for shown in (
        "PARTNER001", "Acme (acme_co)", "2026-03-02 09:30:00 UTC", "slow consumer",
        "12345",
    ):  # fmt: skip
        assert shown in text


def test_its_list_asks_the_same_whatever_its_length(staff, session):
    staff.get(LIST)
    counts = []
    for login in ("beta", "gamma", "delta"):
        with CaptureQueriesContext(connection) as asked:
            staff.get(LIST)
        counts.append(len(asked))
        partner = Partner.objects.create(login=login, name=login)
        FixSession.objects.bind(partner, 2)
    assert len(set(counts)) == 1


@pytest.mark.parametrize("searched", ["partner001", "acme", "Acme"])
def test_finds_a_session_by_comp_id_or_partner(staff, session, searched):
    other = Partner.objects.create(login="zeta", name="Zeta")
    FixSession.objects.bind(other)
    text = staff.get(LIST, {"q": searched}).content.decode()
    assert "1 FIX session" in text


def test_keeps_the_networks_that_a_logon_is_taken_from(staff, session):
    sent = {"enabled": "on", "sources": "203.0.113.0/24, 2001:db8::7"}
    assert staff.post(page(session), sent).status_code == 302
    session.refresh_from_db()
    assert session.sources == ["203.0.113.0/24", "2001:db8::7/128"]
    assert "203.0.113.0/24" in staff.get(LIST).content.decode()
    refused = staff.post(page(session), {"sources": "203.0.113.9/24"})
    [said] = refused.context["adminform"].form.errors["sources"]
    assert said.endswith("No IP network: 203.0.113.9/24 has host bits set.")


def test_switches_a_session_off_and_touches_nothing_else(staff, session):
    opened = staff.get(page(session)).content.decode()
    assert 'name="enabled"' in opened
    assert 'name="comp_id"' not in opened
    FixSession.objects.update(messages_sent=20_000)
    answer = staff.post(page(session), {"comp_id": "PARTNER009", "messages_sent": 1})
    assert answer.status_code == 302
    session.refresh_from_db()
    assert (session.comp_id, session.enabled) == ("PARTNER001", False)
    assert (session.messages_sent, session.connected_since) == (20_000, SINCE)
    assert LogEntry.objects.get().get_change_message() == "Changed Enabled."


def test_nobody_adds_or_deletes_one_here(staff, session):
    assert staff.get(reverse("admin:marketdata_fixsession_add")).status_code == 403
    delete = reverse("admin:marketdata_fixsession_delete", args=[session.pk])
    assert staff.post(delete, {"post": "yes"}).status_code == 403
    assert FixSession.objects.count() == 1
