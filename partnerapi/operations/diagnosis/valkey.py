"""Valkey: budgets, Celery's messages, and what acceptors say of themselves there."""

from collections.abc import Iterator
from time import time

from redis.exceptions import RedisError

from marketdata.fix.acceptor.signs import read_signs
from partnerapi.core.redis import call, forget
from partnerapi.operations.diagnosis.findings import Finding, State

SILENT_SECONDS = 30.0
LAG_SECONDS = 5.0


def valkey() -> Iterator[Finding]:
    """Whether it answers; without it each process has its own budgets."""
    try:
        call("PING")
    except RedisError as error:
        yield Finding(
            "valkey",
            State.WARNING,
            f"Valkey does not answer ({error}): each process has its own budgets, and "
            "no job runs",
            "See whether it runs, and REDIS_URL names it.",
        )
    else:
        yield Finding("valkey", State.OK, "It answers")
    finally:
        forget()


def acceptors() -> Iterator[Finding]:
    """The FIX acceptors that have not been told to end."""
    try:
        signs = read_signs()
    except RedisError:
        yield Finding(
            "acceptor", State.UNKNOWN, "Valkey does not answer", "First mend Valkey."
        )
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
            says = f"The acceptor at {sign.place} has said nothing for {silent:.0f} s"
            remedy = "Start run_fix_acceptor there again, and read its log."
            yield Finding("acceptor", State.WARNING, says, remedy, figures)
        elif sign.lag > LAG_SECONDS:
            says = f"The order books at {sign.place} are {sign.lag:.1f} s behind"
            remedy = "See whether the acceptor's machine reaches PostgreSQL."
            yield Finding("acceptor", State.WARNING, says, remedy, figures)
        else:
            says = f"{sign.sessions} sessions at {sign.place}"
            yield Finding("acceptor", State.OK, says, "", figures)
