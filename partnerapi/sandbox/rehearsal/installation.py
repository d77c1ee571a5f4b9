"""The processes of the platform over a cluster, asked as partners ask."""

import contextlib
import json
import socket
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.error import HTTPError
from uuid import UUID

from django.conf import settings

from partnerapi.sandbox.run.processes import Process, Processes, RunError

START_SECONDS = 300
ANSWER_SECONDS = 30
CHANGE = (
    "mutation ($input: UpdateAccountStatusInput!) { updateAccountStatus(input: $input)"
    " { previousStatus changedAt account { id status } } }"
)
TABLES = (
    "{ issuers(first: 1, granted: true) { nodes { capitalizationTable { date } } } }"
)
ACCOUNTS = "{ accounts(first: 100) { nodes { id status } } }"


class Installation:
    """Web server, worker and FIX acceptor over the database of an environment."""

    def __init__(self, processes: Processes, environment: Mapping[str, str]) -> None:
        self.processes, self.environment = processes, environment
        self.port = 0

    def manage(
        self, command: str, *arguments: str, environment: Mapping[str, str] = {}
    ) -> list[str]:
        """Run a command of manage.py to its end; the lines of its output.

        Raises:
            RunError: it ended with another exit code than 0.
        """
        return self.processes.finish(
            self.start("manage.py", command, *arguments, environment=environment)
        )

    def verify(self, kind: str) -> None:
        """
        Raises:
            RunError: a rule is broken; it names the rule and what breaks it.
        """
        verification = self.start("manage.py", "verify", kind)
        try:
            self.processes.finish(verification)
        except RunError as error:
            said = verification.output
            broken = [n for n, line in enumerate(said) if "BROKEN" in line]
            told = [line.strip() for n in broken for line in said[n : n + 3]]
            raise RunError("; ".join([str(error), *told])) from None

    def start(
        self,
        name: str,
        *arguments: str,
        environment: Mapping[str, str] = {},
        pass_fds: tuple[int, ...] = (),
    ) -> Process:
        program = [settings.BASE_DIR / name] if name == "manage.py" else ["-m", name]
        return self.processes.start(
            arguments[0],
            [sys.executable, *program, *arguments],
            environment={**self.environment, **environment},
            cwd=settings.BASE_DIR,
            pass_fds=pass_fds,
            quiet=True,
        )

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """Until the body ends, all of it runs."""
        # Processes that serve do not get the owner's address.
        serves = {"DATABASE_OWNER_URL": ""}
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            worker = ("--app=partnerapi", "worker", "--pool=solo", "--without-mingle")
            feed = self.start("manage.py", "run_fix_acceptor", environment=serves)
            work = self.start("celery", *worker, environment=serves)
            parts = [work, feed]
            number = listener.fileno()
            web = self.start(
                "gunicorn",
                "partnerapi.wsgi",
                *("--config", "python:partnerapi.operations.gunicorn_config"),
                f"--bind=fd://{number}",
                environment=serves,
                pass_fds=(number,),
            )
            parts.append(web)
            try:
                self.processes.wait_until(self.answers, web, START_SECONDS)
                self.processes.wait_until(self.listens, feed, START_SECONDS)
                self.processes.wait_until(
                    lambda: any("ready." in line for line in list(work.errors)),
                    work,
                    START_SECONDS,
                )
                yield
            finally:
                self.processes.stop(parts)

    def answers(self) -> bool:
        try:
            return "errors" not in self.ask({"query": "{ __typename }"}, "")[0]
        except RunError:
            return False

    def listens(self) -> bool:
        with socket.socket() as client:
            port = int(self.environment["FIX_PORT"])
            return client.connect_ex(("127.0.0.1", port)) == 0

    def ask(
        self, body: Mapping[str, Any], token: str, key: UUID | None = None
    ) -> tuple[dict[str, Any], bytes]:
        """The answer to a request, or its refusal, read and as it came.

        Raises:
            RunError: there was none.
        """
        headers = {"Content-Type": "application/json"}
        headers |= {"X-Token-Auth": token} if token else {}
        headers |= {"Idempotency-Key": str(key)} if key else {}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/graphql",
            data=json.dumps(body).encode(),
            headers=headers,
        )
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:
                text = response.read()
        except HTTPError as refusal:
            text = refusal.read()
        except OSError as error:
            raise RunError(f"The web server does not answer: {error}") from None
        return json.loads(text), text

    def diagnose(self, token: str, comp_id: str) -> None:
        """Run every check of `doctor`, with a Logon and every rule.

        Raises:
            RunError: a check has failed; the error names it.
        """
        web = f"http://127.0.0.1:{self.port}"
        options = ("--deep", "--json", "--web", web, "--comp-id", comp_id)
        doctor = self.start(
            "manage.py", "doctor", *options, environment={"FIX_KEY": token}
        )
        # It ends with 1 where something only wants attention.
        with contextlib.suppress(RunError):
            self.processes.finish(doctor)
        checks = json.loads("".join(doctor.output) or "{}").get("checks", [])
        failed = [check for check in checks if check["state"] in ("failed", "unknown")]
        if failed or not checks:
            raise RunError(
                "; ".join(f"{check['check']}: {check['says']}" for check in failed)
                or doctor.ended()
            )
