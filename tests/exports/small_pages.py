"""The worker of production, but that its pages are short: `celery --app=…`."""

from dataclasses import replace

from celery.signals import worker_process_init

from partnerapi.celery import app

__all__ = ["app"]


@worker_process_init.connect
def shorten_pages(**_: object) -> None:
    from partnerapi.exports import rows
    from partnerapi.exports.connections import CONNECTIONS

    short = {name: replace(e, page_rows=20) for name, e in CONNECTIONS.items()}
    rows.CONNECTIONS = short
