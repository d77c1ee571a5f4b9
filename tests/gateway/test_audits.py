"""The audits of the GraphQL-over-HTTP working group's reference package.

They run under Node from a PyPI wheel; npm fetches the package once.
"""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.gateway.conftest import WebServer
from tests.packages import node, npm_packages

SCRIPT = Path(__file__).with_name("audits.mjs")

# What a server may do with GET, which the specification rules out.
VARIABLES_BY_GET = "MAY allow URL-encoded JSON string {variables} parameter in GETs"
NOTICES = {
    "MAY accept application/x-www-form-urlencoded formatted GET requests",
    f"{VARIABLES_BY_GET} when accepting application/json",
    f"{VARIABLES_BY_GET} when accepting application/graphql-response+json",
}


@pytest.fixture(scope="module")
def packages() -> Path:
    """A directory in which the audits find their packages."""
    installed = npm_packages("graphql-http@1.23.1", "graphql@16.11.0")
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
