"""The words after `manage.py`: duties, verbs, and the names of the release before."""

import io
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command, get_commands, load_command_class

from partnerapi.command_line import (
    DUTIES,
    LEDGER_VERBS,
    RENAMED,
    CommandLine,
    respell,
    translate_old_name,
)
from partnerapi.core.commands import CommandGroup
from tests.system import bare_environment

OURS = ("partnerapi", "accounts", "issuers", "marketdata", "marketdata.trading")
MOST = 35


def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=bare_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def group(name: str) -> CommandGroup:
    command = load_command_class(get_commands()[name], name)
    assert isinstance(command, CommandGroup)
    return command


def test_every_command_stands_with_one_duty():
    """A further deed is a subcommand of what is there, unless it runs on and on."""
    ours = [name for name, app in get_commands().items() if app in OURS]
    assert Counter(name for duty in DUTIES.values() for name in duty) == Counter(ours)
    assert len(DUTIES) == 6
    assert len(ours) <= MOST


def test_every_class_of_a_command_is_a_command_or_a_verb():
    written = {
        ".".join(path.relative_to(settings.BASE_DIR).with_suffix("").parts)
        for room in ("partnerapi", "accounts", "issuers", "marketdata")
        for path in Path(settings.BASE_DIR, room).rglob("management/**/*.py")
        if path.parent.name != "commands" and "\nclass Command(" in path.read_text()
    }
    groups = [name for duty in DUTIES.values() for name in duty if is_group(name)]
    verbs = {
        verb.removesuffix(".Command")
        for name in groups
        for verb in group(name).verbs.values()
    }
    assert written <= verbs


def is_group(name: str) -> bool:
    return isinstance(load_command_class(get_commands()[name], name), CommandGroup)


def test_help_has_a_line_for_each_command():
    lines = CommandLine(["manage.py", "help"]).main_help_text().splitlines()
    for commands in DUTIES.values():
        for name, does in commands.items():
            assert [line for line in lines if line.split()[:1] == [name]] == [
                f"  {name:<24}{does}"
            ]
    assert max(map(len, lines)) <= 88
    assert not any(line.split()[:1] == ["makemigrations"] for line in lines)


def test_help_says_all_and_of_one(capsys: pytest.CaptureFixture[str]):
    assert "    makemigrations\n" in manage("help", "--all").stdout
    verbs = manage("help", "ledger").stdout
    assert "\n  set-price                Record a new price" in verbs
    mint = manage("help", "ledger", "mint").stdout
    assert mint.startswith("usage: manage.py ledger mint ")
    assert "manage.py ledger mint ACME" in mint
    assert mint == manage("ledger", "mint", "--help").stdout


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_an_old_name_is_a_present_subcommand(old: str, new: str):
    assert old not in get_commands()
    name, verb = new.split()
    assert verb in group(name).verbs


def test_an_old_name_does_the_same_and_says_the_new_one(
    capsys: pytest.CaptureFixture[str],
):
    assert translate_old_name(["manage.py", "mint", "ACME", "5"]) == [
        *("manage.py", "ledger", "mint", "ACME", "5")
    ]
    assert capsys.readouterr().err == "manage.py mint is now manage.py ledger mint.\n"
    assert translate_old_name(["manage.py", "ledger", "ACME"])[1:] == [
        "ledger",
        "show",
        "ACME",
    ]
    said = "manage.py ledger is now manage.py ledger show.\n"
    assert capsys.readouterr().err == said
    for present in (["ledger", "mint", "ACME"], ["ledger", "--help"], ["doctor"], []):
        assert translate_old_name(["manage.py", *present]) == ["manage.py", *present]
    assert capsys.readouterr().err == ""
    assert set(LEDGER_VERBS) == set(group("ledger").verbs)

    old = manage("print_schema", "--check")
    assert old.returncode == 0
    assert old.stdout == manage("write", "schema", "--check").stdout
    assert old.stderr == "manage.py print_schema is now manage.py write schema.\n"


@pytest.mark.parametrize(
    ("written", "new"),
    [
        ("ledger reverse_entry 7", "ledger reverse 7"),
        ("ledger set_price ACME", "ledger set-price ACME"),
        ("import legacy_shareholders ACME", "import legacy-shareholders ACME"),
        ("export register_extract ACME", "export register-extract ACME"),
        ("restrict freeze_holder ACME", "restrict freeze ACME"),
    ],
)
def test_a_verb_with_an_underscore_does_the_same_and_says_its_name(
    written: str, new: str, capsys: pytest.CaptureFixture[str]
):
    assert translate_old_name(["manage.py", *written.split()]) == [
        "manage.py",
        *new.split(),
    ]
    names = [" ".join(line.split()[:2]) for line in (written, new)]
    said = f"manage.py {names[0]} is now manage.py {names[1]}.\n"
    assert capsys.readouterr().err == said


def test_another_verb_with_an_underscore_stays_as_it_is():
    for line in ("ledger book_log", "key make_one", "write sql_files"):
        assert respell(*line.split()) is None


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        (name, verb)
        for duty in DUTIES.values()
        for name in duty
        if is_group(name)
        for verb in group(name).verbs
    ],
)
def test_a_verb_explains_itself_with_an_example(
    name: str, verb: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit):
        call_command(name, verb, "--help", stdout=io.StringIO())
    said = capsys.readouterr().out
    assert f"manage.py {name} {verb}" in said


def test_descriptions_are_flush_left():
    names = [name for duty in DUTIES.values() for name in duty]
    commands = [load_command_class(get_commands()[name], name) for name in names]
    for command in commands[:]:
        if isinstance(command, CommandGroup):
            command.create_parser("", "")
            commands += command.commands.values()
    assert len(commands) > 60
    indented = [
        f"{type(command).__module__}: {line}"
        for command in commands
        for line in command.help.split("\n\n")[0].splitlines()
        if line.startswith(" ")
    ]
    assert indented == []


def test_an_unknown_verb_names_those_there_are():
    refused = manage("key", "make")
    assert refused.returncode == 2
    for verb in ("issue", "list", "revoke", "peppers"):
        assert verb in refused.stderr


def test_what_is_said_before_a_verb_holds_as_behind_it():
    parser = load_command_class("issuers", "ledger").create_parser("", "ledger")
    before = parser.parse_args(["--traceback", "-v", "3", "show", "ACME"])
    assert before == parser.parse_args(["show", "ACME", "--traceback", "-v", "3"])
    assert before.traceback is True
