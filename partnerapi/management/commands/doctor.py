import json
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

from django.conf import settings

from partnerapi.core.commands import CommandWithExamples
from partnerapi.operations.diagnosis import (
    database,
    installation,
    jobs,
    machine,
    server,
    tables,
    trials,
    valkey,
)
from partnerapi.operations.diagnosis.findings import Check, Finding, State, findings
from partnerapi.operations.diagnosis.installation import own_key


class Command(CommandWithExamples):
    help = """Check everything that this installation needs; prints a line per check.

Each problem comes with its remedy. It changes nothing. The exit code is 0 if all is
well, 1 if something needs attention or cannot be determined, 2 if something has
failed. With a separate API key in FIX_KEY it tests that key, and a FIX Logon with it.
With --deep it also runs each `verify`, which read all data; without, it shows their
last results.

examples:
  manage.py doctor
  manage.py doctor --web http://127.0.0.1:8080 --json
  FIX_KEY=service-apikey_… manage.py doctor --comp-id PARTNER001 --deep
"""
    # It says what they would.
    requires_system_checks = []

    def add_arguments(self, parser):
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="print one JSON object"
        )
        parser.add_argument(
            "--web",
            metavar="URL",
            help="one of our web servers, whose /readyz is requested",
        )
        parser.add_argument(
            "--comp-id",
            default="PARTNER001",
            help="the CompID to log on with; default: %(default)s",
        )
        parser.add_argument(
            "--deep", action="store_true", help="also verify the register and the books"
        )

    def handle(self, *, as_json, web, comp_id, deep, **options):
        found = chain.from_iterable(findings(checks(web, comp_id, deep)))
        if as_json:
            found = list(found)
            told = {"checks": [finding_fields(finding) for finding in found]}
            self.stdout.write(json.dumps(told, ensure_ascii=False))
            states = {finding.state for finding in found}
        else:
            states = self.say(found)
        if State.FAILED in states:
            sys.exit(2)
        if states - {State.OK}:
            sys.exit(1)

    def say(self, found: Iterator[Finding]) -> set[State]:
        styles = {
            State.OK: self.style.SUCCESS,
            State.WARNING: self.style.WARNING,
            State.FAILED: self.style.ERROR,
            State.UNKNOWN: self.style.NOTICE,
        }
        states = set()
        for finding in found:
            states.add(finding.state)
            word = styles[finding.state](f"{finding.state:<7}")
            says = finding.says.rstrip(".")
            self.stdout.write(
                f"{word} {finding.check}: {says}. {finding.remedy}".rstrip()
            )
            # What comes after may take its time.
            self.stdout.flush()
        return states


def finding_fields(finding: Finding) -> dict[str, Any]:
    return {
        "check": finding.check,
        "state": finding.state,
        "says": finding.says,
        "remedy": finding.remedy,
        **finding.figures,
    }


def checks(web: str | None, comp_id: str, deep: bool) -> Iterator[Check]:
    yield Check("settings", installation.settings_stand)
    yield Check("secrets", installation.secrets)
    yield Check("statements", installation.statements)
    yield Check("disks", machine.disks)
    if not settings.PARTNER_API_SANDBOX:
        yield Check("backup", machine.backups)
    yield Check("certificate", machine.certificate)
    if web and web.startswith("https://"):
        yield Check("web certificate", partial(machine.web_certificate, web))
    yield Check("web servers", machine.web_servers)
    if not settings.DATABASE_URL:
        return
    yield Check("database", database.database)
    if settings.REPLICA_URL:
        yield Check("replica", database.replica)
    yield Check("clock", database.clock, needs_database=True)
    yield Check("migrations", database.migrations, needs_database=True)
    yield Check("grants", database.grants, needs_database=True)
    if own_key():
        yield Check("pepper", installation.pepper, needs_database=True)
    if not settings.PARTNER_API_SANDBOX:
        yield Check("passkeys", installation.passkeys, needs_database=True)
    yield Check(
        "database certificate", machine.database_certificate, needs_database=True
    )
    yield Check("jobs", jobs.jobs, needs_database=True)
    yield Check("market clock", jobs.market_clock, needs_database=True)
    yield Check("webhooks", jobs.webhooks, needs_database=True)
    yield Check("mail", jobs.mail, needs_database=True)
    yield Check("server", server.server, needs_database=True)
    yield Check("commit", trials.commit, needs_database=True)
    yield Check("room", trials.room, needs_database=True)
    yield Check("triggers", tables.triggers, needs_database=True)
    yield Check("guards", tables.guards, needs_database=True)
    yield Check("indexes", tables.indexes, needs_database=True)
    yield Check("sequences", tables.sequences, needs_database=True)
    yield Check("versions", database.versions, needs_database=True)
    yield Check("valkey", valkey.valkey)
    yield Check("valkey certificate", machine.valkey_certificate)
    yield Check("queue", valkey.queue)
    yield Check("beat", valkey.beats)
    yield Check("acceptor", valkey.acceptors)
    yield Check("worker", trials.worker)
    if own_key():
        yield Check("logon", partial(trials.logon, comp_id))
    if web:
        yield Check("web", partial(trials.web, web.rstrip("/")))
    if deep:
        for kind in ("register", "books", "cash", "market"):
            verify = partial(trials.run_verification, kind)
            yield Check(f"verify {kind}", verify, needs_database=True)
