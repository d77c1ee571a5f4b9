"""The guide, pasted block by block into a shell and into Python."""

import contextlib
import io
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from partnerapi.gateway.bills import weigh
from partnerapi.graphql.documents import prepare
from partnerapi.schema import schema
from partnerapi.site import docs
from tests.examples.shapes import differences

GUIDE = docs.path_of("guide").read_text()
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRICED = re.compile(r"^\| `(\{.*?\})` \| ([\d,]+) \|", re.MULTILINE)
PROGRAMS = ("sh", "python")
END = "the block has ended"


class Block(NamedTuple):
    kind: str
    text: str


def blocks() -> list[Block]:
    return [Block(*found.groups()) for found in FENCED.finditer(GUIDE)]


class Shell:
    """One shell, into which blocks are pasted."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def paste(self, text: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{text}\nprintf '\\n%s\\n' '{END}'\n")
        self.process.stdin.flush()
        printed = ""
        while not printed.endswith(f"{END}\n"):
            line = self.process.stdout.readline()
            assert line, f"the shell has ended: {printed}"
            printed += line
        return printed.removesuffix(f"{END}\n")


@pytest.fixture
def shell(running_server: dict, tmp_path: Path) -> Iterator[Shell]:
    known = {"API": running_server["graphql"], "KEY": running_server["key"]}
    with subprocess.Popen(
        ["sh"],
        env=os.environ | known,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        yield Shell(process)


def same_words(shown: str, printed: str) -> bool:
    """Whether two texts are the same but for their numbers."""
    return re.sub(r"\d+", "0", shown.strip()) == re.sub(r"\d+", "0", printed.strip())


def test_every_block_does_what_the_guide_says(
    shell: Shell, running_server: dict, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("API", running_server["graphql"])
    monkeypatch.setenv("KEY", running_server["key"])
    python: dict[str, object] = {}
    printed, compared = "", 0
    for kind, text in blocks():
        match kind:
            case "sh" if text.startswith("export API="):
                continue
            case "sh":
                printed = shell.paste(text)
            case "python":
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    exec(text, python)
                printed = output.getvalue()
            case "json":
                assert differences(json.loads(text), json.loads(printed)) == [], text
                compared += 1
            case "text":
                assert same_words(text, printed), printed
                compared += 1
    assert compared > 10


def test_every_block_is_run_or_compared():
    kinds = [block.kind for block in blocks()]
    assert set(kinds) <= {*PROGRAMS, "json", "text"}
    for before, kind in zip(kinds, kinds[1:], strict=False):
        assert kind in PROGRAMS or before in PROGRAMS


@pytest.mark.parametrize(("document", "points"), PRICED.findall(GUIDE))
def test_a_price_is_what_is_charged(document: str, points: str):
    body = json.dumps({"query": document})
    price = prepare(schema, document, None, {}).price + weigh(len(body))
    assert price == int(points.replace(",", ""))


def test_there_are_prices():
    assert len(PRICED.findall(GUIDE)) == 6


@pytest.mark.parametrize("sandbox", [True, False])
def test_its_first_lines_have_the_address_and_a_sandbox_key(settings, sandbox: bool):
    settings.PARTNER_API_SANDBOX = sandbox
    settings.PARTNER_API_SANDBOX_KEY = "service-apikey_demo_abc"
    settings.PARTNER_API_SITE = own = "https://api.lumen.test"
    filled = docs.filled_in(GUIDE)
    key = "service-apikey_demo_abc" if sandbox else docs.NO_KEY
    assert f"\nexport API={own}/graphql\nexport KEY='{key}'\n" in filled
