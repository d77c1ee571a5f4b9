"""A session of staff ends after twelve hours, and after thirty idle minutes."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from partnerapi.staff.authentication.session_ends import BEGAN, SEEN
from tests.owner import superuser

pytestmark = pytest.mark.django_db
LOGIN = "/admin/login/"


@pytest.fixture
def client() -> Client:
    names = {"first_name": "Ana", "last_name": "Staff"}
    client = Client()
    client.force_login(superuser("ana@staff.example", type="INDIVIDUAL", **names))
    assert client.get("/admin/roles/").status_code == 200
    return client


def was(client: Client, began: timedelta, seen: timedelta) -> None:
    """Move the session's beginning and last use this far into the past."""
    session, now = client.session, timezone.now().timestamp()
    session[BEGAN] = now - began.total_seconds()
    session[SEEN] = now - seen.total_seconds()
    session.save()


HOURS, MINUTES = timedelta(hours=1), timedelta(minutes=1)


@pytest.mark.parametrize(
    ("began", "seen", "goes_on"),
    [
        (12 * HOURS - MINUTES, MINUTES, True),
        (12 * HOURS, 0 * MINUTES, False),
        (HOURS, 29 * MINUTES, True),
        (HOURS, 30 * MINUTES, False),
        (40 * HOURS, 30 * HOURS, False),
    ],
)
def test_a_session_ends(client, began, seen, goes_on):
    was(client, began, seen)
    key = client.session.session_key
    answer = client.get("/admin/roles/")
    assert answer.status_code == (200 if goes_on else 302)
    if not goes_on:
        assert answer.url == f"{LOGIN}?next=/admin/roles/"
        # The cookie, too, if someone has kept it.
        assert not Session.objects.filter(session_key=key).exists()
        thief = Client()
        thief.cookies["sessionid"] = key
        assert thief.get("/admin/roles/").status_code == 302


def test_nothing_is_done_in_a_session_that_has_ended(client):
    was(client, HOURS, 31 * MINUTES)
    answer = client.post("/admin/accounts/partner/add/", {"login": "x", "name": "X"})
    assert answer.url.startswith(LOGIN)


def test_work_prolongs_the_idle_time_and_not_the_day(client):
    was(client, 2 * HOURS, 20 * MINUTES)
    began = client.session[BEGAN]
    client.get("/admin/roles/")
    assert timezone.now().timestamp() - client.session[SEEN] < 60
    assert client.session[BEGAN] == began


def test_a_page_that_asks_by_itself_is_no_work(client):
    was(client, 2 * HOURS, 20 * MINUTES)
    seen = client.session[SEEN]
    for path in ("token/{}/book/ladder/", "deliveries/{}/progress/"):
        client.get("/admin/" + path.format("0197d0a6-0000-7000-8000-000000000001"))
    assert client.session[SEEN] == seen
    was(client, 2 * HOURS, 31 * MINUTES)
    answer = client.get(
        "/admin/token/0197d0a6-0000-7000-8000-000000000001/book/ladder/"
    )
    assert answer.status_code == 302


def test_a_session_of_the_release_before_ends_too(client):
    session = client.session
    del session[BEGAN], session[SEEN]
    session.save()
    assert client.get("/admin/roles/").status_code == 200
    was(client, 12 * HOURS, MINUTES)
    assert client.get("/admin/roles/").status_code == 302


def test_who_is_seen_is_written_once_a_minute(client, django_assert_num_queries):
    client.get("/admin/roles/")
    # The session, its user, and the badge.
    with django_assert_num_queries(3):
        client.get("/admin/roles/")
