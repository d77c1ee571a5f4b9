"""What a partner without our software takes from /docs/fix."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from marketdata.fix.downloads import FILES, client_program, dictionary
from tests.marketdata.fix.engines import new_book, running_engine
from tests.marketdata.fix.stock import fix
from tests.system import bare_environment, free_port
from tests.waiting import PROGRAM_SECONDS


def run(program: Path, *arguments: str, key: str = "") -> subprocess.CompletedProcess:
    """Run it where no package is installed."""
    return subprocess.run(
        [sys.executable, "-S", str(program), *arguments],
        env=bare_environment() | {"FIX_KEY": key},
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "fix_client.py"
    path.write_text(client_program())
    return path


def test_the_client_of_one_file_lists_instruments(program: Path):
    with running_engine([new_book("LUM", "FR0000120271")]) as bench:
        options = bench.options(0, ())
        listed = run(
            program,
            *("--address", f"127.0.0.1:{options['port']}", "--no-tls"),
            *("--comp-id", options["sender"], "--target", options["target"]),
            key=options["key"],
        )
    assert (listed.stderr, listed.returncode) == ("", 0)
    assert listed.stdout.split() == ["LUM", "FR0000120271", "LUM", "shares"]


def test_the_client_of_one_file_explains_itself(program: Path):
    assert "HOST:PORT" in run(program, "--help").stdout


def test_the_client_of_one_file_asks_for_a_key(program: Path):
    asked = run(program, "--address", "127.0.0.1:1", "--comp-id", "PARTNER001")
    assert (asked.returncode, asked.stderr.splitlines()[-1][-30:]) == (
        2,
        "FIX_KEY must hold your API key",
    )


def test_the_client_of_one_file_goes_to_and_fro(program: Path):
    """From the address whose session ended to the other one, whichever that is."""
    silent = f"127.0.0.1:{free_port()}"
    with running_engine([new_book("LUM", "FR0000120271")]) as bench:
        options = bench.options(0, ())
        serving = f"127.0.0.1:{options['port']}"
        arguments = [
            *("--address", silent, "--address", serving, "--no-tls"),
            *("--comp-id", options["sender"], "--target", options["target"], "LUM"),
        ]
        with subprocess.Popen(
            [sys.executable, "-S", str(program), *arguments],
            env=bare_environment() | {"FIX_KEY": options["key"]},
            stdout=subprocess.PIPE,
            text=True,
        ) as client:
            assert client.stdout
            watchdog = threading.Timer(PROGRAM_SECONDS, client.kill)
            watchdog.start()
            said = []
            for line in client.stdout:
                said.append(line.split(": ")[0])
                if line.startswith("LUM"):
                    bench.call(
                        bench.sessions.end, options["sender"], "The test ends it."
                    )
                if len(said) == 4:
                    client.kill()
            watchdog.cancel()
    assert [said[0], *said[2:]] == [silent, serving, silent]


def test_the_client_of_one_file_ends_where_a_symbol_is_unknown(program: Path):
    with running_engine([new_book("LUM", "FR0000120271")]) as bench:
        options = bench.options(0, ())
        refused = run(
            program,
            *("--address", f"127.0.0.1:{options['port']}", "--no-tls", "NOPE"),
            *("--comp-id", options["sender"], "--target", options["target"]),
            key=options["key"],
        )
    assert (refused.returncode, "NOPE" in refused.stderr) == (1, True)


def test_the_dictionary_knows_the_books_number(tmp_path: Path):
    path = tmp_path / "FIX44.xml"
    path.write_text(dictionary())
    ours = fix.DataDictionary(os.fspath(path))
    text = (
        "8=FIX.4.4|9=139|35=X|34=2|49=PARTNERAPI|52=20261120-10:00:00.000|"
        "56=PARTNER001|262=R1|268=1|279=2|269=0|55=LUM|270=0.99|"
        "272=20261120|273=09:08:07.065|5083=7|10=000|"
    ).replace("|", "\x01")
    message = fix.Message(text, ours, False)
    ours.validate(message)
    assert message.getField(5083) == "7"


@pytest.mark.parametrize("name", [*FILES])
def test_the_page_links_each_file(client, name: str):
    assert f'href="/docs/fix/{name}"' in client.get("/docs/fix").content.decode()
    response = client.get(f"/docs/fix/{name}")
    assert response.status_code == 200
    assert name in response["Content-Disposition"]
    assert client.get("/docs/fix/nothing").status_code == 404
