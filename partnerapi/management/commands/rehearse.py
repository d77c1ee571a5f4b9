import shutil
import signal
import tempfile
import time
from pathlib import Path

from django.core.management.base import CommandError

from partnerapi.core.commands import CommandWithExamples, timed
from partnerapi.sandbox.rehearsal.rehearsal import Rehearsal
from partnerapi.sandbox.run.processes import Interrupted, Processes, RunError


class Command(CommandWithExamples):
    help = """Lose a database in every way that a backup is for; see what comes back.

It makes PostgreSQL clusters, a Valkey, web servers, workers and FIX acceptors of its
own in a directory that it deletes, and touches nothing else: it may run anywhere.
Changes are made as a partner makes them, with Idempotency-Keys. Then it restores a dump
into a new cluster; recovers a backup of the cluster as it was just before a mistake;
stops a synchronous standby, without which no change is acknowledged; kills the primary
and promotes the standby. Of what comes back it verifies the register
and the order books, lets doctor look at everything, logs on over FIX, and sends each
change again, which must get its first answer. It takes about a minute. The exit code is
0 where all of it came back, 1 with the reason where not.

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
            help="where it works, in a directory that it makes and deletes; needs a "
            "gigabyte; default: that of temporary files",
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
        rehearsal = Rehearsal(made, processes, lambda name: timed(self.stderr, name))
        try:
            rehearsal.run()
        except Interrupted:
            raise CommandError("It was ended before its end.") from None
        except RunError as error:
            raise CommandError(f"The rehearsal failed: {error}") from None
        finally:
            processes.stop()
            rehearsal.remove()
            shutil.rmtree(made, ignore_errors=True)
        return (
            f"All came back, in {time.monotonic() - began:.0f} s: a dump, a point in "
            f"time, a failover; {len(rehearsal.changes)} changes with their answers."
        )
