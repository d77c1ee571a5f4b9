"""One run of the benchmark: install, make rows, start servers, print tables."""

import argparse
import os
import platform
import subprocess
from pathlib import Path

import django
import psutil
from django.db import connection
from rich.console import Console

from accounts.access import Scope
from accounts.keys.models import Partner
from issuers.models import Issuer
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.sandbox.run.processes import RunError, take_lock
from tests.benchmarks.graphql import caches, comparison, costs, inside, rows
from tests.benchmarks.graphql.comparison import Effort
from tests.benchmarks.graphql.installs import (
    ENVIRONMENTS,
    GRANIAN,
    POSTGRAPHILE,
    cache_directory,
    install,
)
from tests.benchmarks.graphql.servers import (
    Server,
    django_peer,
    end_leftovers,
    postgraphile,
    product_on_granian,
    product_on_gunicorn,
    running,
)

LENGTHS = (200, 1000)


class Benchmark:
    """What `options` ask for, printed on a console.

    Raises:
        InstallError, RunError, WrongAnswer: what ended it.
    """

    def __init__(self, options: argparse.Namespace, console: Console) -> None:
        self.options = options
        self.console = console
        self.directory = options.directory or cache_directory()
        self.page = (options.first, options.nested)
        self.effort = Effort(options.rounds, options.seconds, options.connections)

    def run(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        # One run at a time: two would measure each other.
        with take_lock(self.directory):
            end_leftovers(self.directory)
            self.print_tables()

    def print_tables(self) -> None:
        if Issuer.objects.exists():
            raise RunError(
                "DATABASE_URL names a database that has issuers; leave it unset, or "
                "name an empty database that may be filled"
            )
        self.installed = install(self.directory, self.console.print)
        partner = Partner.objects.create(login="benchmark", name="Benchmark")
        self.key = approved_key(partner, list(Scope))[1]
        self.describe()
        tables = self.options.tables
        if "lengths" in tables:
            self.lengths()
        else:
            rows.add_issuers(1, self.options.issuers)
            rows.analyze()
        if {"compare", "sizes", "inside"} & set(tables):
            self.with_everybody()
        if "processes" in tables:
            self.processes()
        # It leaves other figures behind, so it comes after the tables that count them.
        if "nesting" in tables:
            self.nesting()
        if "caches" in tables:
            self.console.print(caches.storm(self.key, self.options.documents))

    def with_everybody(self) -> None:
        threads, installed = self.options.threads, self.installed
        with running(
            self.directory,
            django_peer("graphene-django", threads, installed),
            django_peer("strawberry-django", threads, installed),
            postgraphile(installed),
            product_on_gunicorn(self.key, threads),
            product_on_granian(self.key, threads, installed),
        ) as servers:
            *_, graphile, gunicorn, granian = servers
            if "compare" in self.options.tables:
                self.compare(servers)
            if "sizes" in self.options.tables:
                some = [gunicorn, granian, graphile]
                self.console.print(costs.page_sizes(some, self.page[1], self.effort))
            if "inside" in self.options.tables:
                answers = int(100 * self.options.seconds)
                self.console.print(
                    inside.stages(self.key, gunicorn.port, *self.page, answers)
                )

    def compare(self, servers: list[Server]) -> None:
        comparison.check_no_answer_is_kept(servers, *self.page)
        measured = comparison.measure(servers, *self.page, self.effort, "comparison")
        first, nested = self.page
        title = (
            f"first: {first} × first: {nested} of {self.options.issuers:,} issuers, "
            f"{self.options.connections} connections, one process each, "
            f"{self.options.rounds} rounds of {self.options.seconds:g} s"
        )
        self.console.print(comparison.table(measured, title))
        self.console.print(
            "Every answer was 200 and held what plain SQL finds; a changed row showed "
            "in the next answer of each.\n"
        )

    def processes(self) -> None:
        plans = [
            product_on_gunicorn(self.key, self.options.threads, workers)
            for workers in (1, 2)
        ]
        with running(self.directory, *plans) as servers:
            self.console.print(costs.processes(servers, *self.page, self.effort))

    def lengths(self) -> None:
        whole = self.options.issuers
        lengths = [*(each for each in LENGTHS if each < whole), whole]
        # A server is asked for an issuer before it counts as ready.
        rows.add_issuers(1, 1)
        with running(
            self.directory, product_on_gunicorn(self.key, self.options.threads)
        ) as [server]:
            self.console.print(
                costs.list_lengths(server, lengths, *self.page, self.effort)
            )

    def nesting(self) -> None:
        with running(
            self.directory,
            product_on_gunicorn(self.key, self.options.threads),
            postgraphile(self.installed),
        ) as servers:
            self.console.print(costs.nesting(servers, self.effort))

    def describe(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SHOW server_version")
            [version] = cursor.fetchone()
        memory = psutil.virtual_memory().total / 2**30
        peers = {package for each in ENVIRONMENTS.values() for package in each}
        self.console.print(
            f"{os.cpu_count()} cores ({processor()}), {memory:.0f} GiB, "
            f"load {os.getloadavg()[0]:.1f}; PostgreSQL {version}, "
            f"Python {platform.python_version()}, Django {django.__version__}, "
            f"{', '.join(sorted(peers))}, {GRANIAN}, {POSTGRAPHILE}, "
            f"commit {commit()}\n",
            highlight=False,
        )


def processor() -> str:
    """The processor's name as Linux reports it, else its family."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit() -> str:
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or "unknown"
