"""What workers do; each task calls what a command or a page calls, too."""

from io import StringIO

from django.conf import settings
from django.core.management import call_command
from django.utils import timezone

from marketdata.books.pruning import KEEP, prunable_logs, prune
from partnerapi.celery import app
from partnerapi.models import FailedSignIn, IdempotencyRecord
from partnerapi.operations.jobs import run_job


@app.task
def prune_idempotency_records() -> None:
    IdempotencyRecord.objects.expired(timezone.now()).prune()


@app.task
def prune_failed_sign_ins() -> None:
    FailedSignIn.objects.prune()


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
