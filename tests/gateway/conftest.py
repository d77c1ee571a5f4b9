import http.client
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest
from django.conf import settings
from django.db import connection

from tests.system import free_port
from tests.waiting import PATIENCE_SECONDS, until

WORKERS = 3


@dataclass
class WebServer:
    """gunicorn with several workers, on the test's own database and cache."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/graphql"

    def post(self, body: bytes, **headers: str) -> tuple[int, dict]:
        """Send a request on a connection of its own, so that any worker answers it."""
        headers = {"Content-Type": "application/json", "Connection": "close"} | headers
        client = http.client.HTTPConnection("127.0.0.1", self.port, PATIENCE_SECONDS)
        try:
            client.request("POST", "/graphql", body, headers)
            response = client.getresponse()
            return response.status, orjson.loads(response.read())
        finally:
            client.close()

    def answers(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.post(b'{"query":"{ __typename }"}')[0] == 200
        except (ConnectionError, TimeoutError):
            return False


@contextmanager
def serving(
    workers: int, environment: dict[str, str], directory: Path
) -> Iterator[WebServer]:
    """A web server on the tests' database, configured as in production."""
    database = connection.settings_dict["NAME"]
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()
    port, log = free_port(), directory / "log"
    command = [sys.executable, "-m", "gunicorn", "partnerapi.wsgi"]
    command += ["--config", "python:partnerapi.operations.gunicorn_config"]
    command += ["--no-control-socket"]
    command += ["--workers", str(workers), "--bind", f"127.0.0.1:{port}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            env=os.environ | {"DATABASE_URL": url} | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = WebServer(process, port, log)
    try:
        until(server.answers, log.read_text, pause=0.05)
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


UNLIMITED = dict.fromkeys(
    ("PARTNER_API_ANONYMOUS_BUDGET_POINTS", "PARTNER_API_ANONYMOUS_BUDGET_REFILL"),
    str(10**9),
)
"""All tests come from one address."""


@pytest.fixture(scope="session")
def web_server(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WebServer]:
    directory = tmp_path_factory.mktemp("web")
    with serving(WORKERS, UNLIMITED, directory) as server:
        yield server
