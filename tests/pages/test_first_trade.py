"""The first trade and the tasks, pasted block by block in each of their languages."""

import json
import os
import re
import subprocess
import sys
from codeop import compile_command
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from partnerapi.site import docs
from tests.examples.shapes import differences
from tests.packages import node
from tests.system import System, bare_environment

TEXT = docs.path_of("first-trade").read_text()
TASKS = docs.path_of("tasks").read_text()
DOCUMENTS = docs.path_of("documents").read_text()
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "the next answer is shown"
MARKS = {
    "sh": f"echo; echo '{MARK}'",
    "python": f'print("{MARK}")',
    "javascript": f'console.log("{MARK}");',
}


def program(language: str, page: str = TEXT) -> str:
    """All blocks of a language, with a mark where the page shows an answer."""
    lines = []
    for kind, text in FENCED.findall(page):
        if kind == language:
            lines.append(re.sub(r"^export .*\n", "", text, flags=re.MULTILINE))
        elif kind == "json":
            lines.append(MARKS[language])
    return "\n".join(lines)


def last_document(printed: str) -> Any:
    """The last of the JSON documents that a block has printed."""
    *_, last = re.finditer(r"^[{\[]", printed, re.MULTILINE)
    return json.JSONDecoder().raw_decode(printed[last.start() :])[0]


def printed_by(
    language: str, environment: dict[str, str], directory: Path, text: str
) -> str:
    if language == "javascript":
        (directory / "first-trade.mjs").write_text(text)
        done = node("first-trade.mjs", cwd=directory, **environment)
        assert not done.returncode, done.stderr
        return done.stdout
    command = ["sh"] if language == "sh" else [sys.executable, "-"]
    done = subprocess.run(
        command,
        input=text,
        env=os.environ | environment,
        cwd=directory,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("language", list(docs.FORMS))
def test_every_block_does_what_the_page_says(
    language: str, running_server: dict, tmp_path: Path
):
    environment = {"API": running_server["graphql"], "KEY": running_server["key"]}
    printed = printed_by(language, environment, tmp_path, program(language))
    answers = [last_document(part) for part in printed.split(MARK)[:-1]]
    shown = [json.loads(text) for kind, text in FENCED.findall(TEXT) if kind == "json"]
    assert len(answers) == len(shown) == 8
    for example, answer in zip(shown, answers, strict=True):
        assert differences(example, answer) == []
    order = answers[5]["data"]["order"]
    assert (order["status"], order["filledQuantity"]) == ("FILLED", 2)
    assert answers[6]["holderName"] == "Mara Holm"
    assert answers[6]["tokenBalances"] == [{"balanceSpecificToken": 2}]


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_the_tasks_do_what_their_page_says(
    language: str, running_server: dict, tmp_path: Path
):
    """They begin with the function that the first trade defines."""
    preparation = next(text for kind, text in FENCED.findall(TEXT) if kind == language)
    text = preparation + program(language, TASKS)
    environment = {"API": running_server["graphql"], "KEY": running_server["key"]}
    printed = printed_by(language, environment, tmp_path, text)
    documents = [last_document(part) for part in printed.split(MARK)[:-1]]
    life, copied, compared, sums = documents
    assert life == ["ORDER_ACCEPTED", "ORDER_CANCELLED"]
    assert copied["inMirror"] == copied["atPartnerAPI"] > 0
    assert compared == {"found": True}
    assert sums == {"tradesMatch": True, "balanceMatches": True}


def test_documents_are_fetched_as_their_page_says(
    running_system: System, tmp_path: Path
):
    directory = {"PARTNER_API_DIRECTORY": str(running_system.directory)}
    subprocess.run(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "run", "documents"],
        env=bare_environment() | directory,
        check=True,
    )
    server = running_system.described
    environment = {"API": server["graphql"], "KEY": server["key"]}
    preparation = next(text for kind, text in FENCED.findall(TEXT) if kind == "python")
    text = preparation + program("python", DOCUMENTS)
    printed = printed_by("python", environment, tmp_path, text)
    [found] = [last_document(part) for part in printed.split(MARK)[:-1]]
    [shown] = [text for kind, text in FENCED.findall(DOCUMENTS) if kind == "json"]
    assert differences(json.loads(shown), found) == []
    assert found["isSame"]


@pytest.mark.parametrize("name", docs.FOR_PARTNERS)
def test_python_can_be_pasted_into_its_own_shell(name: str):
    """There an empty line ends a block, and nothing else does."""
    page = docs.path_of(name).read_text()
    for kind, text in FENCED.findall(page):
        lines: list[str] = []
        for line in [*text.splitlines(), "", ""] if kind == "python" else []:
            lines.append(line)
            if compile_command("\n".join(lines)) is not None:
                lines.clear()
        assert lines == []


def test_each_step_has_every_language():
    rows = re.findall(
        r"(?:^```(?:sh|python|javascript)\n.*?^```\n\n?)+", TEXT, re.M | re.S
    )
    assert len(rows) == 9
    for row in rows:
        assert [kind for kind, _ in FENCED.findall(row)] == list(docs.FORMS)


def test_the_trade_arrives_on_fix(running_server: dict):
    """The command that the page shows, as far as its first book."""
    [(_, command)] = [found for found in FENCED.findall(TEXT) if found[0] == "text"]
    key, program, *arguments = command.split()
    assert key == f"FIX_KEY='{docs.NO_KEY}'"
    assert program == ".venv/bin/python"
    with subprocess.Popen(
        [sys.executable, *arguments, "--port", str(running_server["fix"]["port"])],
        cwd=settings.BASE_DIR,
        env={**os.environ, "FIX_KEY": running_server["key"]},
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        assert client.stdout
        assert any("35=W" in line for line in client.stdout)
        client.terminate()
