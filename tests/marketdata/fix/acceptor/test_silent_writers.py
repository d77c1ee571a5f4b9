"""A book with a silent writer is reported out of date until the writer is back."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F

from issuers.models import Token
from marketdata.books.feed import Feed
from marketdata.books.log import hear
from marketdata.fix.acceptor.statuses import SILENT
from marketdata.fix.client.client import Client
from marketdata.models import OrderBookHead
from marketdata.trading import phases
from tests.approved import asker
from tests.marketdata.fix.acceptor_process import Acceptor, database_url
from tests.marketdata.fix.conftest import Market
from tests.marketdata.trading.trading import ALL_DAY
from tests.owner import as_owner
from tests.waiting import PROGRAM_SECONDS, until

LONG, NEVER = timedelta(seconds=6), datetime(1970, 1, 1, tzinfo=UTC)


def await_status(client: Client, symbol: str, status: str) -> str:
    """The text of the SecurityStatus of this kind that comes next."""

    def told() -> str:
        message = client.receive(0.1)
        if message is None or (message.type, message.get(55)) != ("f", symbol):
            return ""
        return message.get(58) or "-" if message.get(326) == status else ""

    return until(told)


@contextmanager
def simulated(*symbols: str) -> Iterator[subprocess.Popen[bytes]]:
    """The writer of the sandbox, for these tokens."""
    named = [part for symbol in symbols for part in ("--token", symbol)]
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "simulate_market"]
    environment = os.environ | {
        "DATABASE_URL": database_url(),
        "PARTNER_API_SANDBOX": "true",
    }
    with subprocess.Popen(
        [*command, *named, "--rate", "2"], env=environment, stdout=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(PROGRAM_SECONDS)


def test_a_writer_that_stands_still_is_told_and_its_return(
    acceptor: Acceptor, market: Market
):
    with simulated("LUM") as writer, acceptor.client() as client:
        heard = OrderBookHead.objects.filter(token=market.listed, heard_at__gt=NEVER)
        until(heard.exists)
        client.subscribe(["LUM", "ORB"])
        await_status(client, "LUM", "17")
        writer.send_signal(signal.SIGSTOP)
        assert await_status(client, "LUM", "20") == SILENT
        # A book without any report stays current.
        client.send("e", (324, "S1"), (263, 0), (55, "ORB"))
        await_status(client, "ORB", "17")
        client.send("e", (324, "S2"), (263, 0), (55, "LUM"))
        assert await_status(client, "LUM", "20") == SILENT
        writer.send_signal(signal.SIGCONT)
        await_status(client, "LUM", "17")


def test_a_first_book_tells_at_once_that_it_is_out_of_date(
    acceptor: Acceptor, market: Market
):
    hear([market.listed.pk])
    with as_owner():
        OrderBookHead.objects.update(
            heard_at=F("heard_at") - LONG, last_at=F("last_at") - LONG
        )
    with acceptor.client() as client:
        client.send("e", (324, "S"), (263, 1), (55, "LUM"))
        await_status(client, "LUM", "20")
        client.send("e", (324, "S"), (263, 2), (55, "LUM"))
        client.subscribe(["LUM"])
        assert await_status(client, "LUM", "20") == SILENT


def test_a_book_that_is_written_is_not_silent(market: Market):
    hear([market.listed.pk])
    written = OrderBookHead.objects.filter(token=market.listed)
    feed = Feed([market.listed.pk])
    for hours, is_silent in ((-1, True), (2, False)):
        with as_owner():
            written.update(
                heard_at=F("heard_at") - timedelta(hours=1),
                last_at=F("last_at") + timedelta(hours=hours),
            )
        feed.look()
        [book] = feed.books.values()
        assert book.is_silent == is_silent


def test_only_books_that_are_fed_are_heard_of(market: Market):
    listed, own = market.listed, market.unnumbered
    phases.open_market(own.pk, ALL_DAY, asker(), reference_price=1_000)
    hear([listed.pk, own.pk])
    heard = dict(OrderBookHead.objects.values_list("token", "heard_at"))
    assert heard[listed.pk] is not None
    assert (heard[own.pk], heard[market.hidden.pk]) == (None, None)


def test_a_head_that_is_written_is_not_waited_for(market: Market):
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT FROM marketdata_lock_book(%s)", [market.listed.pk])
        other = connection.copy()
        with other.cursor() as cursor:
            ids = [market.listed.pk, market.unnumbered.pk]
            cursor.execute("SELECT marketdata_hear(%s::uuid[])", [ids])
        other.close()
    assert Token.objects.filter(order_book_head__heard_at__gt=NEVER).get() == (
        market.unnumbered
    )
