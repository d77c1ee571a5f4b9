"""Work in the background: `celery -A partnerapi worker` and `beat`.

Messages only say when to look. The work to do is in the database, so that a lost
message costs time and a repeated one costs nothing, and no result is kept.
"""

import os
import sys
from datetime import timedelta
from time import time
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")

from celery import Celery
from celery.schedules import crontab
from celery.signals import (
    beat_init,
    before_task_publish,
    celeryd_init,
    setup_logging,
    task_prerun,
)
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from partnerapi.core.json_lines import request_id
from partnerapi.core.schedule import AT_NIGHT, BY_DAY, PERIODS, TASK_SECONDS
from partnerapi.core.starting import StartRefused, check_start

VISIBILITY_SECONDS = 600


def broker_url(redis_url: str) -> str:
    """A REDIS_URL as Celery reads it, which has its own form for unix sockets."""
    parts = urlsplit(redis_url)
    options = dict(parse_qsl(parts.query))
    database = options.pop("db", "")
    if parts.scheme == "unix":
        server = parts.netloc
        if password := options.get("password"):
            server = f"{parts.username or ''}:{quote(password, safe='')}@"
        return f"redis+socket://{server}{parts.path}?virtual_host={database or 0}"
    if parts.scheme == "rediss":
        # Else Celery would believe any certificate.
        options.setdefault("ssl_cert_reqs", "required")
    path = f"/{database}" if database else parts.path
    return parts._replace(path=path, query=urlencode(options)).geturl()


try:
    settings.REDIS_URL  # noqa: B018
except ImproperlyConfigured as refused:
    sys.exit(f"{refused}.")

at_night = {job: crontab(hour=2, minute=minute) for job, minute in AT_NIGHT.items()}
app = Celery(
    "partnerapi",
    broker=broker_url(settings.REDIS_URL),
    include=["partnerapi.operations.tasks", "partnerapi.operations.task_metrics"],
)
app.conf.update(
    broker_connection_retry_on_startup=True,
    # What Valkey refuses, such as a wait when it becomes a replica, ends no worker.
    broker_channel_error_retry=True,
    broker_transport_options={
        "global_keyprefix": "celery:",
        "socket_connect_timeout": 5,
        "socket_timeout": 30,
        # A message that a killed worker held goes to another one after this time, and
        # is looked for every second. A task has ended by then.
        "visibility_timeout": VISIBILITY_SECONDS,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
    },
    task_acks_late=True,
    task_ignore_result=True,
    # There are none that expire.
    result_expires=None,
    task_reject_on_worker_lost=True,
    task_time_limit=TASK_SECONDS,
    worker_prefetch_multiplier=1,
    beat_schedule_filename=str(settings.STATE_DIRECTORY / "beat-schedule"),
    beat_scheduler="partnerapi.operations.beat:Scheduler",
    beat_schedule={
        job.replace("_", " "): {
            "task": f"partnerapi.operations.tasks.{job}",
            "schedule": schedule,
            # Where no worker has come for it, the next message says the same.
            "options": {"expires": min(PERIODS[job], timedelta(hours=1)).seconds},
        }
        for job, schedule in (BY_DAY | at_night).items()
    }
    # Too often for a record of each: their own rows say how far they are.
    | {
        task.replace("_", " "): {
            "task": f"partnerapi.operations.tasks.{task}",
            "schedule": timedelta(seconds=2),
            "options": {"expires": 2},
        }
        for task in (
            *("write_exports", "deliver_legacy_shares"),
            *("import_files", "send_notices", "state_record_instants"),
        )
    }
    | {
        "tell registers": {
            "task": "partnerapi.operations.tasks.tell_registers",
            "schedule": timedelta(seconds=1),
            "options": {"expires": 1},
        }
    },
)


@setup_logging.connect
def keep_the_logging_of_settings(**kwargs: object) -> None:
    """Celery sets up logging of its own unless someone listens to this signal."""


REQUEST_ID = "partnerapi_request_id"
SENT_AT = "partnerapi_sent_at"


@before_task_publish.connect
def send_request_id(headers: dict[str, Any], **kwargs: object) -> None:
    """What a request has done in the background is logged with the request's id.

    The time when it was sent shows how long it waits.
    """
    headers[SENT_AT] = time()
    if current := request_id.get():
        headers[REQUEST_ID] = current


@task_prerun.connect
def take_request_id(task_id: str, task: Any, **kwargs: object) -> None:
    """Log what a task does with the id of its request, or else with its own.

    Its session of the database is a new one, which is called by that, too.
    """
    request_id.set(getattr(task.request, REQUEST_ID, None) or task_id)
    connection.close()


@celeryd_init.connect
@beat_init.connect
def refuse_to_start(**kwargs: object) -> None:
    """End a worker or beat with a sentence where it would not work."""
    try:
        check_start()
    except StartRefused as refused:
        sys.exit(f"The process does not start: {refused}.")
