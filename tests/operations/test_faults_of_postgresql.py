"""Faults of a PostgreSQL, planted in one of its own, named with what to do, mended."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection

from partnerapi.core.starting import StartRefused
from partnerapi.operations.diagnosis import (
    database,
    machine,
    server,
    tables,
    trials,
)
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.starting import check_prepared
from partnerapi.sandbox.rehearsal.clusters import Cluster
from partnerapi.sandbox.run.places import ENVIRONMENT, START_SECONDS, give
from partnerapi.sandbox.run.postgres import (
    ADMINISTRATOR,
    DATABASE,
    PORT,
    administration,
)
from partnerapi.sandbox.run.processes import Processes
from tests.operations.certificates import new_certificate
from tests.operations.servers_of_their_own import connected_to, manage, with_tables
from tests.servers import held_directory
from tests.system import free_port
from tests.waiting import until

Look = Callable[[], Iterator[Finding]]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with held_directory() as directory:
        yield directory


@pytest.fixture(scope="module")
def cluster(place: Path) -> Iterator[Cluster]:
    with ExitStack() as ended:
        processes = Processes(place / "processes", lambda name, line: None)
        ended.callback(processes.stop)
        cluster = Cluster(place / "primary", processes)
        ended.callback(cluster.remove)
        cluster.make()
        cluster.run("pg_checksums", "--enable", f"--pgdata={cluster.data}")
        cluster.configure(archive_mode="on", archive_command="true")
        cluster.start()
        with_tables(cluster)
        yield cluster


@pytest.fixture
def here(cluster: Cluster, django_db_blocker: Any) -> Iterator[Cluster]:
    with django_db_blocker.unblock(), connected_to(cluster):
        yield cluster


@contextmanager
def administrator(cluster: Cluster, name: str = DATABASE) -> Iterator[Any]:
    with administration(cluster.private, name) as session:
        yield session


def found(look: Look, check: str) -> Finding:
    [one] = [one for one in look() if one.check == check]
    return one


def named(look: Look, check: str, says: str, remedy: str) -> None:
    """`doctor` names the fault, and its exit code shows it."""
    one = found(look, check)

    def reached() -> bool:
        nonlocal one
        one = found(look, check)
        return says in one.says

    until(reached, lambda: one)
    assert one.state in (State.WARNING, State.FAILED), one
    assert remedy in one.remedy, one


def mended(look: Look, check: str) -> None:
    until(lambda: all(one.state is State.OK for one in look() if one.check == check))


@pytest.fixture
def setting(here: Cluster) -> Iterator[Callable[..., None]]:
    before: dict[str, str] = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, here.ask(f"SHOW {name}"))
        here.set(name, value)

    yield change
    for name, value in before.items():
        here.set(name, value)
    # Sessions read it between two statements.
    connection.close()


def test_what_is_well_is_called_well(here: Cluster):
    checks = [
        *server.server(), *tables.triggers(), *tables.guards(), *tables.indexes(),
        *tables.sequences(), *trials.commit(), *trials.room(), *database.versions(),
    ]  # fmt: skip
    assert [one for one in checks if one.state is not State.OK] == []
    assert {one.check for one in checks} >= {
        "durability", "archive", "slots", "vacuum", "transactions", "connections",
        "locks", "checksums", "prepared transactions",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["fsync", "full_page_writes", "synchronous_commit"])
def test_changes_that_a_crash_would_lose(setting: Callable[..., None], name: str):
    setting(name, "off")
    named(server.durability, "durability", name, "Switch fsync, full_page_writes")


def test_a_role_whose_commits_wait_for_no_disk(here: Cluster):
    with administrator(here) as session:
        session.execute(
            "ALTER ROLE partnerapi_application SET synchronous_commit = off"
        )
        connection.close()
        named(server.durability, "durability", "synchronous_commit", "for the role")
        session.execute("ALTER ROLE partnerapi_application RESET synchronous_commit")
    connection.close()
    mended(server.durability, "durability")


def test_a_log_that_does_not_reach_its_archive(
    here: Cluster, setting: Callable[..., None]
):
    setting("archive_command", "false")
    with administrator(here) as session:
        session.execute("SELECT pg_logical_emit_message(FALSE, 'a', 'b')")
        session.execute("SELECT pg_switch_wal()")
        named(server.archive, "archive", "The last attempt to archive", "pg_wal")
        setting("archive_command", "")
        named(server.archive, "archive", "archive_command is empty", "archive_command")
        setting("archive_command", "true")
        mended(server.archive, "archive")


def test_an_archive_command_that_never_ends(
    here: Cluster, setting: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server, "SEGMENTS", 1)
    with administrator(here) as session:
        session.execute("SELECT pg_switch_wal()")
        until(lambda: here.ask(ARCHIVED) != "0")
        here.empty_file("hold")
        setting("archive_command", "while test -e hold; do sleep 0.1; done")
        for _ in range(4):
            session.execute("SELECT pg_logical_emit_message(FALSE, 'a', 'b')")
            session.execute("SELECT pg_switch_wal()")
        named(server.archive, "archive", "segments of the log wait", "archive_command")
        setting("archive_command", "true")
        (here.data / "hold").unlink()


ARCHIVED = "SELECT archived_count FROM pg_stat_archiver"


def test_a_synchronous_standby_that_is_gone(
    here: Cluster, setting: Callable[..., None]
):
    setting("synchronous_standby_names", "FIRST 1 (paris, lyon)")
    named(
        server.synchronous,
        "synchronous standbys",
        "0 of 1 are connected",
        "remove its name from synchronous_standby_names",
    )


def test_a_commit_that_waits_too_long(
    here: Cluster, setting: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(trials, "COMMIT_SECONDS", 0.2)
    setting("synchronous_standby_names", "*")
    named(trials.commit, "commit", "A commit", "synchronous_standby_names")
    assert [one.state for one in trials.room()] == [State.OK]


def test_a_slot_of_a_follower_that_is_gone(here: Cluster):
    with administrator(here) as session:
        session.execute("SELECT pg_create_physical_replication_slot('gone', TRUE)")
        named(server.slots, "slots", "gone (reserved", "pg_drop_replication_slot")
        session.execute("SELECT pg_drop_replication_slot('gone')")
    mended(server.slots, "slots")


def test_tables_that_are_not_vacuumed(here: Cluster, setting: Callable[..., None]):
    setting("autovacuum", "off")
    named(server.vacuum, "vacuum", "autovacuum", "Switch autovacuum")
    setting("autovacuum", "on")
    mended(server.vacuum, "vacuum")
    with administrator(here) as session:
        session.execute("ALTER TABLE issuers_issuer SET (autovacuum_enabled = off)")
        named(server.vacuum, "vacuum", "issuers_issuer", "RESET")
        session.execute("ALTER TABLE issuers_issuer RESET (autovacuum_enabled)")
    mended(server.vacuum, "vacuum")


def test_transaction_ids_that_run_out(here: Cluster, monkeypatch: pytest.MonkeyPatch):
    [(_, age, _)] = server.query_rows(server.AGE)
    monkeypatch.setattr(server, "OLDEST", age - 1)
    named(server.vacuum, "wraparound", "transactions old", "vacuumdb --all --freeze")


def test_a_transaction_of_the_application_that_waits_for_its_client(
    here: Cluster, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.05)
    with psycopg.connect(here.urls["DATABASE_URL"]) as session:
        session.execute("SELECT 1")
        named(
            server.transactions,
            "transactions",
            "idle in transaction",
            "pg_terminate_backend",
        )
    mended(server.transactions, "transactions")


@pytest.mark.parametrize("owner", [True, False])
def test_a_transaction_of_another_role(
    here: Cluster, owner: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(server, "OLD_TRANSACTIONS", -1 if owner else 10)
    session = (
        psycopg.connect(here.urls["DATABASE_OWNER_URL"])
        if owner
        else administration(here.private, DATABASE)
    )
    with session:
        session.autocommit = False
        session.execute("SELECT pg_current_xact_id()")
        named(
            server.transactions, "transactions", "transactions old", "viewer.settledAt"
        )
        session.rollback()
    mended(server.transactions, "transactions")


def test_prepared_transactions(here: Cluster):
    here.configure(max_prepared_transactions="2")
    restart(here)
    try:
        with pytest.raises(StartRefused, match="max_prepared_transactions is 2"):
            check_prepared()
        with psycopg.connect(here.urls["DATABASE_URL"]) as session:
            session.execute("SELECT pg_current_xact_id()")
            session.execute("PREPARE TRANSACTION 'x'")
        named(
            server.prepared_transactions,
            "prepared transactions",
            "1 are prepared",
            "ROLLBACK PREPARED",
        )
        assert server.query_rows(IS_BEFORE) == [(True,)]
        with psycopg.connect(here.urls["DATABASE_URL"], autocommit=True) as session:
            session.execute("ROLLBACK PREPARED 'x'")
        assert server.query_rows(IS_NOW) == [(True,)]
    finally:
        here.configure(max_prepared_transactions="0")
        restart(here)
    mended(server.prepared_transactions, "prepared transactions")
    check_prepared()


IS_BEFORE = "SELECT accounts_settled_at() < min(prepared) FROM pg_prepared_xacts"
IS_NOW = "SELECT clock_timestamp() - accounts_settled_at() < '1 minute'"


def restart(cluster: Cluster) -> None:
    stop(cluster)
    cluster.start()


def stop(cluster: Cluster) -> None:
    connection.close()
    cluster.server.popen.send_signal(signal.SIGINT)
    cluster.server.popen.wait(START_SECONDS)
    cluster.processes.running.remove(cluster.server)


def test_connections_near_their_limit(here: Cluster):
    with administrator(here) as session:
        limit = "ALTER ROLE partnerapi_application CONNECTION LIMIT"
        session.execute(f"{limit} 1")
        named(
            server.connections, "connections", "1 of 1 of the role", "max_connections"
        )
        session.execute(f"{limit} -1")
    mended(server.connections, "connections")
    with ExitStack() as taken:
        for _ in range(170):
            taken.enter_context(psycopg.connect(here.urls["DATABASE_URL"]))
        named(server.connections, "connections", "of the server", "max_connections")
    mended(server.connections, "connections")


def test_a_locked_table(here: Cluster):
    with psycopg.connect(here.urls["DATABASE_OWNER_URL"]) as session:
        session.execute("LOCK TABLE issuers_issuer IN ACCESS EXCLUSIVE MODE")
        named(
            server.locks,
            "locks",
            f"{session.info.backend_pid} (unnamed) holds issuers_issuer",
            "pg_terminate_backend",
        )
    mended(server.locks, "locks")


def test_damaged_pages(here: Cluster):
    with administrator(here) as session:
        session.execute("CREATE TABLE damaged AS SELECT n FROM generate_series(1, 9) n")
        session.execute("CHECKPOINT")
        [(name,)] = session.execute("SELECT pg_relation_filepath('damaged')").fetchall()
    stop(here)
    with (here.data / name).open("r+b") as file:
        file.seek(8000)
        file.write(b"damage")
    here.start()
    broken = pytest.raises(psycopg.Error, match="invalid page")
    with administrator(here) as session, broken:
        session.execute("SELECT * FROM damaged")
    named(server.checksums, "checksums", "1 in partnerapi", "restore damaged data")
    with administrator(here) as session:
        session.execute("SET zero_damaged_pages = on")
        session.execute("DROP TABLE damaged")
        session.execute("SELECT pg_stat_reset()")
    mended(server.checksums, "checksums")


def test_triggers_that_are_switched_off(here: Cluster):
    with administrator(here) as session:
        session.execute("ALTER TABLE issuers_token DISABLE TRIGGER ALL")
        named(tables.triggers, "triggers", "issuers_token", "ENABLE TRIGGER")
        named(tables.guards, "guards", "issuers_token", "restore them")
        session.execute("ALTER TABLE issuers_token ENABLE TRIGGER ALL")
    mended(tables.triggers, "triggers")
    mended(tables.guards, "guards")


def test_an_index_that_was_not_finished(here: Cluster):
    with administrator(here) as session:
        with pytest.raises(psycopg.errors.UniqueViolation):
            session.execute(
                "CREATE UNIQUE INDEX CONCURRENTLY unfinished ON accounts_country ((1))"
            )
        named(tables.indexes, "indexes", "unfinished", "REINDEX INDEX CONCURRENTLY")
        session.execute("DROP INDEX unfinished")
    mended(tables.indexes, "indexes")


def test_a_sequence_near_its_end(here: Cluster):
    name = "partnerapi_jobrun_id_seq"
    with administrator(here) as session:
        [(before,)] = session.execute(f"SELECT last_value FROM {name}").fetchall()
        session.execute(f"SELECT setval('{name}', 9000000000000000000)")
        named(tables.sequences, "sequences", f"{name} (98% used)", "ALTER SEQUENCE")
        session.execute(f"SELECT setval('{name}', {before}, FALSE)")
        mended(tables.sequences, "sequences")
        session.execute(f"REVOKE SELECT ON {name} FROM partnerapi_application")
        [one] = tables.sequences()
        assert (one.state, name in one.says) == (State.UNKNOWN, True)
        assert "grant_application_role" in one.remedy
        session.execute(f"GRANT SELECT ON {name} TO partnerapi_application")


def test_a_certificate_of_postgresql_that_ends_soon(
    place: Path, django_db_blocker: Any
):
    with ExitStack() as ended:
        processes = Processes(place / "secured-processes", lambda name, line: None)
        ended.callback(processes.stop)
        secured = Cluster(place / "secured", processes)
        ended.callback(secured.remove)
        secured.make()
        port = free_port()
        renew(secured, days=3)
        server = processes.start(
            "postgres",
            [
                *(secured.programs / "postgres", "-D", secured.data, "-c", "ssl=on"),
                *("-c", "ssl_cert_file=chain.pem", "-c", "ssl_key_file=key.pem"),
                *("-c", f"port={port}", "-c", "listen_addresses=127.0.0.1"),
                *("-c", f"unix_socket_directories={secured.private}"),
            ],
            environment=ENVIRONMENT,
            account=secured.account,
            stop_signal=signal.SIGINT,
            is_server=True,
        )
        there = {"HOST": "127.0.0.1", "PORT": str(port)}
        role = {"NAME": ADMINISTRATOR, "USER": ADMINISTRATOR}
        with django_db_blocker.unblock(), connected_to(secured, **there, **role):
            processes.wait_until(answers, server, START_SECONDS)
            look, check = machine.database_certificate, "database certificate"
            named(look, check, "It is only valid until", "ssl_cert_file")
            renew(secured, days=60)
            server.popen.send_signal(signal.SIGHUP)
            mended(look, check)
            assert found(look, check).state is State.OK


def renew(cluster: Cluster, days: float) -> None:
    for path in new_certificate(cluster.data, days).values():
        Path(path).chmod(0o600)
        if cluster.account:
            give(Path(path), cluster.account)


def answers() -> bool:
    try:
        connection.ensure_connection()
    except OperationalError:
        return False
    return True


def test_a_connection_without_tls_shows_no_certificate(here: Cluster):
    assert list(machine.database_certificate()) == []


@pytest.mark.parametrize(
    ("name", "states"), [("one", [State.UNKNOWN]), ("pg_basebackup", [])]
)
def test_a_standby_whose_delay_is_not_shown(
    here: Cluster, settings: Any, name: str, states: list[State]
):
    settings.REPLICA_URL = ""
    with following(here, name):
        here.await_answer(FOLLOWERS, "1")
        assert [one.state for one in server.standbys()] == states
        settings.REPLICA_URL = here.urls["DATABASE_URL"]
        assert list(server.standbys()) == []
        settings.REPLICA_URL = ""
        with administrator(here) as session:
            session.execute("GRANT pg_read_all_stats TO partnerapi_application")
            assert list(server.standbys()) == []
            session.execute("REVOKE pg_read_all_stats FROM partnerapi_application")


FOLLOWERS = "SELECT count(*) FROM pg_stat_replication"


@contextmanager
def following(cluster: Cluster, name: str) -> Iterator[None]:
    """A follower of this name, which is sent the log."""
    collector = cluster.processes.start(
        "pg_receivewal",
        [
            *(cluster.programs / "pg_receivewal", "--no-loop"),
            *("--directory", cluster.private),
            *("--dbname", f"application_name={name} user={ADMINISTRATOR}"),
            *("--host", cluster.private, "--port", str(PORT)),
        ],
        environment=ENVIRONMENT,
        account=cluster.account,
    )
    try:
        yield
    finally:
        cluster.processes.stop([collector])


def test_processes_of_two_releases(here: Cluster):
    for name in ("web", "worker@0000000 of-a-request"):
        with psycopg.connect(here.urls["DATABASE_URL"], application_name=name):
            named(database.versions, "versions", name.partition("@")[0], "Restart")
    mended(database.versions, "versions")


@pytest.mark.parametrize("kind", ["application", "backup", "read-only"])
def test_rights_are_given_beside_an_extension_of_another_owner(
    here: Cluster, kind: str
):
    role = "partnerapi_application" if kind == "application" else "partnerapi_reader"
    with administrator(here) as session:
        session.execute("CREATE EXTENSION pg_stat_statements SCHEMA public")
    try:
        said = manage(here, "grant_application_role", role, "--as", kind, "--apply")
        assert f"has exactly the rights of {kind}" in said
        [one] = database.grants()
        assert one.state is State.OK, one
    finally:
        with administrator(here) as session:
            session.execute("DROP EXTENSION pg_stat_statements")
