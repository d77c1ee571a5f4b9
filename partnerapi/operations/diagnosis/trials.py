"""What is tried for real, as a partner or beat would: a Logon, a task, a request."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from io import StringIO
from threading import Timer
from time import monotonic, sleep
from uuid import uuid4

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from marketdata.fix.client.advice import explain
from marketdata.fix.client.health import prober
from marketdata.fix.client.initiator import FixFailure
from partnerapi.core.postgresql.faults import OutcomeUnknown
from partnerapi.core.redis import call
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.diagnosis.installation import own_key
from partnerapi.operations.tasks import answer_ping

WORKER_SECONDS = 5.0
LOOK_SECONDS = 0.05
WEB_SECONDS = 3.0


def logon(comp_id: str) -> Iterator[Finding]:
    """Logs on to the acceptor of this machine, as `run_fix_acceptor --check` does."""
    try:
        client = prober(settings.FIX_PORT, comp_id, own_key())
    except OSError as error:
        remedy = "Mend FIX_TLS_CERTIFICATE."
        yield Finding("logon", State.FAILED, str(error), remedy)
        return
    try:
        with client:
            pass
    except FixFailure as failure:
        yield Finding(
            "logon", State.FAILED, explain(failure, client),
            "Check that run_fix_acceptor runs here, on FIX_HOST and FIX_PORT, and "
            "read its log.",
        )  # fmt: skip
    else:
        yield Finding("logon", State.OK, f"{comp_id} logged on and out")


def worker() -> Iterator[Finding]:
    """Sends a task, and waits for what a worker writes."""
    begun = monotonic()
    key = f"ping:{uuid4()}"
    remedy = "Start one: celery --app=partnerapi worker; its log shows why it ended."
    try:
        answer_ping.apply_async([key], expires=WORKER_SECONDS, retry=False)
        while not call("GETDEL", key):
            if monotonic() - begun > WORKER_SECONDS:
                says = f"No worker has taken a task within {WORKER_SECONDS:.0f} s"
                yield Finding("worker", State.FAILED, says, remedy)
                return
            sleep(LOOK_SECONDS)
    except (RedisError, OperationalError) as error:
        yield Finding(
            "worker", State.UNKNOWN, f"Valkey accepts no task: {error}",
            "First repair Valkey.",
        )  # fmt: skip
        return
    seconds = round(monotonic() - begun, 3)
    says = f"A worker answered after {seconds:.2f} s"
    yield Finding("worker", State.OK, says, "", {"seconds": seconds})


COMMIT_SECONDS = 2.0
"""What a commit may take; it is given up then."""
TRIAL_BYTES = 8 * 2**20


def commit() -> Iterator[Finding]:
    """Has PostgreSQL commit a message without readers, as each change must."""
    begun = monotonic()
    connection.ensure_connection()
    # No limit of PostgreSQL's own ends the wait of a commit for a standby.
    given_up = Timer(COMMIT_SECONDS, connection.connection.cancel_safe)
    given_up.start()
    try:
        with (
            suppress(OutcomeUnknown),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute("SELECT pg_logical_emit_message(TRUE, 'partnerapi', '')")
    finally:
        given_up.cancel()
        given_up.join()
    seconds = round(monotonic() - begun, 3)
    figures = {"seconds": seconds}
    if seconds >= COMMIT_SECONDS:
        yield Finding(
            "commit", State.FAILED, f"A commit had not ended after {seconds:.1f} s",
            "Check that the standbys of synchronous_standby_names run, and check "
            "the disk of pg_wal.",
            figures,
        )  # fmt: skip
    else:
        says = f"A change is committed within {seconds:.2f} s"
        yield Finding("commit", State.OK, says, "", figures)


def room() -> Iterator[Finding]:
    """Has PostgreSQL write some megabytes into a table that it throws away."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE doctor_room ON COMMIT DROP AS"
            " SELECT repeat(chr(97 + n %% 26), 1000) AS said"
            " FROM generate_series(1, %s) AS n",
            [TRIAL_BYTES // 1000],
        )
        # A commit would wait for a standby that is gone, without end.
        transaction.set_rollback(True)
    says = f"PostgreSQL has room for at least {TRIAL_BYTES // 2**20} MiB more"
    yield Finding("room", State.OK, says)


def web(address: str) -> Iterator[Finding]:
    """Asks the web server of an address whether it is ready."""
    try:
        with urllib.request.urlopen(f"{address}/readyz", timeout=WEB_SECONDS) as answer:
            checks = len(json.load(answer)["checks"])
    except urllib.error.HTTPError as error:
        says = f"{address}/readyz answers {error.code}"
        remedy = (
            "Read the response and repair the parts that it names; other lines here "
            "show more."
        )
        yield Finding("web", State.FAILED, says, remedy)
    except (OSError, ValueError) as error:
        yield Finding(
            "web", State.FAILED, f"{address}/readyz does not answer: {error}",
            "Check that gunicorn runs and listens there.",
        )  # fmt: skip
    else:
        yield Finding(
            "web", State.OK, f"{address} is ready, according to {checks} checks"
        )


def run_verification(kind: str) -> Iterator[Finding]:
    """Runs a verification, which reads everything."""
    check = f"verify {kind}"
    said = StringIO()
    try:
        call_command("verify", kind, stdout=said)
    except CommandError as error:
        remedy = f"Run manage.py {check}, and compare with a backup."
        yield Finding(check, State.FAILED, str(error), remedy)
    else:
        says = said.getvalue().strip().splitlines()[-1]
        yield Finding(check, State.OK, says)
