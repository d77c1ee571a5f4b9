"""The commands of the page Proof, as a reader pastes them one after the other."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from tests.packages import NODE
from tests.waiting import PATIENCE_SECONDS

PAGE = settings.BASE_DIR / "templates" / "docs" / "proof.md"
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
ENTRIES = """query ($after: String) { token(symbol: "TIDEWICK") {
  transactions(first: 100, after: $after) { nodes {
    id sequence kind amount effectiveAt supplyAfter heldAfter holdersAfter
    chainReference reverses sourceBefore targetBefore lineVersion privateDigest
    previousDigest reason token { id } source { id user { id } }
    target { id user { id } } }
  pageInfo { hasNextPage endCursor } } } }"""


@pytest.fixture
def ask(running_server: dict) -> Callable[..., Any]:
    def ask(query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        headers = {
            "Content-Type": "application/json",
            "X-Token-Auth": running_server["key"],
        }
        request = urllib.request.Request(running_server["graphql"], body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            return json.load(response)["data"]

    return ask


def test_each_command_of_the_page_proves_what_it_says(
    running_server: dict, ask: Callable[..., Any], tmp_path: Path
):
    with (tmp_path / "transactions.jsonl").open("w") as file:
        after = None
        while True:
            found = ask(ENTRIES, after=after)["token"]["transactions"]
            for node in found["nodes"]:
                file.write(json.dumps(node) + "\n")
            if not found["pageInfo"]["hasNextPage"]:
                break
            after = found["pageInfo"]["endCursor"]
    own = running_server["graphql"].removesuffix("/graphql")
    programs = [str(NODE / "bin"), str(Path(sys.executable).parent)]
    environment = os.environ | {
        "KEY": running_server["key"],
        "PATH": os.pathsep.join([*programs, os.environ["PATH"]]),
    }
    for block in BLOCKS:
        ran = subprocess.run(
            ["bash", "-e", "-c", block.replace("http://localhost:8080", own)],
            check=False,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, (block, ran.stdout, ran.stderr)
        said = [one for one in ran.stdout.splitlines() if one.startswith("Proved: ")]
        assert len(said) == len(
            re.findall("^(?:python3|node) verify", block, re.MULTILINE)
        )
