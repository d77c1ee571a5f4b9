"""Faults of an installation: how each is planted, and how `doctor` names it."""

import os
import shutil
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from partnerapi.sandbox.run.places import START_SECONDS
from partnerapi.sandbox.run.postgres import APPLICATION
from tests.operations.certificates import new_certificate
from tests.operations.living import (
    ALL_SENT,
    NO_STAFF_WORK,
    Living,
    Part,
    filled,
    mounted,
    unmount,
)
from tests.operations.servers_of_their_own import manage
from tests.system import free_port, limited
from tests.waiting import until

ONE_OF_STAFF_WORKS = """
    UPDATE accounts_user SET is_active = TRUE WHERE id = (
        SELECT id FROM accounts_user WHERE is_staff ORDER BY id LIMIT 1
    )
"""

Plant = Callable[[Living], Iterator[Mapping[str, str] | None]]


@dataclass(frozen=True)
class Fault:
    """Its context plants a fault, and yields the environment variables for `doctor`, if
    there are any."""

    plant: Callable[[Living], AbstractContextManager[Mapping[str, str] | None]]
    check: str
    says: str
    remedy: str
    needs_disk: bool

    def found(self, checks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Of what `doctor` found, what names the fault with its remedy."""
        return [
            one
            for one in checks
            if one["check"].startswith(self.check)
            and one["state"] != "ok"
            and self.says in one["says"]
            and self.remedy in one["remedy"]
        ]


FAULTS: dict[str, Fault] = {}
NEEDS_DISK = "only root may mount a small disk"


def named(
    check: str, says: str, remedy: str, needs_disk: bool = False
) -> Callable[[Plant], Plant]:
    """What `doctor` calls a fault, and what it says that an operator does."""

    def kept(plant: Plant) -> Plant:
        name = plant.__name__  # type: ignore[attr-defined]
        FAULTS[name] = Fault(contextmanager(plant), check, says, remedy, needs_disk)
        return plant

    return kept


# PostgreSQL's answers


@contextmanager
def frozen(processes: list[psutil.Process]) -> Iterator[None]:
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def postmaster(living: Living) -> list[psutil.Process]:
    leader = psutil.Process(living.primary.server.popen.pid)
    return [leader, *leader.children(recursive=True)]


@named("database", "does not answer", "can be reached")
def postgresql_stands_still(living: Living) -> Iterator[None]:
    with frozen(postmaster(living)):
        yield


@named("database", "does not answer", "can be reached")
def postgresql_was_killed(living: Living) -> Iterator[None]:
    living.primary.kill()
    yield
    living.primary.start()


@named("database", "does not answer", "can be reached")
def the_network_swallows_everything(living: Living) -> Iterator[Mapping[str, str]]:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        yield {"DATABASE_URL": f"postgres://{APPLICATION}:right@{host}/partnerapi"}


@named("database", "does not answer", "can be reached")
def its_name_is_unknown(living: Living) -> Iterator[Mapping[str, str]]:
    url = f"postgres://{APPLICATION}:right@db.invalid:5432/partnerapi"
    with restarted(living, DATABASE_URL=url):
        yield {"DATABASE_URL": url}


@contextmanager
def restarted(living: Living, **other: str) -> Iterator[None]:
    """All parts with other settings, and afterwards as they were."""
    usual = {name: part.environment for name, part in living.parts.items()}
    for more in (other, {}):
        for name, part in living.parts.items():
            part.stop()
            part.environment = {**usual[name], **more}
            part.start()
        if more:
            yield


@named("database", "PostgreSQL refuses the role", "its password")
def its_password_is_wrong(living: Living) -> Iterator[None]:
    rules = living.primary.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"local all {APPLICATION} scram-sha-256\n{before}")
    with living.administrator() as session:
        session.execute(f"ALTER ROLE {APPLICATION} PASSWORD 'another'")
        session.execute("SELECT pg_reload_conf()")
        end_sessions(session)
        yield
        rules.write_text(before)
        session.execute(f"ALTER ROLE {APPLICATION} PASSWORD 'right'")
        session.execute("SELECT pg_reload_conf()")


def end_sessions(session: Any) -> None:
    session.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s",
        [APPLICATION],
    )


@named("database", "it is read-only", "default_transaction_read_only")
def it_only_reads(living: Living) -> Iterator[None]:
    with setting(living, default_transaction_read_only="on"):
        yield


@contextmanager
def setting(living: Living, **values: str) -> Iterator[None]:
    with living.administrator() as session:
        for name, value in values.items():
            session.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        session.execute("SELECT pg_reload_conf()")
    yield
    with living.administrator() as session:
        for name in values:
            session.execute(f"ALTER SYSTEM RESET {name}")
        session.execute("SELECT pg_reload_conf()")


@named("room", "PostgreSQL cannot write", "disk space", needs_disk=True)
def its_disk_is_full(living: Living) -> Iterator[None]:
    with filled(living.disk):
        yield


@contextmanager
def statement(living: Living, planted: str, mended: str) -> Iterator[None]:
    with living.administrator() as session:
        session.execute(planted)
        yield
        session.execute(mended)


@named("grants", "lacks SELECT accounts_account", "grant_application_role")
def a_right_was_taken_away(living: Living) -> Iterator[None]:
    right = "SELECT ON accounts_account"
    with statement(
        living, f"REVOKE {right} FROM {APPLICATION}", f"GRANT {right} TO {APPLICATION}"
    ):
        yield


@named("locks", "holds accounts_account", "pg_terminate_backend")
def a_table_is_locked(living: Living) -> Iterator[None]:
    with psycopg.connect(living.primary.urls["DATABASE_OWNER_URL"]) as session:
        session.execute("LOCK TABLE accounts_account IN ACCESS EXCLUSIVE MODE")
        yield
        session.rollback()


@named("transactions", "idle in transaction since", "pg_terminate_backend")
def a_transaction_waits_for_its_client(living: Living) -> Iterator[None]:
    with psycopg.connect(living.primary.urls["DATABASE_URL"]) as session:
        session.execute("SELECT 1")
        time.sleep(16)
        yield
        session.rollback()


# What PostgreSQL's administrator set up


@named("durability", "synchronous_commit off", "for the role and the database")
def commits_wait_for_no_disk(living: Living) -> Iterator[None]:
    with setting(living, synchronous_commit="off"):
        yield


@named("durability", "full_page_writes off", "full_page_writes")
def pages_may_be_torn(living: Living) -> Iterator[None]:
    with setting(living, full_page_writes="off"):
        yield


@named("archive", "The last attempt to archive failed", "archive_command")
def the_log_does_not_reach_its_archive(living: Living) -> Iterator[None]:
    failed = "SELECT failed_count FROM pg_stat_archiver"
    before = living.primary.ask(failed)
    living.primary.set("archive_command", "false")
    with living.administrator() as session:
        switch(session)
        until(lambda: living.primary.ask(failed) != before)
    yield
    living.primary.set("archive_command", "true")
    living.primary.await_answer(ARCHIVES, "True")


ARCHIVES = "SELECT last_archived_time > last_failed_time FROM pg_stat_archiver"


def switch(session: Any) -> None:
    session.execute("SELECT pg_logical_emit_message(FALSE, 'a', 'b')")
    session.execute("SELECT pg_switch_wal()")


@named("vacuum", "Autovacuum is switched off", "Switch autovacuum")
def nothing_is_vacuumed(living: Living) -> Iterator[None]:
    with setting(living, autovacuum="off"):
        yield


@named("prepared transactions", "1 are prepared", "ROLLBACK PREPARED")
def a_transaction_is_prepared(living: Living) -> Iterator[None]:
    living.primary.set("max_prepared_transactions", "2")
    restart(living)
    with psycopg.connect(living.primary.urls["DATABASE_URL"]) as session:
        session.execute("SELECT pg_current_xact_id()")
        session.execute("PREPARE TRANSACTION 'x'")
    yield
    with psycopg.connect(
        living.primary.urls["DATABASE_URL"], autocommit=True
    ) as session:
        session.execute("ROLLBACK PREPARED 'x'")
    living.primary.set("max_prepared_transactions", "0")
    restart(living)


def restart(living: Living) -> None:
    server = living.primary.server
    server.popen.send_signal(signal.SIGINT)
    server.popen.wait(START_SECONDS)
    living.primary.processes.running.remove(server)
    living.primary.start()


@named("connections", "of the role", "Raise max_connections")
def connections_are_near_their_limit(living: Living) -> Iterator[None]:
    with living.administrator() as session, ExitStack() as taken:
        session.execute(f"ALTER ROLE {APPLICATION} CONNECTION LIMIT 100")
        with suppress(psycopg.OperationalError):
            for _ in range(80):
                taken.enter_context(
                    psycopg.connect(living.primary.urls["DATABASE_URL"])
                )
        yield
        session.execute(f"ALTER ROLE {APPLICATION} CONNECTION LIMIT -1")


# What its data has become


@named("wraparound", "transactions old", "vacuumdb --all --freeze")
def transaction_ids_run_out(living: Living) -> Iterator[None]:
    """By the lowest limit that PostgreSQL takes, twice which are soon spent."""
    living.primary.set("autovacuum_freeze_max_age", "100000")
    restart(living)
    with living.administrator() as holds, living.administrator() as session:
        holds.autocommit = False
        holds.execute("SELECT pg_current_xact_id()")
        session.execute("CREATE TEMPORARY TABLE spent (n int)")
        session.execute(SPEND)
        yield
        holds.rollback()
        session.execute("DROP TABLE spent")
    living.primary.run(
        "vacuumdb", *living.primary.address(), "--all", "--freeze", "--quiet"
    )
    living.primary.set("autovacuum_freeze_max_age", "200000000")
    restart(living)


SPEND = """
    DO $$ BEGIN FOR n IN 1..201000 LOOP
        BEGIN INSERT INTO spent VALUES (n); EXCEPTION WHEN division_by_zero THEN END;
    END LOOP; END $$
"""


@named("indexes", "unfinished", "REINDEX INDEX CONCURRENTLY")
def an_index_is_invalid(living: Living) -> Iterator[None]:
    with living.administrator() as session:
        with suppress(psycopg.errors.UniqueViolation):
            session.execute(
                "CREATE UNIQUE INDEX CONCURRENTLY unfinished ON django_migrations ((1))"
            )
        yield
        session.execute("DROP INDEX unfinished")


@named("checksums", "1 in partnerapi", "restore damaged data")
def a_page_is_damaged(living: Living) -> Iterator[None]:
    with living.administrator() as session:
        session.execute("CREATE TABLE damaged AS SELECT n FROM generate_series(1, 9) n")
        session.execute("CHECKPOINT")
        [(name,)] = session.execute("SELECT pg_relation_filepath('damaged')").fetchall()
    restart(living)
    with (living.primary.data / name).open("r+b") as file:
        file.seek(8000)
        file.write(b"damage")
    with living.administrator() as session:
        with suppress(psycopg.errors.DataCorrupted):
            session.execute("SELECT * FROM damaged")
        yield
        session.execute("SET zero_damaged_pages = on")
        session.execute("DROP TABLE damaged")
        session.execute("SELECT pg_stat_reset()")


SEQUENCE = "partnerapi_jobrun_id_seq"


@contextmanager
def sequence_at(living: Living, value: int) -> Iterator[None]:
    before = living.primary.ask(f"SELECT last_value FROM {SEQUENCE}")
    with statement(
        living,
        f"SELECT setval('{SEQUENCE}', {value})",
        f"SELECT setval('{SEQUENCE}', {before})",
    ):
        yield


@named("sequences", f"{SEQUENCE} (98% used)", "ALTER SEQUENCE")
def a_sequence_is_near_its_end(living: Living) -> Iterator[None]:
    with sequence_at(living, 9_000_000_000_000_000_000):
        yield


@named("sequences", f"{SEQUENCE} (100% used)", "the job that writes it")
def each_job_fails_as_its_sequence_is_at_its_end(living: Living) -> Iterator[None]:
    with sequence_at(living, 2**63 - 1):
        yield


@named("sequences", "may not read", "grant_application_role")
def a_sequence_cannot_be_looked_at(living: Living) -> Iterator[None]:
    right = f"SELECT ON {SEQUENCE}"
    with statement(
        living, f"REVOKE {right} FROM {APPLICATION}", f"GRANT {right} TO {APPLICATION}"
    ):
        yield


@named("triggers", "on issuers_ledgerposting", "ENABLE TRIGGER")
def triggers_of_the_ledger_are_off(living: Living) -> Iterator[None]:
    change = "ALTER TABLE issuers_ledgerposting {} TRIGGER ALL"
    with statement(living, change.format("DISABLE"), change.format("ENABLE")):
        yield


@named("migrations", "1 are not applied", "manage.py migrate")
def a_migration_is_missing(living: Living) -> Iterator[None]:
    with living.administrator() as session:
        [row] = session.execute(
            "DELETE FROM django_migrations WHERE id = (SELECT max(id) FROM"
            " django_migrations) RETURNING app, name, applied"
        ).fetchall()
        yield
        session.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, %s)",
            row,
        )


# Standbys


@named("synchronous standbys", "0 of 1 are connected", "synchronous_standby_names")
def a_synchronous_standby_is_gone(living: Living) -> Iterator[None]:
    with setting(living, synchronous_standby_names="*"):
        living.standby.kill()
        yield
        living.standby.start()
        living.primary.await_answer(FOLLOWERS, "1")


FOLLOWERS = "SELECT count(*) FROM pg_stat_replication"


@named("replica", "The standby does not answer", "REPLICA_URL")
def the_standby_has_ended(living: Living) -> Iterator[None]:
    living.standby.kill()
    yield
    living.standby.start()
    living.primary.await_answer(FOLLOWERS, "1")


@named("slots", "gone (", "pg_drop_replication_slot")
def a_slot_keeps_the_log_for_none(living: Living) -> Iterator[None]:
    with statement(
        living,
        "SELECT pg_create_physical_replication_slot('gone', TRUE)",
        "SELECT pg_drop_replication_slot('gone')",
    ):
        yield


@named("replica", "replays 3600000 ms late", "recovery_min_apply_delay")
def the_standby_is_an_hour_behind(living: Living) -> Iterator[None]:
    living.standby.set("recovery_min_apply_delay", "1h")
    yield
    living.standby.set("recovery_min_apply_delay", "0")


@named("replica", "Its replay is paused", "pg_wal_replay_resume")
def the_standby_has_paused(living: Living) -> Iterator[None]:
    living.standby.ask("SELECT pg_wal_replay_pause()")
    yield
    living.standby.ask("SELECT pg_wal_replay_resume()")


@named("replica", "no WAL receiver", "primary_conninfo")
def the_wal_receiver_has_ended(living: Living) -> Iterator[None]:
    receivers = "SELECT count(*) FROM pg_stat_wal_receiver"
    before = living.standby.ask("SHOW primary_conninfo").replace("'", "''")
    living.standby.set("primary_conninfo", "")
    living.standby.await_answer(receivers, "0")
    yield
    living.standby.set("primary_conninfo", before)
    living.standby.await_answer(receivers, "1")


@named("replica", "bytes behind", "its processors and the network")
def the_wal_receiver_stands_still(living: Living) -> Iterator[Mapping[str, str]]:
    leader = psutil.Process(living.standby.server.popen.pid)
    receiver = [c for c in leader.children() if "walreceiver" in c.cmdline()[0]]
    with frozen(receiver), living.administrator() as session:
        session.execute("SELECT pg_logical_emit_message(TRUE, 'a', 'b')")
        time.sleep(1.5)
        yield limited(PARTNER_API_REPLICA_LAG=1)
    living.primary.await_answer(FOLLOWERS, "1")


# Valkey, and those who work by it


@named("valkey", "Valkey does not answer", "REDIS_URL")
def valkey_stands_still(living: Living) -> Iterator[None]:
    with frozen([psutil.Process(living.valkey.popen.pid)]):
        yield


@named("valkey", "Valkey keeps nothing", "Put its password into REDIS_URL")
def valkey_asks_for_a_password(living: Living) -> Iterator[None]:
    with living.valkey_administrator() as client:
        client.config_set("requirepass", "secret")
        client.client_kill_filter(_type="normal", skipme=True)
        yield
        client.config_set("requirepass", "")


@named("valkey", "Valkey keeps nothing", "Raise maxmemory")
def valkey_is_full(living: Living) -> Iterator[None]:
    with living.valkey_administrator() as client:
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


@named("valkey", "Valkey keeps nothing", "must name the primary")
def valkey_became_a_replica(living: Living) -> Iterator[None]:
    with living.valkey_administrator() as client:
        client.replicaof("127.0.0.1", 1)
        yield
        client.replicaof("NO", "ONE")


@contextmanager
def ended(part: Part) -> Iterator[None]:
    part.stop()
    yield
    part.start()


@named("worker", "No worker has taken a task", "celery --app=partnerapi worker")
def the_worker_has_ended(living: Living) -> Iterator[None]:
    with ended(living.parts["worker"]):
        yield


@named("worker", "No worker has taken a task", "celery --app=partnerapi worker")
def the_worker_stands_still(living: Living) -> Iterator[None]:
    with frozen(living.parts["worker"].family()):
        yield


@named("queue", "tasks are waiting, the oldest for", "Start a worker, or more of them")
def the_queue_only_grows(living: Living) -> Iterator[None]:
    with ended(living.parts["worker"]):
        time.sleep(62)
        yield


@named("beat", "no job starts", "celery --app=partnerapi beat")
def beat_has_ended(living: Living) -> Iterator[None]:
    with ended(living.parts["beat"]):
        until(lambda: any("no job starts" in one for one in living.attention()))
        yield


@named("beat", "2 beats start each job", "End all but one")
def there_are_two_beats(living: Living) -> Iterator[None]:
    first = living.parts["beat"]
    command = [*first.command[:-1], str(living.place / "another-schedule")]
    other = Part(command, first.environment, living.place / "another-beat.log")
    until(lambda: any("2 beats" in one for one in living.attention()), pause=0.5)
    yield
    other.stop()


@named("market clock", "No clock has moved the markets", "run_market_clock")
def the_market_clock_has_ended(living: Living) -> Iterator[None]:
    with ended(living.parts["clock"]):
        until(lambda: any("No clock has moved" in one for one in living.attention()))
        yield


NEW_ENDPOINT = """
    INSERT INTO partnerapi_webhookendpoint (id, key_id, url, sealed_secrets, position)
    SELECT gen_random_uuid(), id, 'https://partner.invalid/', '', 0
    FROM accounts_apikey LIMIT 1
"""


@named("webhooks", "No process sends webhooks", "run_webhooks")
def the_sender_of_webhooks_has_ended(living: Living) -> Iterator[None]:
    mended = "DELETE FROM partnerapi_webhookendpoint"
    with ended(living.parts["webhooks"]), statement(living, NEW_ENDPOINT, mended):
        until(lambda: any("No process sends" in one for one in living.attention()))
        yield


@named("logon", "", "run_fix_acceptor")
def the_acceptor_has_ended(living: Living) -> Iterator[None]:
    with ended(living.parts["acceptor"]):
        yield


@named("web", "does not answer", "gunicorn")
def the_web_server_has_ended(living: Living) -> Iterator[None]:
    with ended(living.parts["web"]):
        yield


@named("versions", "web of 0000000", "Restart the processes of the old release")
def versions_are_mixed(living: Living) -> Iterator[None]:
    url = living.primary.urls["DATABASE_URL"]
    with psycopg.connect(url, application_name="web@0000000"):
        yield


# This machine and its settings


@named("backup", "The newest backup in", "make one now")
def the_last_backup_is_two_days_old(living: Living) -> Iterator[None]:
    old = time.time() - 2 * 86_400
    os.utime(living.backup, (old, old))
    yield
    living.backup.touch()


@named("certificate", "It is valid until", "SIGHUP")
def the_certificate_of_fix_ends_soon(living: Living) -> Iterator[None]:
    new_certificate(living.place, days=3)
    living.parts["acceptor"].process.send_signal(signal.SIGHUP)
    yield
    new_certificate(living.place, days=60)
    living.parts["acceptor"].process.send_signal(signal.SIGHUP)


@named("web certificate", "It is valid until", "certbot renew")
def the_certificate_of_the_proxy_ends_soon(
    living: Living,
) -> Iterator[Mapping[str, str]]:
    directory = living.place / "proxy"
    directory.mkdir()
    made = new_certificate(directory, days=3)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made["FIX_TLS_CERTIFICATE"], made["FIX_TLS_KEY"])
    raw = socket.create_server(("127.0.0.1", 0))
    port = raw.getsockname()[1]
    with context.wrap_socket(raw, server_side=True) as server:
        closing = threading.Event()

        def shake_hands() -> None:
            while not closing.is_set():
                with suppress(OSError):
                    server.accept()[0].close()

        thread = threading.Thread(target=shake_hands)
        thread.start()
        yield {"WEB": f"https://127.0.0.1:{port}"}
        closing.set()
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
        thread.join()
    shutil.rmtree(directory)


@named("statements", "PARTNER_API_STATEMENT_KEY is not set", "as the page Settings")
def the_key_of_statements_is_missing(living: Living) -> Iterator[Mapping[str, str]]:
    yield {"PARTNER_API_STATEMENT_KEY": ""}


@named("passkeys", "DOMAIN is localhost: no one can sign", "host name under which")
def passkeys_are_bound_to_no_host(living: Living) -> Iterator[Mapping[str, str]]:
    yield {"PARTNER_API_PASSKEY_DOMAIN": "localhost"}


@named("passkeys", "1 who may decide have no passkey", "the page Passkeys")
def who_may_decide_cannot_sign(living: Living) -> Iterator[None]:
    with living.administrator() as session:
        session.execute(ONE_OF_STAFF_WORKS)
        yield None
        session.execute(NO_STAFF_WORK)


@named("secret SECRET_KEY", "can be guessed", "token_urlsafe")
def the_secret_can_be_guessed(living: Living) -> Iterator[Mapping[str, str]]:
    yield {"SECRET_KEY": "aaaaabbbbb" * 10}


@named("pepper", "is refused", "PARTNER_API_KEY_PEPPER")
def the_pepper_is_another(living: Living) -> Iterator[Mapping[str, str]]:
    yield {"PARTNER_API_KEY_PEPPER": "another0123456789" * 4}


@named("settings", "DEBUG is set but no longer used", "Unset DEBUG")
def pages_tell_of_the_code(living: Living) -> Iterator[Mapping[str, str]]:
    yield {"DEBUG": "true"}


@named("disk", "0.0 GiB are free", "logs and old releases", needs_disk=True)
def the_disk_of_the_state_directory_is_full(
    living: Living,
) -> Iterator[Mapping[str, str]]:
    place = Path(living.environment["PARTNER_API_DIRECTORY"])
    assert mounted(place, "4m")
    with filled(place):
        yield {}
    unmount(place)


@named("web servers", "all serve port", "kill -TERM")
def two_web_servers_share_a_port(living: Living) -> Iterator[None]:
    port = free_port()
    command = ["-m", "gunicorn", "partnerapi.wsgi", "--reuse-port"]
    command += ["--no-control-socket", "--bind", f"127.0.0.1:{port}"]
    log = living.place / "shared.log"
    both = [Part(command, living.environment, log) for _ in range(2)]
    until(lambda: any(f"serve port {port}" in one for one in living.attention()))
    yield
    for part in both:
        part.stop()


@named("mail", "e-mails are waiting", "server of EMAIL_URL")
def the_mail_server_is_down(living: Living) -> Iterator[None]:
    unsent = "FROM accounts_staffnotice WHERE sent_at IS NULL AND error <> ''"
    manage(
        living.primary,
        *("shell", "--verbosity", "0", "-c", HIRE.format(f"{time.time()}@example.com")),
        environment=living.environment,
    )
    until(lambda: living.primary.ask(f"SELECT count(*) > 0 {unsent}") == "True")
    yield
    with living.administrator() as session:
        session.execute(ALL_SENT)


HIRE = """
from accounts.people.models import User
from partnerapi.core.owner import owner_alias
named = {{"type": "INDIVIDUAL", "first_name": "Ada", "last_name": "Ek"}}
User.objects.db_manager(owner_alias()).create_superuser("{}", "a long word", **named)
"""
