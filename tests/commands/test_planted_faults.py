"""Faults that `doctor` and `/readyz` name, planted one by one, and repaired."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from time import time
from typing import Any

import pytest
from django.db import connection

from partnerapi.operations.diagnosis import database, installation, machine, trials
from partnerapi.operations.diagnosis.findings import (
    Check,
    Finding,
    State,
    findings,
)
from tests.characters import new_world
from tests.owner import as_committed, as_owner, tamper


def named(found: Finding, state: State, says: str, remedy: str) -> None:
    assert found.state is state, found
    assert says in found.says
    assert remedy in found.remedy


def test_a_clock_that_went_back_a_day(db: None, monkeypatch: pytest.MonkeyPatch):
    day = timedelta(days=1).total_seconds()
    with monkeypatch.context() as planted:
        planted.setattr(database, "time", lambda: time() - day)
        [found] = database.clock()
        named(found, State.FAILED, "s apart", "NTP")
        assert found.figures["seconds"] == pytest.approx(day, abs=60)
    [found] = database.clock()
    assert found.state is State.OK


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for limit, state in (("FULL_BYTES", State.FAILED), ("LOW_BYTES", State.WARNING)):
        with monkeypatch.context() as planted:
            planted.setattr(machine, "LOW_BYTES", 2**80)
            planted.setattr(machine, "LOW_SHARE", 2)
            planted.setattr(machine, "FULL_SHARE", 2)
            planted.setattr(machine, "FULL_BYTES", 0)
            planted.setattr(machine, limit, 2**80)
            named(
                machine.disk(tmp_path), state, "GiB are free", "logs and old releases"
            )


def test_a_directory_that_is_not_mounted(tmp_path: Path):
    place = tmp_path / "evidence"
    named(machine.disk(place), State.FAILED, "No such file", "Create the directory")
    place.mkdir()
    assert machine.disk(place).state is not State.FAILED


@pytest.mark.django_db(transaction=True)
def test_a_database_that_only_reads():
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        [found] = database.database()
        named(
            found, State.FAILED, "it is read-only", "default_transaction_read_only off"
        )
        cursor.execute("SET default_transaction_read_only = off")
        [found] = database.database()
        assert found.state is State.OK


@pytest.mark.django_db(transaction=True)
def test_a_database_without_a_connection_left():
    def look() -> Finding:
        # In a thread, which has a connection of its own.
        try:
            [[found]] = findings([Check("database", database.database)])
            return found
        finally:
            connection.close()

    limit = f'ALTER DATABASE "{connection.settings_dict["NAME"]}" CONNECTION LIMIT '
    with as_owner(), connection.cursor() as owner, ThreadPoolExecutor(1) as thread:
        owner.execute(limit + "0")
        found = thread.submit(look).result()
        owner.execute(limit + "-1")
        named(found, State.FAILED, "no connection left", "Raise max_connections")
        assert thread.submit(look).result().state is State.OK


@pytest.mark.django_db(transaction=True)
def test_a_role_that_owns_the_tables():
    with as_owner():
        [found] = database.grants()
    named(found, State.WARNING, "owns the tables", "grant_application_role")
    [found] = database.grants()
    assert found.state is State.OK


def test_a_variable_of_an_earlier_release(settings: Any):
    settings.REMOVED_BUT_SET = ["DEBUG"]
    [found] = installation.settings_stand()
    named(found, State.WARNING, "DEBUG is set but no longer used", "Unset DEBUG")
    settings.REMOVED_BUT_SET = []
    [found] = installation.settings_stand()
    assert found.state is State.OK


def test_a_pepper_that_can_be_guessed(settings: Any):
    settings.PARTNER_API_KEY_PEPPER = "aaaaabbbbb" * 10
    [_, found] = installation.secrets()
    named(found, State.FAILED, "can be guessed", "token_urlsafe")


def test_a_certificate_that_can_not_be_read(tmp_path: Path, settings: Any):
    settings.FIX_TLS_CERTIFICATE = str(tmp_path / "chain.pem")
    settings.FIX_TLS_KEY = str(tmp_path / "key.pem")
    [found] = machine.certificate()
    named(found, State.FAILED, "chain.pem", "SIGHUP")


def test_a_register_that_was_tampered_with(db: None):
    new_world()
    as_committed()
    [found] = trials.run_verification("register")
    assert found.state is State.OK, found
    tamper("UPDATE issuers_tokenledgerhead SET last_seq = last_seq + 1")
    [found] = trials.run_verification("register")
    named(found, State.FAILED, "", "compare with a backup")
