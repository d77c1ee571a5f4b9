"""The heads of all tokens of a sandbox, computed by others from what the API answers.

By the programs that partners download, and by `heads_by_hand.py`, which was written
from the page Proof.
"""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.packages import node
from tests.waiting import PATIENCE_SECONDS, PROGRAM_SECONDS

BY_HAND = Path(__file__).with_name("heads_by_hand.py")
CHAINS = {
    "transactions": (
        "sequence",
        "digest",
        "id sequence kind amount effectiveAt supplyAfter heldAfter holdersAfter "
        "chainReference reverses sourceBefore targetBefore lineVersion privateDigest "
        "previousDigest reason token { id } source { id user { id } } "
        "target { id user { id } }",
        "entries",
    ),
    "priceHistory": (
        "priceNumber",
        "priceDigest",
        "number price source effectiveAt lineVersion privateDigest previousDigest",
        "prices",
    ),
}
TOKENS = """{ tokens(first: 100) { totalCount nodes { id
  ledgerHead { sequence digest priceNumber priceDigest }
  statement { record salt path line signature } } } }"""
ROWS = """query ($id: ID, $after: String) { token(id: $id) {
  rows: %s(first: 100, after: $after) { nodes { %s }
    pageInfo { hasNextPage endCursor } } } }"""
Ask = Callable[..., Any]


@pytest.fixture
def ask(running_server: dict) -> Ask:
    def ask(query: str, **variables: Any) -> Any:
        body = json.dumps({"query": query, "variables": variables}).encode()
        headers = {
            "Content-Type": "application/json",
            "X-Token-Auth": running_server["key"],
        }
        request = urllib.request.Request(running_server["graphql"], body, headers)
        while True:
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as it:
                    return json.load(it)["data"]
            except urllib.error.HTTPError as refused:
                time.sleep(int(refused.headers["Retry-After"]))

    return ask


def rows(ask: Ask, token: str, chain: str, fields: str) -> Iterator[Any]:
    after, has_more = None, True
    while has_more:
        query = ROWS % (chain, fields)
        found = ask(query, id=token, after=after)["token"]["rows"]
        yield from found["nodes"]
        has_more = found["pageInfo"]["hasNextPage"]
        after = found["pageInfo"]["endCursor"]


def test_all_heads_are_computed_from_the_api_alone(
    running_server: dict, ask: Ask, tmp_path: Path
):
    tokens = ask(TOKENS)["tokens"]
    assert len(tokens["nodes"]) == tokens["totalCount"] > 40
    address, key = running_server["graphql"], running_server["key"]
    by_hand = subprocess.run(
        [sys.executable, "-I", BY_HAND, address, key],
        check=False,
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECONDS,
    )
    assert by_hand.returncode == 0, by_hand.stderr
    counts = {line.split()[0] for line in by_hand.stdout.splitlines()}
    assert counts == {token["id"] for token in tokens["nodes"]}
    base = address.removesuffix("/graphql")
    for path, name in (
        ("docs/verify.py", "verify.py"),
        ("docs/verify.mjs", "verify.mjs"),
        (".well-known/partner-api-keys.json", "keys.json"),
    ):
        urllib.request.urlretrieve(f"{base}/{path}", tmp_path / name)
    for token in tokens["nodes"]:
        head = token["ledgerHead"]
        (tmp_path / "stated.json").write_text(json.dumps(token["statement"]))
        record = json.loads(token["statement"]["record"])
        for chain, (number, digest, fields, stated) in CHAINS.items():
            found = list(rows(ask, token["id"], chain, fields))
            export = "".join(f"{json.dumps(row)}\n" for row in found[: head[number]])
            (tmp_path / "export.jsonl").write_text(export)
            arguments = ["ledger", "export.jsonl", "stated.json", "keys.json"]
            by_python = subprocess.run(
                [sys.executable, "-I", "verify.py", *arguments],
                check=False,
                cwd=tmp_path,
                capture_output=True,
                text=True,
            )
            by_node = node("verify.mjs", *arguments, cwd=tmp_path)
            assert by_python.stdout == by_node.stdout, by_node.stderr
            to = head[digest] if head[number] else ""
            said = f"Proved: {head[number]} lines follow each other, to the head {to}"
            # Prices of trades may have come since the statement.
            covered = f"{said}, to line {record[stated]} as says statement "
            assert by_python.stdout.startswith(covered)
