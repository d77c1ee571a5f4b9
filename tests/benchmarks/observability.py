"""What counting and logging a request costs, CPU.

Run it with `python -m tests.benchmarks.observability`. One process answers the same
query by turns with and without its metrics and its line of JSON, on this thread and
without a socket; it prints the CPU time of each, and the difference of the medians. It
ends with exit code 1 where that would be more than 30 µs on idle cores.
"""

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator

import orjson
import pytest

from tests.benchmarks.yardstick import Pace, yardstick

MOST_MICROSECONDS = 30.0
WARM_UP = 1_000


def main(pace: Pace) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    requests = parser.parse_args().requests
    from tests.installation import throw_away_installation

    with tempfile.TemporaryDirectory() as directory:
        os.environ |= {"PARTNER_API_METRICS": directory, "LOG_FORMAT": "json"}
        with throw_away_installation():
            on, off = measure(requests)
    cost = on - off
    idle = pace.idle(cost)
    sys.stdout.write(
        f"without {off:.1f} µs, with {on:.1f} µs: {cost:.1f} µs of CPU a request, "
        f"{idle:.1f} µs on idle cores\n"
    )
    sys.exit(idle > MOST_MICROSECONDS)


def measure(requests: int) -> tuple[float, float]:
    """The median CPU time of a request with, and without, microseconds."""
    from django.test import RequestFactory
    from django.urls import resolve

    from accounts.keys.models import Partner
    from partnerapi.gateway import records
    from partnerapi.sandbox.data.approvals import approved_key

    acme = Partner.objects.create(login="acme", name="Acme")
    _, token = approved_key(acme, [])
    view = resolve("/graphql").func
    body = orjson.dumps(
        {"query": "query Me { viewer { login scopes } }", "operationName": "Me"}
    )

    keep = records.Record.keep
    spent: dict[bool, list[float]] = {True: [], False: []}
    is_on = True

    # To change the class each time would cost more than what is measured.
    def switched(record: records.Record, status: int) -> None:
        if is_on:
            keep(record, status)

    with standard_error_away(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(records.Record, "keep", switched)
        for number in range(WARM_UP + requests):
            is_on = bool(number % 2)
            request = RequestFactory().post(
                "/graphql", body, "application/json", headers={"X-Token-Auth": token}
            )
            began = time.thread_time_ns()
            status = view(request).status_code
            if number >= WARM_UP:
                spent[is_on].append((time.thread_time_ns() - began) / 1000)
            assert status == 200
    return statistics.median(spent[True]), statistics.median(spent[False])


@contextlib.contextmanager
def standard_error_away() -> Iterator[None]:
    """What is written to standard error is thrown away."""
    usual, away = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(away, 2)
    try:
        yield
    finally:
        os.dup2(usual, 2)
        os.close(usual)
        os.close(away)


if __name__ == "__main__":
    with yardstick() as pace:
        main(pace)
