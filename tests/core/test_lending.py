"""Connections that threads share: who waits, what is called in, what an outage is."""

import os
import socket
import threading
from collections.abc import Iterator
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from django.db import OperationalError, connection

from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.base import NEW_EVENTS
from partnerapi.core.postgresql.faults import Busy
from partnerapi.core.postgresql.lending import Lender
from tests.waiting import until


@pytest.fixture
def lender(monkeypatch: pytest.MonkeyPatch) -> Lender:
    monkeypatch.setattr(lending, "WATCH_SECONDS", 0.01)
    return Lender(permits=2)


def connect() -> lending.Raw:
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


def unreachable() -> lending.Raw:
    raise psycopg.OperationalError("away")


def test_a_connection_that_is_given_back_is_the_next_one(lender: Lender):
    first = lender.borrow(connect)
    raw = first.raw
    lender.give_back(first)
    again = lender.borrow(connect)
    assert again.raw is raw
    lender.give_back(again)


def test_a_connection_that_the_server_has_ended_is_lent_to_nobody(lender: Lender):
    first = lender.borrow(connect)
    ended = first.raw
    lender.give_back(first)
    with connect() as other:
        other.execute("SELECT pg_terminate_backend(%s)", [ended.info.backend_pid])
    until(lambda: not lending.is_open(ended))
    again = lender.borrow(connect)
    assert again.raw is not ended
    lender.give_back(again)


def test_a_transaction_that_was_left_open_is_given_to_nobody(lender: Lender):
    first = lender.borrow(lambda: psycopg.connect(os.environ["DATABASE_URL"]))
    first.raw.execute("SELECT 1")
    lender.give_back(first)
    assert first.raw.closed
    assert lender.shelf == []


def test_who_forks_keeps_no_connection_that_the_children_would_share(lender: Lender):
    first = lender.borrow(connect)
    lender.give_back(first)
    lender.close_kept()
    assert first.raw.closed
    lender.outage.is_on = True
    child = os.fork()
    if not child:
        # The prober and the watchdog have stayed with the parent.
        os._exit(lender.outage.is_on or lender.watchdog is not None)
    assert os.waitpid(child, 0)[1] == 0


def test_who_waits_is_given_what_comes_back(lender: Lender):
    loans = [lender.borrow(connect), lender.borrow(connect)]
    lent: list[lending.Loan] = []
    waiting = threading.Thread(target=lambda: lent.append(lender.borrow(connect)))
    waiting.start()
    lender.give_back(loans[0])
    waiting.join()
    assert lent[0].raw is loans[0].raw
    lender.give_back(loans[1])
    lender.give_back(lent[0])
    assert len(lender.shelf) == 2


def test_a_wait_ends_at_its_deadline(lender: Lender):
    loans = [lender.borrow(connect), lender.borrow(connect)]
    due = monotonic() + 0.1
    with lending.until(due), pytest.raises(Busy):
        lender.borrow(connect)
    assert monotonic() >= due
    for loan in loans:
        lender.give_back(loan)
    # One that is free costs no wait; the watchdog ends what is late.
    with lending.until(monotonic()):
        lender.give_back(lender.borrow(connect))
    assert not lender.waiting
    assert lender.taken == 0


def test_who_waits_is_refused_when_an_outage_begins(lender: Lender):
    loans = [lender.borrow(connect), lender.borrow(connect)]
    refused: list[Exception] = []

    def wait() -> None:
        try:
            lender.borrow(connect)
        except OperationalError as error:
            refused.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    until(lambda: len(lender.waiting) == 1)
    # An outage that a probe ends at once may be over before the other thread wakes.
    lender.connect = unreachable
    lender.begin_outage(psycopg.OperationalError("away"))
    waiting.join()
    assert len(refused) == 1
    lender.connect = connect
    until(lambda: not lender.outage.is_on)
    for loan in loans:
        lender.give_back(loan)


def test_the_statement_of_a_loan_that_is_due_is_ended_by_the_server(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
):
    # On a busy machine the cancellation takes longer.
    monkeypatch.setattr(lending, "CANCEL_SECONDS", 60.0)
    due = monotonic() + 3600
    with lending.until(due):
        loan = lender.borrow(connect)
    assert loan.due == due
    ended: list[Exception] = []

    def wait() -> None:
        try:
            loan.raw.execute("SELECT pg_sleep(3600)")
        except psycopg.Error as error:
            ended.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    running = "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s"
    with connect() as other:
        pid = loan.raw.info.backend_pid
        until(lambda: other.execute(running, [pid]).fetchone() == (True,))
    loan.due = monotonic()
    waiting.join()
    assert [type(error) for error in ended] == [psycopg.errors.QueryCanceled]
    assert not lender.outage.is_on
    lender.give_back(loan)
    # Another cancellation may still be on its way to it.
    assert loan.raw.closed


class Wire:
    """Between a client and PostgreSQL; it can be held up, as by a lost network."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.passes = threading.Event()
        self.passes.set()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = self.to_server()
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self.carry, args=pair, daemon=True).start()

    def to_server(self) -> socket.socket:
        url = urlsplit(os.environ["DATABASE_URL"])
        if directory := parse_qs(url.query).get("host"):
            server = socket.socket(socket.AF_UNIX)
            server.connect(f"{directory[0]}/.s.PGSQL.{url.port or 5432}")
            return server
        return socket.create_connection((url.hostname, url.port or 5432))

    def carry(self, source: socket.socket, target: socket.socket) -> None:
        with source, target:
            try:
                while data := source.recv(65536):
                    self.passes.wait()
                    target.sendall(data)
            except OSError:
                return

    def connect(self) -> lending.Raw:
        url = urlsplit(os.environ["DATABASE_URL"])
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=url.username,
            password=url.password,
            dbname=url.path[1:],
            autocommit=True,
            connect_timeout=2,
        )


@pytest.fixture
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.passes.set()
    wire.listener.close()


def test_a_server_out_of_reach_holds_nobody(lender: Lender, wire: Wire):
    with lending.until(monotonic() + 0.5):
        loan = lender.borrow(wire.connect)
    wire.passes.clear()
    with pytest.raises(psycopg.OperationalError):
        loan.raw.execute("SELECT 1")
    lender.give_back(loan)
    assert lender.outage.is_on
    with pytest.raises(Exception, match="does not answer"):
        lender.borrow(wire.connect)
    wire.passes.set()
    until(lambda: not lender.outage.is_on)
    lender.give_back(lender.borrow(wire.connect))


def test_a_server_that_refuses_one_more_is_not_away(lender: Lender):
    loan = lender.borrow(connect)

    def refuse() -> Any:
        raise psycopg.OperationalError("FATAL: sorry, too many clients already")

    with pytest.raises(psycopg.OperationalError):
        lender.borrow(refuse)
    assert not lender.outage.is_on
    lender.give_back(loan)
    assert lender.taken == 0


@pytest.mark.django_db
def test_events_that_were_lost_hide_no_outage(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(lending, "lender", lender)
    own = connection.copy()
    with own.cursor() as cursor:
        cursor.execute(
            "BEGIN; DO $$ BEGIN RAISE INFO 'events' "
            f"USING ERRCODE = '{NEW_EVENTS}'; END $$"
        )
    own.close()
    lender.outage.is_on = True
    with pytest.raises(OperationalError, match="does not answer"):
        own.cursor()
