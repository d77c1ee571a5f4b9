"""Nonsense in the environment ends a command with one line that names the remedy."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

import partnerapi.settings
from partnerapi.settings import VARIABLES, address
from tests.system import bare_environment


def check(directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=settings.BASE_DIR,
        env=bare_environment() | {"PARTNER_API_DIRECTORY": str(directory)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


COMPLETE = {
    "DATABASE_URL": "postgres://api:s3cret@db.invalid:5432/partnerapi",
    "REDIS_URL": "redis://cache.invalid:6379/0",
    "SECRET_KEY": "x" * 50,
    "PARTNER_API_KEY_PEPPER": "y" * 50,
}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PARTNER_API_HTTPS", "perhaps", "true or false"),
        ("PARTNER_API_EVENT_DAYS", "29", "a number of days, 30 to 36500"),
        ("PARTNER_API_MAX_COST", "dear", "a whole number, 1 or more"),
        ("PARTNER_API_BUDGET_REFILL", "0", "a whole number, 1 or more"),
        ("PARTNER_API_TRUSTED_PROXIES", "-1", "a whole number, 0 or more"),
        ("LOG_LEVEL", "LOUD", "one of DEBUG, INFO, WARNING, ERROR"),
        ("REDIS_URL", "cache:6379", "an address starting with redis://"),
        ("DATABASE_URL", "mysql://db/x", "an address starting with postgres://"),
        ("DATABASE_URL", "postgres://api:s3cret@db:port/x", "a port number"),
        ("DATABASE_URL", "postgres://api:s3cret@a:5432,b:port/x", "a port number"),
        ("PARTNER_API_BASE_URL", "api.example.com", "an address starting with https"),
        ("FIX_PORT", "65536", "a port number, 1 to 65535"),
        ("FIX_COMP_ID", "PARTNER API", "1 to 20 letters, digits, dots, dashes"),
        ("FIX_SESSIONS", "0", "a whole number, 1 or more"),
        ("PARTNER_API_SERVES", "web", "api, admin or both"),
    ],
)
def test_refuses_nonsense_with_an_example(
    name: str, value: str, expected: str, tmp_path: Path
):
    refused = check(tmp_path, **COMPLETE | {name: value})
    assert refused.returncode == 1
    [line] = refused.stderr.splitlines()
    assert line.startswith(f"{name}=")
    assert f"expected {expected}" in line
    assert f"example: {name}=" in line
    assert "s3cret" not in line


@pytest.mark.parametrize("name", ["REDIS_URL", "SECRET_KEY", "PARTNER_API_KEY_PEPPER"])
def test_asks_for_what_a_database_needs(name: str, tmp_path: Path):
    refused = check(tmp_path, **COMPLETE | {name: ""})
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"{name} is not set, and DATABASE_URL is")


def test_reads_secrets_from_files(tmp_path: Path):
    given = dict(COMPLETE)
    pepper = tmp_path / "pepper"
    pepper.write_text(given.pop("PARTNER_API_KEY_PEPPER") + "\n")
    variables = given | {"PARTNER_API_KEY_PEPPER_FILE": str(pepper)}
    code = "from django.conf import settings; print(settings.PARTNER_API_KEY_PEPPER)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env=bare_environment()
        | {"DJANGO_SETTINGS_MODULE": "partnerapi.settings"}
        | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "y" * 50 + "\n"


def test_names_a_file_that_cannot_be_read(tmp_path: Path):
    refused = check(tmp_path, **COMPLETE | {"SECRET_KEY_FILE": str(tmp_path / "key")})
    assert refused.returncode == 1
    assert refused.stderr == (
        f"SECRET_KEY_FILE names {tmp_path / 'key'}, which cannot be read: No such file "
        "or directory.\n"
    )


def database_options(tmp_path: Path, **variables: str) -> list[Any]:
    """How a command connects, and how a web process does."""
    code = (
        "import json; from django.conf import settings;"
        "print(json.dumps([settings.DATABASES['default'],"
        " settings.DATABASES['default'] | settings.DATABASE_OF_REQUESTS]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env=bare_environment()
        | {"DJANGO_SETTINGS_MODULE": "partnerapi.settings"}
        | COMPLETE
        | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    options: list[Any] = json.loads(done.stdout)
    return options


GIVEN = "?options=-c%20lock_timeout%3D9&prepare_threshold=7&connect_timeout=8"


def test_what_the_address_of_the_database_says_is_kept(tmp_path: Path):
    given = {"DATABASE_URL": COMPLETE["DATABASE_URL"] + GIVEN}
    for database in database_options(tmp_path, **given):
        options = database["OPTIONS"]
        assert options["options"].endswith(" -c lock_timeout=9")
        assert (options["prepare_threshold"], options["connect_timeout"]) == (7, 8)
    command, web = database_options(tmp_path)
    assert "statement_timeout" not in command["OPTIONS"]["options"]
    assert "-c statement_timeout=10000" in web["OPTIONS"]["options"]
    assert not web["DISABLE_SERVER_SIDE_CURSORS"]


def test_behind_a_pooler_nothing_lives_in_a_session_of_requests(tmp_path: Path):
    pooled = {
        "DATABASE_URL": "postgres://api:s3cret@pooler.invalid:6432/partnerapi",
        "DATABASE_DIRECT_URL": COMPLETE["DATABASE_URL"],
    }
    command, web = database_options(tmp_path, **pooled)
    assert (web["HOST"], command["HOST"]) == ("pooler.invalid", "db.invalid")
    assert "options" not in web["OPTIONS"]
    assert web["OPTIONS"]["prepare_threshold"] is None
    assert web["DISABLE_SERVER_SIDE_CURSORS"]
    assert "-c statement_timeout=0" in command["OPTIONS"]["options"]
    assert not command["DISABLE_SERVER_SIDE_CURSORS"]
    pooled["DATABASE_URL"] += GIVEN
    _, web = database_options(tmp_path, **pooled)
    assert web["OPTIONS"]["options"] == "-c lock_timeout=9"
    assert web["OPTIONS"]["prepare_threshold"] == 7


def test_a_variable_of_an_earlier_release_is_told(tmp_path: Path):
    file = tmp_path / "depth"
    file.write_text("20\n")
    said = check(
        tmp_path,
        **COMPLETE | {"PARTNER_API_POOLER": "transaction", "FIX_CONFLATION_MS": ""},
        PARTNER_API_MAX_DEPTH_FILE=str(file),
        PARTNER_API_MAX_TOKENS_FILE=str(tmp_path / "absent"),
    )
    assert said.returncode == 0
    assert [line for line in said.stderr.splitlines() if "W001" in line] == [
        "?: (partnerapi.W001) PARTNER_API_MAX_DEPTH is set but no longer used: it "
        "is 12.",
        "?: (partnerapi.W001) PARTNER_API_MAX_TOKENS is set but no longer used: it "
        "is 2,000.",
        "?: (partnerapi.W001) PARTNER_API_POOLER is set but no longer used: "
        "DATABASE_DIRECT_URL alone shows that there is a pooler.",
    ]
    assert not settings.REMOVED.keys() & VARIABLES.keys()


NUMBERS = {
    name: number[0]
    for name, told in settings.REMOVED.items()
    if (number := re.findall(r"[0-9]+(?:,[0-9]{3})*", told))
}


@pytest.mark.parametrize(("name", "number"), NUMBERS.items())
def test_what_is_told_of_a_variable_holds(name: str, number: str):
    assert f"{getattr(partnerapi.settings, name):,}" == number


def test_no_more_can_be_set_than_an_operator_reads_in_a_sitting():
    assert len(VARIABLES) <= 45


def test_every_variable_is_read():
    written = (settings.BASE_DIR / "partnerapi" / "settings.py").read_text()
    unread = [name for name in VARIABLES if f'values["{name}"]' not in written]
    assert unread == [], "assign them below VARIABLES in partnerapi/settings.py"


def test_names_the_remedy_where_there_is_no_database(tmp_path: Path):
    refused = check(tmp_path)
    assert refused.returncode == 1
    assert "partnerapi.E001" in refused.stderr
    assert "python manage.py up" in refused.stderr


def test_an_address_may_name_several_hosts():
    named = address("postgres://api:s3cret@db1:5433,db2,[::1]:5434/partnerapi")
    assert named["HOST"] == "db1,db2,::1"
    assert named["PORT"] == "5433,5432,5434"
    assert named["OPTIONS"] == {"target_session_attrs": "read-write"}
    assert address("postgres://db/x")["OPTIONS"] == {}
    given = address("postgres://a,b/x?target_session_attrs=any")
    assert given["OPTIONS"] == {"target_session_attrs": "any"}
