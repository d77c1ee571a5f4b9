"""Clusters of PostgreSQL that are copied, recovered and promoted."""

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from partnerapi.sandbox.run.places import (
    ENVIRONMENT,
    START_SECONDS,
    give,
    private_directory,
    server_account,
)
from partnerapi.sandbox.run.postgres import (
    ADMINISTRATOR,
    APPLICATION,
    DATABASE,
    OWNER,
    PORT,
    Postgres,
    administration,
    database_url,
    find_postgres,
    machine_postgres,
    make_cluster,
    runnable_programs,
    start_postgres,
    wheel_postgres,
)
from partnerapi.sandbox.run.processes import POLL_SECONDS, Processes, RunError


class Cluster:
    """A cluster in a directory of its own, with the sandbox's roles and database."""

    def __init__(self, directory: Path, processes: Processes) -> None:
        directory.mkdir()
        self.processes = processes
        self.account = server_account(directory / "servers")
        self.private = private_directory(directory, self.account)
        self.postgres: Postgres = find_postgres(
            self.private, [*machine_postgres(), *wheel_postgres()]
        )
        self.programs = runnable_programs(self.postgres, self.private, self.account)
        self.data = self.private / f"postgresql-{self.postgres.major}"

    def make(self) -> None:
        make_cluster(self.programs, self.data, self.account, self.processes)

    def configure(self, **values: str) -> None:
        """Settings for the next start; those that were made last hold."""
        lines = [f"{name} = '{value}'\n" for name, value in values.items()]
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.writelines(lines)

    def start(self) -> None:
        before = len(self.processes.running)
        start_postgres(
            self.postgres, self.private, self.account, self.processes, durable=True
        )
        self.server = self.processes.running[before]

    def kill(self) -> None:
        """As if its machine had lost its power."""
        self.server.popen.send_signal(signal.SIGQUIT)
        self.server.popen.wait(START_SECONDS)
        self.processes.running.remove(self.server)

    def run(self, program: str, *arguments: str | Path) -> None:
        """Run one of PostgreSQL's programs to its end.

        Raises:
            RunError: it ended with another exit code than 0.
        """
        self.processes.finish(
            self.processes.start(
                program,
                [self.programs / program, *arguments],
                environment=ENVIRONMENT,
                account=self.account,
                quiet=True,
            )
        )

    def address(self) -> list[str]:
        named = f"--username={ADMINISTRATOR}"
        return [f"--host={self.private}", f"--port={PORT}", named]

    def copy(self, source: "Cluster", *options: str) -> None:
        """Become a copy of a cluster that runs, its log included."""
        self.run(
            "pg_basebackup",
            *(*source.address(), f"--pgdata={self.data}"),
            *("--checkpoint=fast", "--wal-method=stream", *options),
        )
        self.run("pg_verifybackup", self.data)

    def take_over(self, backup: "Cluster") -> None:
        """Begin with the files of a backup that was never started."""
        shutil.copytree(backup.data, self.data)
        self.data.chmod(0o700)
        if self.account:
            give(self.data, self.account)

    def empty_file(self, name: str) -> None:
        path = self.data / name
        path.touch()
        if self.account:
            give(path, self.account)

    def ask(self, statement: str) -> str:
        """The first column of the only row, as text."""
        with administration(self.private, DATABASE) as session:
            row = session.execute(statement).fetchone()
        assert row is not None
        return str(row[0])

    def set(self, name: str, value: str) -> None:
        """A setting that holds from now on."""
        with administration(self.private, DATABASE) as session:
            session.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            session.execute("SELECT pg_reload_conf()")

    def await_answer(self, statement: str, answer: str) -> None:
        self.wait_until(lambda: self.ask(statement) == answer, statement)

    def wait_until(self, reached: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not reached():
            if time.monotonic() > deadline:
                raise RunError(f"PostgreSQL did not reach the expected state: {what}")
            time.sleep(POLL_SECONDS)

    @property
    def urls(self) -> dict[str, str]:
        return {
            "DATABASE_URL": database_url(self.private, APPLICATION),
            "DATABASE_OWNER_URL": database_url(self.private, OWNER),
        }

    def remove(self) -> None:
        """Delete everything; its server has ended."""
        shutil.rmtree(self.private, ignore_errors=True)
