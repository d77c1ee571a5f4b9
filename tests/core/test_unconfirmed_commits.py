"""Commits that wait for a standby which never comes, on a server of the test's own."""

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from partnerapi.core.database import confirm
from partnerapi.core.postgresql.faults import Fault, OutcomeUnknown, fault_of
from partnerapi.sandbox.rehearsal.clusters import Cluster
from partnerapi.sandbox.run import postgres
from partnerapi.sandbox.run.postgres import ADMINISTRATOR, DATABASE, PORT
from partnerapi.sandbox.run.processes import Processes
from tests.servers import held_directory
from tests.waiting import until

GERMAN = "de_DE.UTF-8"


@pytest.fixture(scope="module", params=["C", GERMAN])
def server(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A primary whose only standby is missing, and which speaks a language."""
    with (
        held_directory() as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        processes = Processes(directory / "processes", lambda name, line: None)
        cluster = Cluster(directory / "cluster", processes)
        if request.param == GERMAN:
            make_german(directory / GERMAN)
            patch.setitem(postgres.ENVIRONMENT, "LOCPATH", str(directory))
        try:
            cluster.make()
            cluster.configure(lc_messages=request.param)
            cluster.start()
            with session(cluster) as administrator:
                administrator.execute("CREATE TABLE kept (number int)")
            cluster.set("synchronous_standby_names", "*")
            yield cluster
        finally:
            processes.stop()
            cluster.remove()


def make_german(place: Path) -> None:
    compiler = shutil.which("localedef")
    if compiler is None:
        pytest.skip("localedef, which makes a German locale, is not on this machine")
    command = [compiler, "-i", "de_DE", "-f", "UTF-8", place]
    made = subprocess.run(command, capture_output=True, check=False)
    if not place.exists():
        pytest.skip(f"no German locale can be made here: {made.stderr.decode()}")


def session(cluster: Cluster) -> psycopg.Connection:
    return psycopg.connect(
        host=str(cluster.private),
        port=PORT,
        user=ADMINISTRATOR,
        dbname=DATABASE,
        autocommit=True,
        options="-c synchronous_commit=local",
    )


@pytest.fixture
def usual(server: Cluster) -> Iterator[BaseDatabaseWrapper]:
    """The usual connection, to that server."""
    own = connection.copy()
    own.settings_dict = own.settings_dict | {
        "HOST": str(server.private), "PORT": PORT, "NAME": DATABASE,
        "USER": ADMINISTRATOR, "PASSWORD": "",
    }  # fmt: skip
    before = connections["default"]
    connections["default"] = own
    try:
        yield own
    finally:
        own.close()
        connections["default"] = before


def insert() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO kept VALUES (%s) RETURNING number", [1])


def in_a_transaction() -> None:
    with transaction.atomic():
        insert()


def in_a_savepoint() -> None:
    with transaction.atomic(), transaction.atomic():
        insert()


@contextmanager
def told(server: Cluster, said: str) -> Iterator[None]:
    """An administrator calls `said` on the session that waits for the standby."""
    statement = f"SELECT {said}(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

    def tell() -> None:
        with session(server) as administrator:
            until(lambda: administrator.execute(statement).fetchall())

    teller = threading.Thread(target=tell)
    teller.start()
    yield
    teller.join()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("said", ["pg_cancel_backend", "pg_terminate_backend"])
@pytest.mark.parametrize("write", [insert, in_a_transaction, in_a_savepoint, confirm])
def test_a_commit_whose_wait_is_cancelled_has_an_unknown_outcome(
    server: Cluster, usual: BaseDatabaseWrapper, write: Callable[[], None], said: str
):
    with told(server, said), pytest.raises(OutcomeUnknown) as caught:
        write()
    assert fault_of(caught.value) is Fault.UNCONFIRMED
    # The next one is judged for itself.
    usual.close_if_unusable_or_obsolete()
    with usual.cursor() as cursor:
        cursor.execute("SELECT 1")


@pytest.mark.django_db(transaction=True)
def test_what_is_done_after_a_commit_is_not_done_where_its_outcome_is_unknown(
    server: Cluster, usual: BaseDatabaseWrapper
):
    done: list[str] = []

    def write() -> None:
        with transaction.atomic():
            insert()
            transaction.on_commit(lambda: done.append("told"))

    with told(server, "pg_cancel_backend"), pytest.raises(OutcomeUnknown):
        write()
    with usual.cursor() as cursor:
        cursor.execute("SET synchronous_commit = local")
    insert()
    assert done == []


@pytest.mark.django_db(transaction=True)
def test_a_commit_that_waits_for_no_standby_is_no_outage(
    server: Cluster, usual: BaseDatabaseWrapper
):
    with usual.cursor() as cursor:
        cursor.execute("SET synchronous_commit = local")
        # Of a role's settings this one would hide what PostgreSQL warns of.
        cursor.execute("SHOW client_min_messages")
        assert cursor.fetchone() == ("warning",)
        cursor.execute("DO $$ BEGIN RAISE WARNING 'of another kind'; END $$")
    in_a_transaction()
    confirm()


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_ends_in_a_commit_leaves_the_outcome_unknown(
    server: Cluster, usual: BaseDatabaseWrapper
):
    ending = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = %s"
    with session(server) as administrator:
        administrator.execute(
            "CREATE OR REPLACE FUNCTION last() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$"
        )
        administrator.execute(
            "CREATE CONSTRAINT TRIGGER last AFTER INSERT ON kept DEFERRABLE "
            "INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION last()"
        )
        teller = threading.Thread(
            target=lambda: until(
                lambda: administrator.execute(ending, ["COMMIT"]).fetchall()
            )
        )
        teller.start()
        with pytest.raises(OutcomeUnknown) as caught:
            in_a_transaction()
        teller.join()
        administrator.execute("DROP FUNCTION last() CASCADE")
    assert fault_of(caught.value) is Fault.AWAY
