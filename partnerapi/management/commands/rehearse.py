import shutil
import signal
import tempfile
import time
from pathlib import Path

from django.core.management.base import CommandError

from partnerapi.core.commands import CommandWithExamples, report_duration
from partnerapi.sandbox.rehearsal.rehearsal import Rehearsal
from partnerapi.sandbox.run.processes import Interrupted, Processes, RunError


class Command(CommandWithExamples):
    help = """Rehearse recovery from every loss of a database that backups cover. It
creates its own PostgreSQL clusters, Valkey, web servers, workers and FIX acceptors in a
directory that it deletes, and touches nothing else, so it may run anywhere. It makes
changes as a partner does, with Idempotency-Keys. Then it restores a dump into a new
cluster; recovers a backup of the cluster as it was just before a mistake; stops a
synchronous standby, without which no change is acknowledged; kills the primary and
promotes the standby. After each recovery it verifies the register and the order books,
runs doctor, logs on over FIX, and sends each change again, which must get its first
response. It takes about a minute. The exit code is 0 if everything was recovered, or 1,
with the reason.

examples:
  manage.py rehearse
  manage.py rehearse --directory /mnt/large
"""
    # It works on installations of its own.
    requires_system_checks = []

    def add_arguments(self, parser):
        parser.add_argument(
            "--directory",
            type=Path,
            help="where to create its working directory, which it deletes; needs a "
            "gigabyte; default: the directory of temporary files",
        )

    def handle(self, *, directory, **options):
        began = time.monotonic()
        try:
            made = Path(tempfile.mkdtemp(prefix="partnerapi-rehearsal-", dir=directory))
        except OSError as error:
            raise CommandError(f"{directory}: {error.strerror}.") from None
        # PostgreSQL may run as another user.
        made.chmod(0o755)
        processes = Processes(made / "processes", lambda name, line: None)

        def end(number, frame):
            processes.interrupted = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        rehearsal = Rehearsal(
            made, processes, lambda name: report_duration(self.stderr, name)
        )
        try:
            rehearsal.run()
        except Interrupted:
            raise CommandError("The rehearsal was interrupted.") from None
        except RunError as error:
            raise CommandError(f"The rehearsal failed: {error}") from None
        finally:
            processes.stop()
            rehearsal.remove()
            shutil.rmtree(made, ignore_errors=True)
        return (
            f"Everything was recovered in {time.monotonic() - began:.0f} s: a dump, "
            f"a point in time, a failover; {len(rehearsal.changes)} changes with "
            "their responses."
        )
