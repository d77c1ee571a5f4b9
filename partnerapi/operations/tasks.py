"""What workers do; each task calls what a command or a page calls, too."""

from io import StringIO

from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from issuers.models import Event
from issuers.models import announce_articles as announce
from marketdata.books.pruning import KEEP, prunable_logs, prune
from partnerapi.celery import app
from partnerapi.exports.writing import write_exports as write
from partnerapi.models import Export, IdempotencyRecord
from partnerapi.operations.jobs import run_job
from partnerapi.schema import schema

EXPORT_SECONDS = 10
"""Then other tasks have their turn."""


@app.task
def prune_idempotency_records() -> None:
    IdempotencyRecord.objects.expired(timezone.now()).prune()


@app.task
def announce_articles() -> None:
    announce()


@app.task
def prune_events() -> None:
    Event.objects.prune()


@app.task
def write_exports() -> None:
    if write(schema, EXPORT_SECONDS):
        write_exports.apply_async(expires=60)


@app.task
def prune_exports() -> None:
    Export.objects.prune()


@app.task
def prune_book_log() -> None:
    prune(prunable_logs(timezone.now() - KEEP))


@app.task
def verify_register() -> None:
    run_job("verify_register", lambda: said_by("verify_register"))


@app.task
def verify_books() -> None:
    run_job("verify_books", lambda: said_by("verify_books"))


@app.task
def register_statement() -> None:
    run_job("register_statement", state_register)


def state_register() -> str:
    if not (settings.PARTNER_API_STATEMENTS and settings.PARTNER_API_STATEMENT_KEY):
        return (
            "No statement was written: PARTNER_API_STATEMENTS and "
            "PARTNER_API_STATEMENT_KEY are not both set."
        )
    return said_by("register_statement")


def said_by(command: str) -> str:
    """What a command says at its end.

    Raises:
        CommandError: what it found is wrong.
    """
    said = StringIO()
    call_command(command, stdout=said)
    return said.getvalue().strip().splitlines()[-1]
