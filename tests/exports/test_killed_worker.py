"""A worker that is killed while it writes: another one goes on behind its last page."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection, transaction

from issuers.register import ledger
from issuers.register.ledger import Entry
from partnerapi.exports.models import Export, ExportMember
from partnerapi.operations import tasks
from tests.characters import World
from tests.exports.conftest import Partner, token_id, uuid_of
from tests.issuers.register import people
from tests.owner import as_owner
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.usefixtures("one_person")

ENTRIES = 110


@contextlib.contextmanager
def celery(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A real worker of two processes, the second of which does the work."""
    database = connection.settings_dict["NAME"]
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()
    with log.open("wb") as output:
        worker = subprocess.Popen(
            [
                *(sys.executable, "-W", "ignore:You're running the worker with"),
                *("-m", "celery", "--app=tests.exports.small_pages", "--quiet"),
                *("worker", "--concurrency=1", "--without-mingle"),
            ],
            cwd=settings.BASE_DIR,
            env=os.environ | {"DATABASE_URL": url},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield worker
    finally:
        kill(worker)


def kill(worker: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait(PATIENCE_SECONDS)


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")
        [(waits,)] = cursor.fetchall()
    return waits


@pytest.mark.django_db(transaction=True)
def test_each_row_is_written_once(world: World, client_of: Partner, tmp_path: Path):
    accounts = [*ledger.holder_accounts(user.pk for user in people(5)).values()]
    token = world.public_token.pk
    ledger.record(
        [Entry(token, "MINT", n + 1, None, accounts[n % 5]) for n in range(ENTRIES)],
        "me",
    )
    id = client_of.create("TRANSACTIONS", tokenID=token_id(client_of))
    pk, log = uuid_of(id), tmp_path / "log"

    def asked_until(reached: Callable[[Export], bool]) -> None:
        """Ask the worker to look, again and again, as beat does."""

        def ask_again() -> bool:
            tasks.write_exports.apply_async(expires=2)
            return reached(Export.objects.get(pk=pk))

        until(ask_again, log.read_text, pause=0.3)

    with as_owner(), transaction.atomic():
        # Whoever writes the third member waits for the end of this transaction.
        ExportMember.objects.create(
            export_id=pk, number=3, position=0, rows=0, data=b""
        )
        with celery(log) as worker:
            asked_until(lambda export: export.members == 2 and somebody_waits())
            kill(worker)
        transaction.set_rollback(True)
    stopped = Export.objects.get(pk=pk)
    assert (stopped.status, stopped.rows) == ("RUNNING", 40)
    with celery(log):
        asked_until(lambda export: export.status == "READY")
    written = [line["sequence"] for line in client_of.lines(id)]
    assert written == [*range(1, ENTRIES + 1)]
    export = Export.objects.get(pk=pk)
    assert (export.members, export.charged) == (6, 6)
