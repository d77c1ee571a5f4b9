import io
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

import partnerapi.gateway.models
from accounts.keys.models import Partner
from partnerapi.gateway.models import IdempotencyRecord
from tests.waiting import PATIENCE_SECONDS


def record(partner: Partner, hours_left: float) -> IdempotencyRecord:
    """A mutation's answer that is kept for some hours yet, or was until hours ago."""
    expires_at = timezone.now() + timedelta(hours=hours_left)
    return IdempotencyRecord.objects.create(
        partner=partner,
        key=uuid.uuid4(),
        fingerprint=bytes(32),
        body=b'{"data": {}}',
        created_at=expires_at - timedelta(hours=24),
        expires_at=expires_at,
    )


def prune(*arguments: str) -> str:
    output = io.StringIO()
    call_command("prune", "idempotency-records", *arguments, stdout=output)
    return output.getvalue().strip()


@pytest.fixture
def acme(db: None) -> Partner:
    return Partner.objects.create(login="acme", name="Acme")


@contextmanager
def claiming(record: IdempotencyRecord) -> Iterator[None]:
    """A request that has claimed the expired key anew and has not ended yet."""
    claimed, ended = threading.Event(), threading.Event()

    def request() -> None:
        with transaction.atomic():
            IdempotencyRecord.objects.filter(pk=record.pk).update(
                body=None, expires_at=None
            )
            claimed.set()
            assert ended.wait(PATIENCE_SECONDS)
            IdempotencyRecord.objects.filter(pk=record.pk).update(
                body=b"new", expires_at=timezone.now() + timedelta(hours=24)
            )
        connection.close()

    thread = threading.Thread(target=request)
    thread.start()
    try:
        assert claimed.wait(PATIENCE_SECONDS)
        yield
    finally:
        ended.set()
        thread.join()


def test_deletes_what_has_expired_in_batches_and_keeps_the_rest(
    acme: Partner, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries
):
    monkeypatch.setattr(partnerapi.gateway.models, "PRUNED_AT_ONCE", 3)
    for hours in range(7):
        record(acme, -hours)
    kept = [record(acme, hours).pk for hours in (0.1, 24)]
    # A count before and after; three batches, and one without rows.
    with django_assert_num_queries(2 + 3 + 1):
        assert prune() == "Deleted 7 expired idempotency records; 2 are kept."
    assert set(IdempotencyRecord.objects.values_list("pk", flat=True)) == set(kept)
    assert prune() == "Deleted 0 expired idempotency records; 2 are kept."


def test_a_dry_run_counts_and_deletes_nothing(acme: Partner):
    for hours in (-1, -25, 1):
        record(acme, hours)
    assert prune("--dry-run") == (
        "2 expired idempotency records would be deleted (dry run: nothing was written)"
    )
    assert IdempotencyRecord.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_tells_of_each_batch(acme: Partner, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(partnerapi.gateway.models, "PRUNED_AT_ONCE", 2)
    for hours in (-1, -2, -3):
        record(acme, hours)
    told: list[tuple[int, int]] = []

    def advance(done: int) -> None:
        # Reported rows are committed, so that an early end undoes nothing.
        assert not connection.in_atomic_block
        told.append((done, IdempotencyRecord.objects.count()))

    assert IdempotencyRecord.objects.expired(timezone.now()).prune(advance) == 3
    assert told == [(2, 1), (1, 0)]


@pytest.mark.django_db(transaction=True)
def test_a_key_that_is_claimed_anew_meanwhile_stays(acme: Partner):
    claimed, other = record(acme, -1), record(acme, -1)
    with claiming(claimed):
        # It neither waits for the request nor fails after lock_timeout.
        assert prune() == "Deleted 1 expired idempotency records; 1 are kept."
    assert not IdempotencyRecord.objects.filter(pk=other.pk).exists()
    claimed.refresh_from_db()
    assert bytes(claimed.body or b"") == b"new"
    assert prune() == "Deleted 0 expired idempotency records; 1 are kept."
