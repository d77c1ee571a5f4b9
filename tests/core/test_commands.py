"""What every command does where the ground gives way."""

import os
import subprocess
import sys
import threading
import time

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection, connections

from accounts.people.models import User
from tests.owner import superuser, tamper


def test_a_database_that_is_not_there_is_a_sentence():
    run = subprocess.run(
        [sys.executable, "manage.py", "ledger", "show", "ACME"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("CommandError: The database does not answer: ")
    assert "Traceback" not in run.stderr


def waits(cursor, backend):
    cursor.execute("SELECT FROM pg_locks WHERE pid = %s AND NOT granted", [backend])
    return cursor.fetchone() is not None


@pytest.mark.django_db(transaction=True)
def test_a_database_that_goes_away_is_a_sentence(tmp_path):
    """The server ends the connection while the import waits for a row."""
    superuser(
        "ana@example.com", "a long password", type="INDIVIDUAL", first_name="Ana",
        last_name="Lund",
    )  # fmt: skip
    file = tmp_path / "holders.csv"
    file.write_text("name,kind,email\nBo Berg,INDIVIDUAL,bo@example.com\n")
    refusals: list[str] = []

    def import_holders():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backends.append(cursor.fetchone()[0])
        begun.set()
        try:
            call_command("import", "holders", file, staff="ana@example.com")
        except CommandError as error:
            refusals.append(str(error))
        finally:
            connections.close_all()

    backends: list[int] = []
    begun = threading.Event()
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        tamper("LOCK accounts_holderimport IN ACCESS EXCLUSIVE MODE")
        thread = threading.Thread(target=import_holders)
        thread.start()
        begun.wait()
        while not waits(cursor, backends[0]):
            time.sleep(0.01)
        cursor.execute("SELECT pg_terminate_backend(%s)", backends)
        thread.join()
        cursor.execute("ROLLBACK")
    [said] = refusals
    assert said.startswith("The database does not answer: ")
    assert not User.objects.filter(email="bo@example.com").exists()
