"""What is counted and logged of requests, by real servers, and what rules ask for."""

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from accounts.keys.models import Partner
from partnerapi.core.version import RELEASE
from partnerapi.sandbox.data.approvals import approved_key
from tests.gateway.conftest import WebServer, serving
from tests.operations.test_probes import url_of_test_database
from tests.system import free_port
from tests.waiting import PATIENCE_SECONDS, until

ALERTS = settings.BASE_DIR / "partnerapi" / "operations" / "deploy" / "alerts.yml"
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


class Metrics:
    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}/metrics"

    def read(self) -> dict[tuple[str, str], float]:
        with urllib.request.urlopen(self.address, timeout=PATIENCE_SECONDS) as answer:
            text = answer.read().decode()
        return {(name, labels): float(n) for name, labels, n in SAMPLE.findall(text)}

    def names(self) -> set[str]:
        return {name for name, _ in self.read()}


@contextmanager
def exposed(environment: dict[str, str]) -> Iterator[Metrics]:
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve_metrics", "--port", str(port)],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout
        assert process.stdout.readline()
        yield Metrics(port)
    finally:
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
        process.stdout.close()


def lines_of(server: WebServer) -> list[dict]:
    lines = server.log.read_text().splitlines()
    found = [json.loads(line) for line in lines if line.startswith("{")]
    return [line for line in found if line.get("event") == "request"]


@pytest.mark.django_db(transaction=True)
def test_requests_are_counted_and_logged(tmp_path: Path):
    import os

    acme = Partner.objects.create(login="acme", name="Acme")
    _, token = approved_key(acme, [])
    directory = tmp_path / "metrics"
    own = {
        "DATABASE_URL": url_of_test_database(),
        "PARTNER_API_METRICS": str(directory),
        "LOG_FORMAT": "json",
    }
    query = b'{"query":"query Mine { viewer { login } }","operationName":"Mine"}'
    with serving(1, own, tmp_path) as server, exposed(os.environ | own) as metrics:
        mine = {"X-Token-Auth": token, "X-Request-Id": "my-own-id"}
        assert server.post(query, **mine)[0] == 200
        server.post(b'{"query":"{ nothing }"}')
        counted = ("partnerapi_requests_total", 'code="OK",operation="query"')
        before = metrics.read()[counted]
        assert before >= 1
        [line] = [one for one in lines_of(server) if one["requestId"] == "my-own-id"]
        assert (line["login"], line["name"], line["code"]) == ("acme", "Mine", "OK")
        assert line["operation"] == "query"
        assert line["points"] >= 1
        assert line["waitedMs"] >= 0
        assert line["backend"] > 0
        assert {one["code"] for one in lines_of(server)} > {"OK"}
        # A process that comes after one that was killed goes on counting in its place.
        [worker] = psutil.Process(server.process.pid).children()
        worker.send_signal(signal.SIGKILL)
        until(lambda: worker.pid not in map(pid_of, children(server)))
        until(server.answers)
        assert server.post(query, **mine)[0] == 200
        assert metrics.read()[counted] > before
        # The master has a place, too, and so has what reads them.
        assert len(list(directory.glob("counter_*.db"))) <= 3
        known = metrics.names() | defined()
        labels = f'release="{RELEASE}",version="{version_of(server)}"'
        assert metrics.read()["partnerapi_build_info", labels] == 1
        manage = [sys.executable, "manage.py", "--version"]
        said = subprocess.check_output(manage, cwd=settings.BASE_DIR, text=True)
        assert said == f"Partner API {version_of(server)}\n"
    asked = set(re.findall(r"partnerapi_\w+", ALERTS.read_text()))
    assert asked
    assert asked <= known


def version_of(server: WebServer) -> str:
    address = f"http://127.0.0.1:{server.port}/readyz"
    with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as answer:
        version: str = json.load(answer)["version"]
    return version


def children(server: WebServer) -> list[psutil.Process]:
    return psutil.Process(server.process.pid).children()


def pid_of(process: psutil.Process) -> int:
    return process.pid


def defined() -> set[str]:
    """The names of what this process could count, as Prometheus would see them."""
    from prometheus_client import REGISTRY

    found = set()
    for metric in REGISTRY.collect():
        found |= {metric.name, f"{metric.name}_total", f"{metric.name}_bucket"}
    return found


def test_every_alert_has_a_line_for_who_is_woken():
    text = ALERTS.read_text()
    assert text.count("- alert: ") == text.count("runbook: ") == text.count("expr: ")
