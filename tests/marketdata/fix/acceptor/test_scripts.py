"""The runner of acceptance scripts finds what an acceptor does wrong."""

from pathlib import Path

import pytest

from tests.marketdata.fix.counterpart import Counterpart, counterpart
from tests.marketdata.fix.scripts import Partner, run_script

LOGON = "I8=FIX.4.4|35=A|34=1|49=TW44|52=<TIME>|56=ISLD|98=0|108=30|141=Y|"
WELCOME = "E8=FIX.4.4|9=1|35=A|34=1|49=ISLD|52=0|56=TW44|98=0|108=30|141=Y|10=0|"
ORDER = "I8=FIX.4.4|35=D|34=2|49=TW44|52=<TIME-3>|56=ISLD|11=a|"
ECHO = "E8=FIX.4.4|9=1|35=D|34=2|49=ISLD|52=0|56=TW44|11=a|10=0|"


def run(tmp_path: Path, acceptor, *lines: str) -> str | None:
    script = tmp_path / "script.def"
    script.write_text("\n".join(lines).replace("|", "\x01"))
    with counterpart(acceptor) as port:
        names = {"TW44": "US", "ISLD": "THEM"}
        return run_script(script, Partner("127.0.0.1", port, "key", names))


def well(them: Counterpart) -> None:
    logon = them.welcome()
    assert (logon.get(554), logon.get(49), logon.get(56)) == ("key", "US", "THEM")
    assert them.hear().get(11) == "a"
    them.say("j", (45, 2), (372, "D"), (380, 3))


def says_more(them: Counterpart) -> None:
    well(them)
    them.say("0")


def rejects(them: Counterpart) -> None:
    them.welcome()
    them.hear()
    them.say("3", (45, 2))


def test_passes_what_does_as_expected(tmp_path):
    lines = ["# a comment", "", "iCONNECT", LOGON, WELCOME, ORDER, ECHO, "eDISCONNECT"]
    assert run(tmp_path, well, *lines) is None


@pytest.mark.parametrize(
    ("acceptor", "line", "told"),
    [
        (lambda them: them.say("A", (98, 0)), 3, "other tags, or another order"),
        (
            lambda them: them.say("A", (98, 0), (108, 31), (141, "Y")),
            3,
            "108 is '31' and should be '30'",
        ),
        (lambda them: them.connection.sendall(b"x" * 30), 3, "garbled: expected 8="),
        (lambda them: them.hear(), 3, "the connection was closed"),
        (rejects, 5, "expected BusinessMessageReject(j) with 380=3"),
        (
            says_more,
            6,
            "instead of a close came 8=FIX.4.4|9=49|35=0|",
        ),
    ],
)
def test_tells_the_line_of_a_miss(tmp_path, acceptor, line, told):
    lines = ["iCONNECT", LOGON, WELCOME, ORDER, ECHO, "eDISCONNECT"]
    assert run(tmp_path, acceptor, *lines).startswith(f"line {line}: {told}")
