"""Processes that could not serve end at their start, with a sentence."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection, transaction

from accounts.keys import peppers
from partnerapi.core import starting
from partnerapi.core.postgresql import lending
from partnerapi.core.starting import StartRefused, check_start
from partnerapi.operations.release import known_migrations
from partnerapi.operations.starting import (
    check_grants,
    check_migrations,
    check_session,
)
from tests.owner import tamper
from tests.system import bare_environment, free_port
from tests.waiting import PROGRAM_SECONDS

PARTS = {
    "web": [
        *("-m", "gunicorn", "partnerapi.wsgi", "--no-control-socket"),
        *("--config", "python:partnerapi.operations.gunicorn_config"),
    ],
    "worker": ["-m", "celery", "--app=partnerapi", "worker", "--pool=solo"],
    "beat": ["-m", "celery", "--app=partnerapi", "beat"],
    "acceptor": ["manage.py", "run_fix_acceptor", "--skip-checks"],
    "clock": ["manage.py", "run_market_clock", "--skip-checks"],
    "webhooks": ["manage.py", "run_webhooks", "--skip-checks"],
}
CODES = {"web": 3, "worker": 1, "beat": 1, "acceptor": 1, "clock": 1, "webhooks": 1}


def ended(
    part: str, directory: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *PARTS[part]]
    if part == "beat":
        command.append(f"--schedule={directory / 'schedule'}")
    if part == "web":
        command.append(f"--bind=127.0.0.1:{free_port()}")
    return subprocess.run(
        command,
        cwd=settings.BASE_DIR,
        env=bare_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )


@pytest.mark.parametrize("part", PARTS)
def test_without_settings_it_ends_with_a_sentence(part: str, tmp_path: Path):
    run = ended(part, tmp_path, {"PARTNER_API_DIRECTORY": str(tmp_path)})
    assert run.returncode == CODES[part], run.stderr
    assert "DATABASE_URL is not set and there is no sandbox here" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("part", PARTS)
def test_with_nonsense_it_ends_with_a_sentence(part: str, tmp_path: Path):
    nonsense = {"PARTNER_API_DIRECTORY": str(tmp_path), "FIX_PORT": "none"}
    run = ended(part, tmp_path, nonsense)
    assert run.returncode == CODES[part], run.stderr
    assert "FIX_PORT='none': expected a port number, 1 to 65535" in run.stderr
    assert "Traceback" not in run.stderr


def test_where_it_can_not_count_it_ends_with_a_sentence(tmp_path: Path):
    nowhere = {
        "PARTNER_API_DIRECTORY": str(tmp_path),
        "PARTNER_API_METRICS": "/dev/null/metrics",
    }
    run = ended("web", tmp_path, nowhere)
    assert run.returncode == CODES["web"], run.stderr
    assert "a directory that this process may create or write to" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.fixture
def with_another_pepper(
    django_db_setup: None, django_db_blocker
) -> Iterator[dict[str, str]]:
    database = connection.settings_dict["NAME"]
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()
    names = ("REDIS_URL", "SECRET_KEY", "PARTNER_API_HTTPS")
    with django_db_blocker.unblock():
        peppers.check_peppers()
        yield {name: os.environ[name] for name in names} | {
            "DATABASE_URL": url,
            "PARTNER_API_KEY_PEPPER": "mistyped" * 7,
        }


def test_beat_that_can_not_write_ends_with_a_sentence(
    with_another_pepper: dict[str, str], tmp_path: Path
):
    run = ended("beat", tmp_path / "missing", with_another_pepper)
    assert run.returncode == CODES["beat"], run.stderr
    assert (
        f"beat may not write {tmp_path / 'missing'}; pass a writable file" in run.stderr
    )
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("part", PARTS)
def test_with_another_pepper_it_ends_with_a_sentence(
    part: str, with_another_pepper: dict[str, str], tmp_path: Path
):
    run = ended(part, tmp_path, with_another_pepper)
    assert run.returncode == CODES[part], run.stderr
    assert "PARTNER_API_KEY_PEPPER does not match the API keys" in run.stderr
    assert "Traceback" not in run.stderr


def test_what_fits_is_started(db: None):
    check_start()
    assert ("accounts", "0025_baseline") in known_migrations()
    assert ("axes", "0001_initial") in known_migrations()


def test_migrations_that_were_not_applied_are_named(db: None):
    tamper("DELETE FROM django_migrations WHERE name = '0046_judged_now'")
    with pytest.raises(StartRefused, match="1 migrations .*issuers.0046_judged_now"):
        check_migrations()


def test_rights_that_are_missing_are_named(db: None, application: dict[str, str]):
    role = application["USER"]
    tamper(
        f'REVOKE INSERT ON partnerapi_jobrun FROM "{role}"',
        f'REVOKE EXECUTE ON FUNCTION marketdata_hear(uuid[]) FROM "{role}"',
        f'REVOKE UPDATE (sent_at) ON accounts_staffnotice FROM "{role}"',
    )
    with pytest.raises(
        StartRefused,
        match=rf"{role}, .* lacks 3 rights, INSERT on partnerapi_jobrun, "
        r"UPDATE on accounts_staffnotice.sent_at, "
        r"EXECUTE on marketdata_hear\(uuid\[\]\); run .*grant_application_role",
    ):
        check_grants()


def ask_who_is_away() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DO $$ BEGIN RAISE SQLSTATE '57P01'; END $$")


def test_a_database_that_is_away_does_not_keep_it_from_starting(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    asking = f"{__name__}.ask_who_is_away"
    monkeypatch.setattr(starting, "checks", [asking])
    monkeypatch.setattr(connection, "close", lambda: None)
    check_start()
    assert "Started without checking the database" in caplog.text


@pytest.mark.django_db
def test_sessions_of_a_pooler_that_wait_without_end_are_refused(
    monkeypatch: pytest.MonkeyPatch,
):
    check_session()
    monkeypatch.setattr(settings, "IS_POOLED", True)
    check_session()
    monkeypatch.setattr(lending, "lender", lending.Lender(1))
    with pytest.raises(StartRefused, match="lack statement_timeout; run"):
        check_session()
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, TRUE)", [LIMIT])
    check_session()


LIMIT = settings.SESSION_OF_REQUESTS["statement_timeout"]
