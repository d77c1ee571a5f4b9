"""What workers and beat count of tasks, and how many wait in Valkey."""

import json
from collections.abc import Iterator
from contextvars import ContextVar
from time import monotonic, time
from typing import Any

from celery.exceptions import TimeLimitExceeded
from celery.signals import (
    after_task_publish,
    task_failure,
    task_postrun,
    task_prerun,
)
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from redis.exceptions import RedisError

from partnerapi.celery import SENT_AT
from partnerapi.core.metrics import TASK_SECONDS, TASKS, TASKS_SENT
from partnerapi.core.redis import call, forget

QUEUE, IN_HAND = "celery:celery", "celery:unacked"
"""What Celery's keys are called in Valkey, with the prefix that is ours."""
begun_at: ContextVar[float] = ContextVar("begun_at")


@after_task_publish.connect
def count_sent(sender: str, **kwargs: object) -> None:
    TASKS_SENT.labels(short(sender)).inc()


@task_prerun.connect
def count_begun(task: Any, **kwargs: object) -> None:
    begun_at.set(monotonic())
    TASKS.labels(short(task.name), "begun").inc()


@task_postrun.connect
def count_ended(task: Any, state: str | None = None, **kwargs: object) -> None:
    name = short(task.name)
    TASKS.labels(name, "done" if state == "SUCCESS" else "failed").inc()
    TASK_SECONDS.labels(name).observe(monotonic() - begun_at.get())


@task_failure.connect
def count_ended_by_force(sender: Any, exception: object, **kwargs: object) -> None:
    """A task that took too long is killed with its process, which cannot count it."""
    if isinstance(exception, TimeLimitExceeded):
        TASKS.labels(short(sender.name), "failed").inc()


def short(name: str) -> str:
    return name.rpartition(".")[2]


class Queue:
    """The tasks that wait for a worker, while Valkey answers."""

    def collect(self) -> Iterator[Metric]:
        try:
            waiting, in_hand = call("LLEN", QUEUE), call("HLEN", IN_HAND)
            oldest = call("LINDEX", QUEUE, -1)
        except RedisError:
            return
        finally:
            forget()
        yield GaugeMetricFamily(
            "partnerapi_queue_tasks", "Tasks waiting for a worker", waiting
        )
        yield GaugeMetricFamily(
            "partnerapi_queue_tasks_in_hand", "Tasks taken by a worker", in_hand
        )
        yield GaugeMetricFamily(
            "partnerapi_queue_oldest_seconds",
            "Seconds since the longest-waiting task was sent; 0: none is waiting",
            age(oldest),
        )


def age(message: bytes | str | None) -> float:
    """How long ago a message of Celery was sent; 0 where it does not say."""
    if message is None:
        return 0.0
    sent = json.loads(message)["headers"].get(SENT_AT)
    return max(0.0, time() - sent) if sent else 0.0
