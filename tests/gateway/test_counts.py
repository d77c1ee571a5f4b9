"""The hourly counts of requests, which are kept for 30 days."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import Error, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.keys.models import ApiKey
from partnerapi.gateway.counts import MOST_NOTED, RequestCount, counts
from partnerapi.management.prune_request_counts import Command
from tests.characters import Ask, World
from tests.owner import tamper


@pytest.fixture(autouse=True)
def nothing_noted():
    counts.noted.clear()


def test_requests_are_counted_by_key_hour_and_code(
    world: World, partner: Ask, observer: Ask, stranger: Ask
):
    for _ in range(3):
        partner("{ viewer { login } }")
    partner("{ nonsense }")
    observer("{ viewer { login } }")
    stranger("{ viewer { login } }")
    Ask("service-apikey_broker_one_" + "0" * 49)("{ viewer { login } }")
    with CaptureQueriesContext(connection) as captured:
        counts.write()
        counts.write()
    assert len(captured) == 1
    mine = ApiKey.objects.get(partner=world.partner)
    others = ApiKey.objects.get(partner=world.observer)
    found = RequestCount.objects.order_by("key", "code").values_list(
        "key", "code", "number"
    )
    assert {*found} == {
        (mine.pk, "OK", 3),
        (mine.pk, "GRAPHQL_VALIDATION_FAILED", 1),
        (others.pk, "OK", 1),
    }
    partner("{ viewer { login } }")
    counts.write()
    assert RequestCount.objects.get(key=mine, code="OK").number == 4
    hour = RequestCount.objects.filter(key=mine).values_list("hour", flat=True)[0]
    assert (hour.minute, hour.second, hour.microsecond) == (0, 0, 0)


def test_an_hour_begins_when_the_clock_strikes(world: World, partner: Ask):
    key = ApiKey.objects.get(partner=world.partner)
    strikes = datetime(2026, 11, 27, 9, tzinfo=UTC)
    for at in (strikes - timedelta(microseconds=1), strikes):
        counts.note(key.pk, at.timestamp(), "OK")
    counts.write()
    assert [*RequestCount.objects.order_by("hour").values_list("hour", flat=True)] == [
        strikes - timedelta(hours=1),
        strikes,
    ]


def test_notes_stay_while_the_database_takes_none(world: World, partner: Ask):
    key = ApiKey.objects.get(partner=world.partner)
    counts.note(key.pk, 0, "OK")
    with transaction.atomic():
        connection.cursor().execute("SET TRANSACTION READ ONLY")
        with pytest.raises(Error, match="read-only"):
            counts.write()
        transaction.set_rollback(True)
    counts.note(key.pk, 0, "OK")
    counts.write()
    assert RequestCount.objects.get().number == 2


def test_a_process_holds_a_bounded_number_of_notes(world: World, partner: Ask):
    key = ApiKey.objects.get(partner=world.partner)
    for hour in range(MOST_NOTED + 5):
        counts.note(key.pk, hour * 3600, "OK")
    counts.note(key.pk, 0, "OK")
    assert (len(counts.noted), counts.noted.total()) == (MOST_NOTED, MOST_NOTED + 1)


def test_counts_are_pruned_after_thirty_days(world: World, partner: Ask):
    key, now = ApiKey.objects.get(partner=world.partner), timezone.now()
    for days in (29, 31, 32):
        counts.note(key.pk, (now - timedelta(days)).timestamp(), "OK")
    counts.write()
    assert Command().handle() == "Deleted 2 hourly counts of requests."
    assert RequestCount.objects.get().hour > now - timedelta(30)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO partnerapi_requestcount (key_id, hour, code, number)"
        " SELECT id, now(), 'OK', 1 FROM accounts_apikey",
        "UPDATE partnerapi_requestcount SET number = 1",
        "DELETE FROM partnerapi_requestcount",
    ],
)
def test_the_application_writes_counts_by_the_function_alone(
    statement: str, world: World, partner: Ask
):
    partner("{ viewer { login } }")
    counts.write()
    with pytest.raises(ProgrammingError, match="permission denied"):
        connection.cursor().execute(statement)


def test_a_count_of_no_request_is_refused(world: World, partner: Ask):
    key = ApiKey.objects.get(partner=world.partner)
    with pytest.raises(Error, match="request_count_positive"):
        tamper(
            "INSERT INTO partnerapi_requestcount (key_id, hour, code, number)"
            f" VALUES ('{key.pk}', now(), 'OK', 0)"
        )
