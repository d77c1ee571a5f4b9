"""Valkey: budgets, Celery's messages, and what others say of themselves there."""

import re
from collections.abc import Iterator
from time import time

from redis.exceptions import RedisError

from marketdata.fix.acceptor.liveness import read_signs
from partnerapi.core.redis import call, forget
from partnerapi.operations.beat import SIGNS
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.signs import read_signs as read_signs_of
from partnerapi.operations.task_metrics import QUEUE, age

SILENT_SECONDS = 30.0
LAG_SECONDS = 5.0
BEAT_SECONDS = 8.0
QUEUE_SECONDS = 60.0
MEMORY_SHARE = 0.9
TRIED = "health"
"""A key that is written to see whether one can be."""
REMEDIES = {
    "OOM": "Raise maxmemory; check that a worker empties the queue (LLEN "
    "celery:celery), and what else fills the memory (redis-cli --bigkeys).",
    "READONLY": "It is a replica: REDIS_URL must name the primary of Valkey.",
    "MISCONF": "Repair the disk to which it saves, or set save to an empty value.",
    "NOAUTH": "Put its password into REDIS_URL.",
    "WRONGPASS": "Put its password into REDIS_URL.",
    "NOPERM": "Allow the user of REDIS_URL to run every command on every key.",
    "LOADING": "It is loading its data; wait.",
}
"""By the first word of what it says."""
FIRST_MEND = "First repair Valkey."


def valkey() -> Iterator[Finding]:
    """Whether it answers and keeps what is written; without it each process has its own
    budgets, and no job starts."""
    away = "each process has its own budgets, and no job starts"
    try:
        call("SET", TRIED, 1, "EX", 60)
        share = memory_share()
    except RedisError as error:
        # redis-py takes the word away from the texts of the errors that it knows.
        word = error.status_code or str(error).partition(" ")[0]
        refuses = "keeps nothing" if word in REMEDIES else "does not answer"
        says = f"Valkey {refuses} ({error}): {away}"
        remedy = REMEDIES.get(word, "Check that it runs, and that REDIS_URL names it.")
        yield Finding("valkey", State.WARNING, says, remedy)
    else:
        figures = {"memoryShare": round(share, 3)}
        if share > MEMORY_SHARE:
            says = f"{share:.0%} of its maxmemory is in use"
            remedy = REMEDIES["OOM"]
            yield Finding("valkey", State.WARNING, says, remedy, figures)
        else:
            yield Finding("valkey", State.OK, "Written data is kept", "", figures)
    finally:
        forget()


def memory_share() -> float:
    told = dict(re.findall(r"(\w+):(\d+)\r", call("INFO", "memory").decode()))
    limit = int(told.get("maxmemory", 0))
    return int(told["used_memory"]) / limit if limit else 0.0


def queue() -> Iterator[Finding]:
    """Whether tasks wait that no worker takes."""
    try:
        waiting, oldest = call("LLEN", QUEUE), age(call("LINDEX", QUEUE, -1))
    except RedisError as error:
        yield Finding("queue", State.UNKNOWN, str(error), FIRST_MEND)
        return
    finally:
        forget()
    figures = {"waiting": waiting, "oldestSeconds": round(oldest, 1)}
    says = f"{waiting} tasks are waiting, the oldest for {oldest:.0f} s"
    if oldest > QUEUE_SECONDS:
        yield Finding(
            "queue", State.WARNING, says,
            "Start a worker, or more of them (celery --app=partnerapi worker): "
            "tasks arrive faster than they are processed.",
            figures,
        )  # fmt: skip
    else:
        yield Finding("queue", State.OK, says, "", figures)


def beats() -> Iterator[Finding]:
    """Whether one beat, and one only, asks for jobs."""
    try:
        signs = read_signs_of(SIGNS, BEAT_SECONDS)
    except RedisError as error:
        yield Finding("beat", State.UNKNOWN, str(error), FIRST_MEND)
        return
    finally:
        forget()
    figures = {"beats": len(signs)}
    places = ", ".join(sorted(sign.place for sign in signs))
    if len(signs) > 1:
        says = f"{len(signs)} beats start each job: {places}"
        remedy = "End all but one; each place is a host and a process."
        yield Finding("beat", State.WARNING, says, remedy, figures)
    elif not signs:
        says = f"No beat has reported for {BEAT_SECONDS:.0f} s: no job starts"
        remedy = "Start one: celery --app=partnerapi beat; its log shows why it ended."
        yield Finding("beat", State.WARNING, says, remedy, figures)
    else:
        yield Finding("beat", State.OK, f"One beat runs, at {places}", "", figures)


def acceptors() -> Iterator[Finding]:
    """The FIX acceptors, except those asked to end."""
    try:
        signs = read_signs()
    except RedisError:
        says = "Valkey does not answer"
        yield Finding("acceptor", State.UNKNOWN, says, FIRST_MEND)
        return
    finally:
        forget()
    for sign in signs:
        silent = max(0.0, time() - sign.at)
        figures = {
            "silentSeconds": round(silent, 1),
            "lagSeconds": round(sign.lag, 1),
            "sessions": sign.sessions,
        }
        if silent > SILENT_SECONDS:
            says = f"The acceptor at {sign.place} has not reported for {silent:.0f} s"
            remedy = "Start run_fix_acceptor there again, and read its log."
            yield Finding("acceptor", State.WARNING, says, remedy, figures)
        elif sign.lag > LAG_SECONDS:
            says = f"The order books at {sign.place} are {sign.lag:.1f} s behind"
            remedy = "Check that the acceptor's machine reaches PostgreSQL."
            yield Finding("acceptor", State.WARNING, says, remedy, figures)
        else:
            says = f"{sign.sessions} sessions at {sign.place}"
            yield Finding("acceptor", State.OK, says, "", figures)
