"""What workers do; each task calls what a command or a page calls, too."""

from collections.abc import Callable
from functools import wraps
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from accounts.desk.notices import send_desk_notices
from accounts.history.notices import send_notices as send
from issuers.legacy.background import deliver_due
from issuers.models import Event
from issuers.models import announce_articles as announce
from issuers.register.statement_models import RecordInstant
from marketdata.books.pruning import KEEP, prunable_logs, prune
from marketdata.documents.issuing import issue_due
from marketdata.trading import refused, tariffs, telling
from partnerapi.celery import app
from partnerapi.core.redis import call
from partnerapi.exports.models import Export
from partnerapi.exports.writing import write_exports as write
from partnerapi.gateway.counts import RequestCount
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.operations.jobs import run_job
from partnerapi.operations.models import JobRun
from partnerapi.schema import schema
from partnerapi.staff.authentication.models import FailedSignIn
from partnerapi.staff.register.import_jobs import import_next

EXPORT_SECONDS = DELIVERY_SECONDS = NOTICE_SECONDS = 10
"""Then other tasks have their turn."""
DOCUMENT_SECONDS = 400
"""Of one run of the task, which is then sent anew."""


def make_task(job: Callable[[], str]) -> Any:
    """A task that runs a job, which says what it did, and records that."""

    @wraps(job)
    def run() -> None:
        run_job(job.__name__, job)

    return app.task(run)


@app.task
def answer_ping(key: str) -> None:
    """Leave a sign in Valkey, where the process that asked looks for it."""
    call("SET", key, 1, "EX", 60)


@app.task
def write_exports() -> None:
    if write(schema, EXPORT_SECONDS):
        write_exports.apply_async(expires=60)


@app.task
def deliver_legacy_shares() -> None:
    if deliver_due(DELIVERY_SECONDS):
        deliver_legacy_shares.apply_async(expires=60)


@app.task
def import_files() -> None:
    if import_next():
        import_files.apply_async(expires=60)


@app.task
def send_notices() -> None:
    send(NOTICE_SECONDS)
    send_desk_notices(NOTICE_SECONDS)


@app.task
def tell_registers() -> None:
    telling.tell_registers()


@make_task
def announce_articles() -> str:
    return f"Announced {announce()} new articles to partners."


@make_task
def prune_events() -> str:
    return f"Deleted {Event.objects.prune()} events past their retention."


@make_task
def prune_exports() -> str:
    return f"Deleted {Export.objects.prune()} exports past their day."


@make_task
def prune_idempotency_records() -> str:
    deleted = IdempotencyRecord.objects.expired(timezone.now()).prune()
    return f"Deleted {deleted} expired idempotency records."


@make_task
def prune_request_counts() -> str:
    return f"Deleted {RequestCount.objects.prune()} hourly counts of requests."


@make_task
def prune_book_log() -> str:
    deleted = prune(prunable_logs(timezone.now() - KEEP))
    return f"Deleted {deleted} rows of the order books' logs."


@make_task
def prune_job_runs() -> str:
    return f"Deleted {JobRun.objects.prune()} old job runs."


@make_task
def prune_failed_sign_ins() -> str:
    return f"Deleted {FailedSignIn.objects.prune()} records of failed sign-ins."


@make_task
def prune_refused_orders() -> str:
    return f"Deleted {refused.prune()} refused orders past their retention."


@make_task
def sweep_fees() -> str:
    return f"Moved the fees of {tariffs.sweep_fees()} markets."


@make_task
def issue_documents() -> str:
    issued = issue_due(timezone.now(), DOCUMENT_SECONDS)
    if issued.has_more:
        app.send_task("partnerapi.operations.tasks.issue_documents")
    return f"Issued {issued}."


@make_task
def clear_sessions() -> str:
    call_command("clearsessions")
    return "Deleted expired staff sessions."


@make_task
def verify_register() -> str:
    return said_by("verify", "register")


@make_task
def verify_books() -> str:
    return said_by("verify", "books")


@make_task
def verify_cash() -> str:
    return said_by("verify", "cash")


@make_task
def verify_market() -> str:
    return said_by("verify", "market")


@make_task
def verify_approvals() -> str:
    return said_by("verify", "approvals")


@make_task
def register_statement() -> str:
    if not (settings.PARTNER_API_STATEMENTS and settings.PARTNER_API_STATEMENT_KEY):
        return (
            "No statement was written: PARTNER_API_STATEMENTS and "
            "PARTNER_API_STATEMENT_KEY are not both set."
        )
    return said_by("export", "register-statement")


@app.task
def state_record_instants() -> None:
    if RecordInstant.objects.due(timezone.now()).exists():
        register_statement()


def said_by(*command: str) -> str:
    """What a command says at its end.

    Raises:
        CommandError: what it found is wrong.
    """
    said = StringIO()
    call_command(*command, stdout=said)
    return said.getvalue().strip().splitlines()[-1]
