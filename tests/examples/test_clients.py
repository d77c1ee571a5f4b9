"""The programs that partners paste, as they are, against the running system."""

import json
import os
import re
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from partnerapi.site.pages import (
    CLIENTS,
    CONFIGURATIONS,
    EXAMPLES_DIRECTORY,
    TRADERS,
)
from tests.packages import node, npm_packages, python_packages
from tests.waiting import PATIENCE_SECONDS, PROGRAM_SECONDS

PROGRAMS = EXAMPLES_DIRECTORY / "clients"
PYTHON = ("gql[requests]==4.4.0",)
NPM = (
    "@apollo/client@4.3.8",
    "@urql/core@6.0.3",
    "@urql/exchange-retry@2.0.0",
    "graphql@17.1.0",
    "rxjs@7.8.2",
)
TYPESCRIPT = (
    "@graphql-codegen/cli@7.4.3",
    "@graphql-codegen/client-preset@6.2.0",
    "@types/node@26.6.6",
    "graphql@17.1.0",
    "typescript@7.0.2",
)
CODEGEN = "@graphql-codegen/cli/cjs/bin.js"
TSC = ("--strict", "--module", "nodenext", "--target", "esnext", "--types", "node")
HISTORY = """
fragment history on Account {
  id status
  statusHistory(last: 100) { nodes { id previousStatus status actor createdAt } }
}
"""
ACTIVE = "{ accounts(first: 1, status: ACTIVE) { nodes { ...history } } }" + HISTORY
TRADED = "{ orders(first: 1, status: FILLED) { totalCount nodes { filledQuantity } } }"
BY_ID = "query ($id: String!) { account(id: $id) { ...history } }" + HISTORY

Ended = subprocess.CompletedProcess[str]


def run_program(name: str, directory: Path, **environment: str) -> Ended:
    """Run it with the packages that its first lines require."""
    program = PROGRAMS / name
    if program.suffix == ".mjs":
        # Node looks for packages beside the program.
        modules = npm_packages(*NPM) / "node_modules"
        (directory / "node_modules").symlink_to(modules)
        (directory / name).write_bytes(program.read_bytes())
        return node(name, cwd=directory, **environment)
    if program.suffix == ".mts":
        return node(
            build_typescript(name, directory, environment), cwd=directory, **environment
        )
    command = ["sh"] if program.suffix == ".sh" else [python_packages(*PYTHON)]
    return subprocess.run(
        [*command, program],
        env=os.environ | environment,
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )


def build_typescript(name: str, directory: Path, environment: dict[str, str]) -> str:
    """Generate its types and compile it, by the commands of its first lines."""
    modules = npm_packages(*TYPESCRIPT) / "node_modules"
    (directory / "node_modules").symlink_to(modules)
    for file in (name, *CONFIGURATIONS):
        (directory / file).write_bytes((PROGRAMS / file).read_bytes())
    site = environment["PARTNER_API_URL"].removesuffix("/graphql")
    with urllib.request.urlopen(
        f"{site}/scalars.json", timeout=PATIENCE_SECONDS
    ) as response:
        (directory / "scalars.json").write_bytes(response.read())
    for script, *options in (
        (CODEGEN, "--config", "codegen.cjs"),
        ("typescript/bin/tsc", *TSC, name),
    ):
        ended = node(str(modules / script), *options, cwd=directory, **environment)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " ".join(TSC) in (PROGRAMS / name).read_text()
    return name.replace(".mts", ".mjs")


def ask(server: dict, query: str, **variables: str) -> dict:
    headers = {"Content-Type": "application/json", "X-Token-Auth": server["key"]}
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(server["graphql"], body, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        answer = json.load(response)
    assert set(answer) == {"data"}
    return answer["data"]


class LosesAnswers(BaseHTTPRequestHandler):
    """Hands requests on, and loses the first answer to each idempotency key."""

    target: str
    keys: list[str]

    def do_GET(self) -> None:
        site = self.target.removesuffix("/graphql")
        with urllib.request.urlopen(
            site + self.path, timeout=PATIENCE_SECONDS
        ) as response:
            self.answer(response)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        passed = ("content-type", "accept", "x-token-auth", "idempotency-key")
        headers = {n: v for n, v in self.headers.items() if n.lower() in passed}
        key = self.headers["Idempotency-Key"]
        lost = bool(key) and key not in self.keys
        if key:
            self.keys.append(key)
        request = urllib.request.Request(self.target, body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            if not lost:
                self.answer(response)

    def answer(self, response: HTTPResponse) -> None:
        body = response.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        for name in ("Content-Type", "Idempotent-Replayed"):
            if name in response.headers:
                self.send_header(name, response.headers[name])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def lossy(running_server: dict) -> Iterator[tuple[str, list[str]]]:
    """A way to the server that loses answers, and the keys that came along it."""
    keys: list[str] = []
    handler = type(
        "Handler", (LosesAnswers,), {"target": running_server["graphql"], "keys": keys}
    )
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/graphql", keys
        server.shutdown()
        thread.join()


@pytest.fixture
def suspended_once(running_server: dict) -> Callable[[str], None]:
    """Called with a program's output: the first active account was suspended, once."""
    [before] = ask(running_server, ACTIVE)["accounts"]["nodes"]

    def check(output: str) -> None:
        after = ask(running_server, BY_ID, id=before["id"])["account"]
        earlier = before["statusHistory"]["nodes"]
        *same, added = after["statusHistory"]["nodes"]
        assert same == earlier
        assert (added["previousStatus"], added["status"], added["actor"]) == (
            "ACTIVE",
            "SUSPENDED",
            "demo",
        )
        assert after["status"] == "SUSPENDED"
        assert re.findall(r"Account\|[0-9a-f-]{36}", output)[0] == before["id"]
        assert re.findall(r"20\d\d-[0-9:.T-]+Z", output) == [added["createdAt"]] * 2

    return check


each_program = pytest.mark.parametrize("name", CLIENTS)


@each_program
def test_suspends_once_and_reads_the_code(
    name: str,
    running_server: dict,
    suspended_once: Callable[[str], None],
    tmp_path: Path,
):
    environment = {
        "PARTNER_API_URL": running_server["graphql"],
        "PARTNER_API_KEY": running_server["key"],
    }
    ended = run_program(name, tmp_path, **environment)
    assert (ended.returncode, ended.stderr) == (0, "")
    suspended_once(ended.stdout)
    last = ended.stdout.splitlines()[-1]
    assert last.startswith("refused: INVALID_STATUS_TRANSITION")
    if not name.endswith(".mjs"):  # Libraries show no headers.
        assert ended.stdout.count("replayed: true\n") == 1


@pytest.mark.parametrize("name", TRADERS)
def test_buys_a_unit_once_though_the_answer_is_lost(
    name: str, running_server: dict, lossy: tuple[str, list[str]], tmp_path: Path
):
    address, keys = lossy
    before = ask(running_server, TRADED)["orders"]["totalCount"]
    ended = run_program(
        name,
        tmp_path,
        PARTNER_API_URL=address,
        PARTNER_API_KEY=running_server["key"],
    )
    assert ended.returncode == 0, ended.stderr
    assert "order: FILLED" in ended.stdout
    assert re.search("holders: [0-9]+", ended.stdout)
    after = ask(running_server, TRADED)["orders"]
    assert (after["totalCount"], after["nodes"][0]["filledQuantity"]) == (before + 1, 1)
    assert len(keys) == 2
    assert len(set(keys)) == 1


@each_program
def test_sends_a_change_again_with_its_key_when_the_answer_is_lost(
    name: str,
    running_server: dict,
    lossy: tuple[str, list[str]],
    suspended_once: Callable[[str], None],
    tmp_path: Path,
):
    address, keys = lossy
    environment = {
        "PARTNER_API_URL": address,
        "PARTNER_API_KEY": running_server["key"],
    }
    ended = run_program(name, tmp_path, **environment)
    assert ended.returncode == 0, ended.stderr
    suspended_once(ended.stdout)
    assert "refused: INVALID_STATUS_TRANSITION" in ended.stdout
    suspension, refused = dict.fromkeys(keys)
    # Lost, tried again, and again by the program itself; lost, tried again.
    assert keys == [suspension, suspension, suspension, refused, refused]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("curl.sh", '"code":"UNAUTHENTICATED"'),
        ("python.py", "'code': 'UNAUTHENTICATED'"),
        ("apollo.mjs", "Received status code 401"),
        ("urql.mjs", "The API key is malformed, unknown, revoked or expired."),
        ("typescript.mts", "UNAUTHENTICATED: The API key is malformed"),
    ],
    ids=lambda text: text if text in CLIENTS else "",
)
def test_ends_with_what_the_server_told(
    name: str, told: str, running_server: dict, tmp_path: Path
):
    ended = run_program(
        name,
        tmp_path,
        PARTNER_API_URL=running_server["graphql"],
        PARTNER_API_KEY="service-apikey_nobody_0",
    )
    assert ended.returncode != 0
    assert told in ended.stdout + ended.stderr
