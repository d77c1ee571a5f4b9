import base64
import contextlib
import json
import os
import secrets
import signal
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import CommandError
from django.utils.termcolors import colorize
from environ.fileaware_mapping import FileAwareMapping

from marketdata.fix.client.health import prober
from marketdata.fix.client.initiator import FixFailure
from partnerapi.core.commands import CommandWithExamples, report_duration
from partnerapi.sandbox.run.ports import listen
from partnerapi.sandbox.run.processes import (
    Interrupted,
    Process,
    Processes,
    RunError,
    take_lock,
)
from partnerapi.sandbox.run.servers import ADDRESSES, supply
from partnerapi.sandbox.run.welcome import Running

COLOURS = ("cyan", "green", "yellow", "magenta", "blue")
WEB_SECONDS = FIX_SECONDS = 60
MOST_WORKERS = 8
START_LOG = "start.log"
"""In the state directory: what the processes said while they started."""
STATEMENTS = "statements"
SHOWN_LINES = 40
MARKET_RATE = 5
"""Events a second on all order books together: little work, and little to keep."""

ONE_ROLE = (
    "DATABASE_OWNER_URL is not set: the role of DATABASE_URL owns the tables and "
    "also serves requests, so the database cannot protect them from it"
)


class Command(CommandWithExamples):
    help = """Run the whole system: servers, sandbox data, market, web, FIX, workers.

If DATABASE_URL and REDIS_URL are set, it uses them instead of starting its own servers.
Ctrl-C stops everything; the data is kept for the next start.

examples:
  manage.py up
  manage.py up --port 9000 --directory ../second
  manage.py up --json | head -1
"""
    # It makes the database that the checks ask for.
    requires_system_checks = []

    def add_arguments(self, parser):
        parser.add_argument(
            "--port", type=int, default=8080, help="web server's port (8080)"
        )
        parser.add_argument(
            "--fix-port",
            type=int,
            default=9878,
            help="FIX acceptor's port (9878)",
        )
        parser.add_argument(
            "--directory",
            type=Path,
            default=settings.STATE_DIRECTORY,
            help="directory for its data and secrets (.local in the project)",
        )
        parser.add_argument(
            "--json",
            action="store_true",
            dest="as_json",
            help="when everything answers, print its addresses as one line of JSON",
        )

    def handle(self, *, port, fix_port, directory, as_json, **options):
        for name, number in (("--port", port), ("--fix-port", fix_port)):
            if not 0 < number < 65536:
                raise CommandError(f"{name} {number}: expected 1 to 65535.")
        if port == fix_port:
            raise CommandError(f"--port and --fix-port are both {port}; choose two.")
        self.coloured = options["force_color"] or (
            self.stderr.isatty()
            and not options["no_color"]
            and "NO_COLOR" not in os.environ
        )
        self.names = []
        self.start_log = None
        self.fix_port = fix_port
        self.directory = directory.expanduser().absolute()
        try:
            self.run(port, as_json)
        except RunError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            where = error.filename or self.directory
            raise CommandError(
                f"{where}: {error.strerror}; correct that, or choose another "
                "directory with --directory"
            ) from None

    def run(self, port, as_json):
        began = time.monotonic()
        self.directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        with take_lock(self.directory):
            self.processes = Processes(self.directory / "processes", self.say)
            # Before the first process, so that none is left when the end comes early.
            self.end_on_signals()
            for name in self.processes.end_leftovers():
                self.say("up", f"stopped {name}, left over from a run that was killed")
            # The acceptor takes its own port, but late: it must be free by now.
            for listener in listen(self.fix_port, "--fix-port"):
                listener.close()
            listeners = listen(port, "--port")
            try:
                with self.writing_start_log():
                    access = self.start(listeners, port)
                running = Running(port, self.fix_port, access)
                if as_json:
                    self.stdout.write(json.dumps(running.described()))
                else:
                    seconds = time.monotonic() - began
                    self.stdout.write(running.welcome(seconds, self.directory))
                self.stdout.flush()
                self.processes.watch()
            except Interrupted:
                self.hush()
                self.say("up", "stopping")
            finally:
                for listener in listeners:
                    listener.close()
                self.processes.stop()

    def end_on_signals(self):
        def end(number, frame):
            self.processes.interrupted = True

        signal.signal(signal.SIGINT, end)
        signal.signal(signal.SIGTERM, end)
        # Under nohup the end of the terminal is not the end of the system.
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            signal.signal(signal.SIGHUP, end)

    @contextlib.contextmanager
    def writing_start_log(self):
        """Write what the processes say to a file, and show it if one does not start.

        After that they are heard as they speak.
        """
        path = self.directory / START_LOG
        # A process that still writes while it ends finds no file that is closed.
        self.start_log = path.open("w", buffering=1)
        try:
            yield
        except Interrupted:
            self.hush()
            raise
        except RunError:
            self.hush()
            for line in path.read_text().splitlines()[-SHOWN_LINES:]:
                self.stderr.write(line, lambda text: text)
            raise
        finally:
            self.start_log = None

    def hush(self):
        """Say no more of the processes: how they end would hide why."""
        self.processes.say = lambda name, line: None

    def step(self, name):
        return report_duration(self.stderr, name)

    def say(self, name, line):
        # Another thread may end the start between two statements.
        if log := self.start_log:
            log.write(f"{name:<8} | {line}\n")
            return
        if name not in self.names:
            self.names.append(name)
        prefix = f"{name:<8} |"
        if self.coloured:
            colour = COLOURS[self.names.index(name) % len(COLOURS)]
            prefix = colorize(prefix, fg=colour)
        try:
            self.stderr.write(f"{prefix} {line}", lambda text: text)
        except BrokenPipeError:
            # No one reads the log any more: as if the terminal had been closed.
            self.processes.interrupted = True

    def start(self, listeners, port):
        environment = self.read_environment(port)
        with self.step("PostgreSQL and Valkey"):
            environment |= supply(self.directory, self.processes, environment)
        self.write_environment(environment)
        # Only this command uses the owner's address; servers do not.
        owning = environment.copy()
        environment.pop("DATABASE_OWNER_URL", None)
        with self.step("Tables"):
            self.manage("migrate", owning)
            if "DATABASE_OWNER_URL" in owning:
                role = urlsplit(environment["DATABASE_URL"]).username
                self.manage("grant_application_role", owning, role, "--apply")
        if "DATABASE_OWNER_URL" not in owning:
            self.stderr.write(f"  {ONE_ROLE}", lambda text: text)
        with self.step("Industry Classification Benchmark"):
            self.manage("import industry-classification", environment)
        with self.step("Companies, holders, registers, order books"):
            seeded = self.manage("sandbox seed", owning, "--json", "--no-color")
        keys = json.loads(seeded[-1])["keys"]
        environment["PARTNER_API_SANDBOX_KEY"] = keys.get(
            "demo", environment.get("PARTNER_API_SANDBOX_KEY", "")
        )
        owning |= environment
        with self.step("Key, CompIDs, staff's password"):
            access = json.loads(self.manage("sandbox access", owning, "--json")[-1])
        environment["PARTNER_API_SANDBOX_KEY"] = access["key"]
        self.write_environment(owning | environment)
        statements = Path(environment["PARTNER_API_STATEMENTS"])
        if not [*statements.glob("*.statement")]:
            with self.step("First signed statement"):
                self.manage("export register-statement", environment)
        with self.step("Web server, workers, market, FIX acceptor"):
            self.work("worker", environment, "--concurrency=1", "--without-mingle")
            self.work("beat", environment)
            self.keep_time(environment)
            self.send(environment)
            self.trade(environment)
            feed = self.feed(environment)
            self.serve(listeners, port, environment)
        with self.step("A Logon"):
            self.wait_for_logon(feed, access)
        return access

    def read_environment(self, port):
        """The operator's variables, and what an earlier run has kept beside them."""
        given = FileAwareMapping(env=dict(os.environ))
        configured = os.environ | {
            n: given[n] for n in settings.VARIABLES if n in given
        }
        if (
            configured.get("DATABASE_URL")
            and configured.get("PARTNER_API_SANDBOX", "").lower() != "true"
        ):
            raise RunError(
                "DATABASE_URL names your own database, which `up` fills with "
                "sandbox data; set PARTNER_API_SANDBOX=true to allow that"
            )
        kept = {}
        if self.environment_file.exists():
            for line in self.environment_file.read_text().splitlines():
                name, _, value = line.partition("=")
                kept[name] = value
        # The servers of an earlier run are not configured addresses.
        for name in ADDRESSES:
            kept.pop(name, None)
        made = {
            "SECRET_KEY": secrets.token_urlsafe(50),
            "PARTNER_API_KEY_PEPPER": secrets.token_urlsafe(50),
            "PARTNER_API_STATEMENT_KEY": base64.b64encode(os.urandom(32)).decode(),
            "PARTNER_API_STATEMENTS": str(self.directory / STATEMENTS),
            "PARTNER_API_SANDBOX": "true",
            "PARTNER_API_HTTPS": "false",
        }
        self.ours = {
            *made, *kept, "PARTNER_API_LOCAL_URL", "PARTNER_API_SANDBOX_KEY", "FIX_PORT"
        }  # fmt: skip
        return (
            made
            | kept
            | configured
            | {
                "PARTNER_API_LOCAL_URL": f"http://localhost:{port}",
                "FIX_PORT": str(self.fix_port),
                "PARTNER_API_DIRECTORY": str(self.directory),
                "PYTHONUNBUFFERED": "1",
            }
        )

    @property
    def environment_file(self):
        return self.directory / "environment"

    def write_environment(self, environment):
        """Write the file that settings.py reads, for manage.py in another terminal."""
        ours = sorted({*self.ours, *ADDRESSES} & set(environment))
        unfinished = self.environment_file.with_suffix(".unfinished")
        unfinished.touch(mode=0o600)
        unfinished.write_text("".join(f"{n}={environment[n]}\n" for n in ours))
        unfinished.rename(self.environment_file)
        (self.directory / STATEMENTS).mkdir(exist_ok=True)

    def manage(self, command, environment, *arguments):
        """Run a command of manage.py to its end; the lines of its output."""
        process = self.processes.start(
            command,
            [
                *(sys.executable, settings.BASE_DIR / "manage.py"),
                *(*command.split(), "--skip-checks", *arguments),
            ],
            environment=environment,
            cwd=settings.BASE_DIR,
            quiet=True,
        )
        return self.processes.finish(process)

    def work(self, part, environment, *arguments):
        """Start a part of Celery; it takes up its work when it is ready."""
        self.processes.start(
            part,
            [
                # Where this is run by root there is no one else to run it.
                *(sys.executable, "-W", "ignore:You're running the worker with"),
                *("-m", "celery", "--app=partnerapi", "--quiet", part, *arguments),
            ],
            environment=environment,
            cwd=settings.BASE_DIR,
        )

    def trade(self, environment):
        """Start the market: the sandbox's order books move as if people traded."""
        self.processes.start(
            "market",
            [
                *(sys.executable, settings.BASE_DIR / "manage.py", "simulate_market"),
                *("--skip-checks", f"--rate={MARKET_RATE}"),
            ],
            environment=environment,
            cwd=settings.BASE_DIR,
        )

    def keep_time(self, environment):
        """Start the clock that opens and closes the markets."""
        self.processes.start(
            "clock",
            [
                *(sys.executable, settings.BASE_DIR / "manage.py", "run_market_clock"),
                "--skip-checks",
            ],
            environment=environment,
            cwd=settings.BASE_DIR,
        )

    def send(self, environment):
        """Start the process that sends webhooks."""
        self.processes.start(
            "webhooks",
            [
                *(sys.executable, settings.BASE_DIR / "manage.py", "run_webhooks"),
                "--skip-checks",
            ],
            environment=environment,
            cwd=settings.BASE_DIR,
        )

    def feed(self, environment):
        """Start the FIX acceptor."""
        return self.processes.start(
            "fix",
            [
                *(sys.executable, settings.BASE_DIR / "manage.py", "run_fix_acceptor"),
                "--skip-checks",
            ],
            environment=environment,
            cwd=settings.BASE_DIR,
        )

    def wait_for_logon(self, feed: Process, access):
        """Wait until the FIX acceptor answers a Logon of the last of the CompIDs."""
        client = prober(self.fix_port, access["compIDs"][-1], access["key"])

        def answers():
            try:
                with client:
                    return True
            except FixFailure:
                return False

        self.processes.wait_until(answers, feed, FIX_SECONDS)

    def serve(self, listeners, port, environment):
        descriptors = [listener.fileno() for listener in listeners]
        workers = min(MOST_WORKERS, max(2, os.cpu_count() or 1))
        web = self.processes.start(
            "web",
            [
                *(sys.executable, "-m", "gunicorn", "partnerapi.wsgi"),
                *("--config", "python:partnerapi.operations.gunicorn_config"),
                *("--workers", str(workers), "--graceful-timeout", "5"),
                *("--preload", "--no-control-socket"),
                *(f"--bind=fd://{number}" for number in descriptors),
            ],
            environment=environment,
            cwd=settings.BASE_DIR,
            pass_fds=descriptors,
        )
        self.wait_for(web, port)

    def wait_for(self, web: Process, port):
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/graphql",
            data=b'{"query": "{ __typename }"}',
            headers={"Content-Type": "application/json"},
        )

        def answers():
            try:
                with urllib.request.urlopen(request, timeout=2) as response:
                    return response.status == 200
            except (urllib.error.URLError, TimeoutError, ConnectionError):
                return False

        self.processes.wait_until(answers, web, WEB_SECONDS)
