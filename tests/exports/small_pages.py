"""The worker of production, but that its pages are short: `celery --app=…`."""

from celery.signals import worker_process_init

from partnerapi.celery import app

__all__ = ["app"]


@worker_process_init.connect
def shorten_pages(**_: object) -> None:
    from partnerapi.exports import rows

    rows.PAGE_ROWS = 20
