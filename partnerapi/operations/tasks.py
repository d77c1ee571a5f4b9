"""What workers do; each task calls what a command or a page calls, too."""

from django.utils import timezone

from marketdata.books.pruning import KEEP, prunable_logs, prune
from partnerapi.celery import app
from partnerapi.models import IdempotencyRecord


@app.task
def prune_idempotency_records() -> None:
    IdempotencyRecord.objects.expired(timezone.now()).prune()


@app.task
def prune_book_log() -> None:
    prune(prunable_logs(timezone.now() - KEEP))
