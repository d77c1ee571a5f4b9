"""The web server as a process of its own, as production runs it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from partnerapi.sandbox.run.processes import RunError
from tests.chaos.clients import Connection
from tests.chaos.installation import ROOT
from tests.system import free_port

WORKERS = 2
CONFIGURED = ("--config", "python:partnerapi.operations.gunicorn_config")


@contextmanager
def serving(
    log: Path,
    environment: Mapping[str, str],
    code: Path = ROOT,
    options: Sequence[str] = CONFIGURED,
    workers: int = WORKERS,
    application: str = "partnerapi.wsgi",
) -> Iterator[int]:
    """A server that answers, by the code below a directory; its port.

    Raises:
        RunError: it has ended; what it wrote.
    """
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", application, *options]
    command += ["--workers", str(workers), "--bind", f"127.0.0.1:{port}"]
    with log.open("ab") as output:
        server = subprocess.Popen(
            [*command, "--no-control-socket"],
            cwd=code,
            env=os.environ | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        asyncio.run(until_it_answers(server, port, log))
        yield port
    finally:
        server.terminate()
        server.wait()


async def until_it_answers(
    server: subprocess.Popen[bytes], port: int, log: Path
) -> None:
    asked = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    while server.poll() is None:
        try:
            await Connection(port).ask(asked)
        except (OSError, EOFError):
            await asyncio.sleep(0.05)
        else:
            return
    raise RunError(f"the web server ended:\n{log.read_text()}")
