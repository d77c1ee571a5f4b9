"""Loses a database in every way that a backup is for, and looks what comes back.

It makes servers of its own, fills them with invented data, and lets partners change
accounts meanwhile. What was acknowledged must be there afterwards, with its answer.
"""

import json
import os
import secrets
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

from partnerapi.sandbox.rehearsal.clusters import Cluster
from partnerapi.sandbox.rehearsal.installation import (
    ACCOUNTS,
    CHANGE,
    TABLES,
    Installation,
)
from partnerapi.sandbox.run.places import give
from partnerapi.sandbox.run.postgres import APPLICATION, DATABASE, OWNER
from partnerapi.sandbox.run.processes import Processes, RunError
from partnerapi.sandbox.run.valkey import start_valkey

Step = Callable[[str], AbstractContextManager[None]]
POINT = "before_the_mistake"
"""The restore point at which recovery is to end."""


@dataclass
class Change:
    """A mutation that was acknowledged."""

    account: str
    key: UUID
    answer: bytes


def change_of(account: str) -> dict[str, Any]:
    values = {"accountID": account, "status": "SUSPENDED"}
    return {"query": CHANGE, "variables": {"input": values}}


class Rehearsal:
    def __init__(self, directory: Path, processes: Processes, step: Step) -> None:
        self.directory, self.processes, self.step = directory, processes, step
        self.clusters: list[Cluster] = []
        self.changes: list[Change] = []
        self.accounts: list[str] = []
        self.token = self.comp_id = self.account = ""
        self.key = uuid4()
        self.archive = directory / "archive"
        self.environment: dict[str, str] = {}

    def run(self) -> None:
        """
        Raises:
            RunError: something did not come back, or could not be tried.
        """
        with self.step("Creating a database that archives its log, with invented data"):
            primary, live = self.make()
        with live.serving():
            with self.step("A change, then a backup of the cluster"):
                self.change(live)
                backup = self.cluster("backup")
                backup.copy(primary)
            with self.step("A change, a restore point, then a mistake"):
                self.change(live)
                primary.ask(f"SELECT pg_create_restore_point('{POINT}')")
                self.change(live)
                self.wait_for_archive(primary)
            with self.step("Restoring a dump into a new cluster and verifying it"):
                self.restore_dump(primary)
            with self.step("The cluster as it was before the mistake"):
                restored = self.recover(backup)
            *kept, mistake = self.changes
            self.prove(restored, kept)
            self.prove_absent(restored, mistake)
            with self.step(
                "Adding a standby that receives each change before it is answered"
            ):
                standby = self.follow(primary)
                self.change(live)
            with self.step(
                "The standby stops: reads continue, no change is acknowledged"
            ):
                standby.kill()
                self.change_unconfirmed(live)
            with self.step("The standby is back: the same change is answered"):
                standby.start()
                self.repeat(live)
            with self.step("The primary dies, the standby is promoted"):
                primary.kill()
                standby.ask("SELECT pg_promote()")
                standby.await_answer("SELECT pg_is_in_recovery()", "False")
        self.prove(standby, self.changes)

    def cluster(self, name: str) -> Cluster:
        cluster = Cluster(self.directory / name, self.processes)
        self.clusters.append(cluster)
        return cluster

    def make(self) -> tuple[Cluster, Installation]:
        primary = self.cluster("primary")
        self.archive = primary.private / "archive"
        self.archive.mkdir()
        if primary.account:
            give(self.archive, primary.account)
        primary.make()
        primary.configure(
            archive_mode="on", archive_command=f"test ! -f {self.archive}/%f && "
            f"cp %p {self.archive}/%f"
        )  # fmt: skip
        # Plans that are made while tables are empty would read them from end to end.
        primary.configure(autovacuum="off")
        primary.start()
        self.valkey = start_valkey(primary.private, primary.account, self.processes)
        self.environment = os.environ | {
            "SECRET_KEY": secrets.token_urlsafe(50),
            "PARTNER_API_KEY_PEPPER": secrets.token_urlsafe(50),
            "PARTNER_API_SANDBOX": "true",
            "PARTNER_API_HTTPS": "false",
            "PARTNER_API_DIRECTORY": str(self.directory),
            "PARTNER_API_METRICS": "",
            "FIX_TLS_CERTIFICATE": "",
            "FIX_TLS_KEY": "",
            "FIX_HOST": "127.0.0.1",
            "LOG_FORMAT": "text",
            # A worker says at this level that it is ready.
            "LOG_LEVEL": "INFO",
        }
        live = self.installation(primary)
        live.manage("migrate")
        live.manage("grant_application_role", APPLICATION, "--apply")
        live.manage("sandbox", "seed")
        access = json.loads(live.manage("sandbox", "access", "--json")[-1])
        self.token, self.comp_id = access["key"], access["compIDs"][0]
        return primary, live

    def installation(self, cluster: Cluster) -> Installation:
        number = self.clusters.index(cluster)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        own = {
            **cluster.urls,
            "REDIS_URL": f"unix://{quote(str(self.valkey))}?db={number}",
            "FIX_PORT": str(port),
        }
        return Installation(self.processes, self.environment | own)

    def change(self, live: Installation) -> None:
        """Suspend the next account, as a partner does."""
        if not self.accounts:
            answer, _ = live.ask({"query": ACCOUNTS}, self.token)
            nodes = answer["data"]["accounts"]["nodes"]
            self.accounts = [n["id"] for n in nodes if n["status"] == "ACTIVE"]
        self.account, self.key = self.accounts.pop(), uuid4()
        self.repeat(live)

    def repeat(self, live: Installation) -> None:
        """Send the last change, which is acknowledged."""
        answer, text = live.ask(change_of(self.account), self.token, self.key)
        if "errors" in answer:
            raise RunError(f"A change was refused: {answer['errors'][0]['message']}")
        self.changes.append(Change(self.account, self.key, text))

    def change_unconfirmed(self, live: Installation) -> None:
        """Suspend the next account while no standby confirms it."""
        self.account, self.key = self.accounts.pop(), uuid4()
        answer, text = live.ask(change_of(self.account), self.token, self.key)
        codes = [each["extensions"]["code"] for each in answer.get("errors", [])]
        if codes != ["UNAVAILABLE"]:
            raise RunError(
                f"A change that no standby has was answered: {text.decode()}"
            )
        answer, text = live.ask({"query": TABLES}, self.token)
        if "errors" in answer:
            raise RunError(f"A table was refused: {text.decode()}")

    def wait_for_archive(self, primary: Cluster) -> None:
        wanted = primary.ask("SELECT pg_walfile_name(pg_switch_wal())")
        primary.wait_until(lambda: (self.archive / wanted).exists(), "archive")

    def restore_dump(self, primary: Cluster) -> None:
        file = primary.private / "dump"
        leave_out = "--exclude-table-data=partnerapi_exportmember"
        address = primary.address()
        primary.run("pg_dump", *address, "--format=custom", leave_out,
                    f"--file={file}", DATABASE)  # fmt: skip
        fresh = self.cluster("fresh")
        fresh.make()
        fresh.start()
        fresh.run(
            "pg_restore",
            *(*fresh.address(), f"--dbname={DATABASE}", f"--role={OWNER}"),
            *("--no-owner", "--exit-on-error", file),
        )
        restored = self.installation(fresh)
        restored.manage("grant_application_role", APPLICATION, "--apply")
        restored.verify("register")
        restored.verify("books")
        restored.verify("cash")
        restored.verify("market")

    def recover(self, backup: Cluster) -> Cluster:
        restored = self.cluster("restored")
        restored.take_over(backup)
        restored.configure(
            archive_mode="off",
            restore_command=f"cp {self.archive}/%f %p",
            recovery_target_name=POINT,
            recovery_target_action="promote",
        )
        restored.empty_file("recovery.signal")
        restored.start()
        restored.await_answer("SELECT pg_is_in_recovery()", "False")
        return restored

    def follow(self, primary: Cluster) -> Cluster:
        standby = self.cluster("standby")
        standby.copy(primary, "--write-recovery-conf")
        standby.configure(archive_mode="off")
        standby.start()
        primary.set("synchronous_standby_names", "*")
        primary.await_answer("SELECT string_agg(sync_state, '') FROM "
                             "pg_stat_replication", "sync")  # fmt: skip
        return standby

    def prove(self, cluster: Cluster, changes: list[Change]) -> None:
        """Look at everything, log on, and send changes again."""
        found = self.installation(cluster)
        with found.serving():
            with self.step("All rules hold, a worker answers, FIX logs on"):
                found.diagnose(self.token, self.comp_id)
            with self.step(
                f"{len(changes)} changes sent again get their first responses"
            ):
                for change in changes:
                    _, text = found.ask(
                        change_of(change.account), self.token, change.key
                    )
                    if text != change.answer:
                        raise RunError(
                            f"A change that was answered with {change.answer.decode()} "
                            f"is now answered with {text.decode()}"
                        )

    def prove_absent(self, cluster: Cluster, mistake: Change) -> None:
        key = cluster.ask(
            "SELECT count(*) FROM partnerapi_idempotencyrecord "
            f"WHERE key = '{mistake.key}'"
        )
        if key != "0":
            raise RunError("The mistake was also recovered.")

    def remove(self) -> None:
        """Delete everything; the processes have ended."""
        for cluster in self.clusters:
            cluster.remove()
