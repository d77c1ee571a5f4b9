"""`prune book-log`: what it deletes and keeps, and that books continue from there."""

import io
import re
from datetime import datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

import marketdata.books.pruning
from issuers.models import Token
from marketdata.books.log import Deal, Message, record
from marketdata.books.pruning import PrunableLog, delete, prunable_logs, prune
from marketdata.management import prune_book_log as command
from marketdata.models import BookChange, BookSnapshot, Trade
from partnerapi.operations.tasks import prune_book_log
from tests.marketdata.books.markets import bid, traded
from tests.owner import tamper

pytestmark = pytest.mark.django_db(transaction=True)


def call(*arguments: str) -> str:
    output = io.StringIO()
    call_command("prune", "book-log", *arguments, stdout=output)
    return output.getvalue().strip()


def write(token: Token, changes: int) -> None:
    """Write this many changes, with a deal at every tenth."""
    messages = [
        Message([bid(1 + number % 50, 1 + number)], [Deal(60, 1)] * (number % 10 == 0))
        for number in range(changes)
    ]
    for start in range(0, changes, 500):
        record(token.pk, messages[start : start + 500], "me")


def age(hours: float) -> None:
    """Make all written rows this old."""
    earlier = timezone.now() - timedelta(hours=hours)
    for table in ("bookchange", "trade", "booksnapshot"):
        tamper(f"UPDATE marketdata_{table} SET at = '{earlier}'")


def kept(model: type, token: Token) -> list[int]:
    rows = model.objects.filter(token=token).order_by("sequence")  # type: ignore[attr-defined]
    return list(rows.values_list("sequence", flat=True))


def test_what_snapshots_cover_goes_and_the_newest_two_stay():
    acme, nova, idle = traded("ACME"), traded("NOVA"), traded("IDLE")
    write(acme, 4200)
    write(nova, 2000)
    write(idle, 900)
    age(25)
    what = "4,000 changes and 2 snapshots of 2 books"
    assert call("--dry-run") == (
        f"{what} would be deleted (dry run: nothing was written)"
    )
    assert (BookChange.objects.count(), Trade.objects.count()) == (7100, 710)
    assert call() == "Deleted 4,002 changes and snapshots of 2 books."
    assert kept(BookSnapshot, acme) == [3000, 4000]
    assert kept(BookChange, acme) == list(range(3001, 4201))
    assert kept(Trade, acme) == list(range(1, 421))
    assert kept(BookSnapshot, nova) == [1000, 2000]
    assert kept(BookChange, nova) == list(range(1001, 2001))
    assert kept(BookChange, idle) == list(range(1, 901))
    assert call() == "Deleted 0 changes and snapshots of 0 books."
    write(acme, 1000)
    assert kept(BookChange, acme)[-1] == 5200


def test_what_is_younger_than_asked_stays():
    acme = traded("ACME")
    write(acme, 2000)
    age(25)
    write(acme, 2000)
    assert call("--keep-hours", "26").startswith("Deleted 0 changes")
    assert call().startswith("Deleted 2,001 changes and snapshots of 1")
    assert kept(BookSnapshot, acme) == [2000, 3000, 4000]


def test_says_what_it_deleted_itself(monkeypatch: pytest.MonkeyPatch):
    acme = traded("ACME")
    write(acme, 3000)
    age(25)

    def covered_then_pruned_by_another(before: datetime) -> list[PrunableLog]:
        logs = prunable_logs(before)
        assert prune(logs) == 2001
        return logs

    monkeypatch.setattr(command, "prunable_logs", covered_then_pruned_by_another)
    assert call() == "Deleted 0 changes and snapshots of 1 books."


@pytest.mark.parametrize("hours", ["-1", "0", "23.9", "nan", "a day", "inf"])
def test_hours_that_are_none_are_refused(hours: str):
    with pytest.raises(CommandError, match="--keep-hours"):
        call(f"--keep-hours={hours}")


def test_steps_are_committed_and_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(marketdata.books.pruning, "ROWS_AT_ONCE", 700)
    acme = traded("ACME")
    write(acme, 3000)
    age(25)
    told: list[int] = []

    def advance(done: int) -> None:
        assert not connection.in_atomic_block
        told.append(done)

    [log] = found = prunable_logs(timezone.now())
    assert (log.changes, log.snapshots, log.rows) == (2000, 1, 2001)
    with CaptureQueriesContext(connection) as queries:
        assert prune(found, advance) == 2001
    assert told == [1, 700, 700, 600]
    # No step reads rows that earlier steps have deleted.
    ranges = re.findall(r", 0, (\d+), (\d+)\)", str(list(queries)))
    assert [tuple(map(int, numbers)) for numbers in ranges] == [
        (1, 700), (701, 1400), (1401, 2000)
    ]  # fmt: skip
    # A second run with the same parts finds nothing.
    assert prune(found, advance) == 0


def test_an_end_between_two_steps_is_gone_on_from(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(marketdata.books.pruning, "ROWS_AT_ONCE", 700)
    acme = traded("ACME")
    write(acme, 3000)
    age(25)
    done: list[int] = []

    def killed(rows: int) -> None:
        done.append(rows)
        if len(done) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prune(prunable_logs(timezone.now()), killed)
    assert kept(BookChange, acme)[0] == 1401
    assert call() == "Deleted 600 changes and snapshots of 1 books."


def test_nobody_prunes_what_is_younger_than_a_day():
    acme = traded("ACME")
    write(acme, 3000)
    with pytest.raises(IntegrityError, match="older than 24 hours"):
        prune(prunable_logs(timezone.now()))
    age(25)
    with pytest.raises(IntegrityError, match="stands in a snapshot: up to change 2000"):
        delete(acme.pk, 0, 1, 2001)
    assert BookChange.objects.count() == 3000


def test_the_beat_keeps_a_day():
    acme = traded("ACME")
    write(acme, 3000)
    age(23.9)
    prune_book_log()
    assert len(kept(BookChange, acme)) == 3000
    age(24.1)
    prune_book_log()
    assert len(kept(BookChange, acme)) == 1000
    assert isinstance(BookSnapshot.objects.latest("sequence").at, datetime)
