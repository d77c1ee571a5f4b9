"""Whether time tells an unknown login from a wrong secret.

Run it on a quiet machine: `python -m pytest tests/benchmarks/key_timing.py -s`.
Samples of both are interleaved, so that what else happens falls on both alike.
"""

import random
import statistics
import time
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.table import Table

from accounts.access import Scope
from accounts.keys.models import Partner, new_secret
from partnerapi.sandbox.data.approvals import approved_key
from tests.characters import Ask, World

SAMPLES = 4_000
LARGEST_DIFFERENCE = 0.05


@pytest.fixture
def measure(world: World, settings) -> Callable[[str], float]:
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 10**9
    ask = Ask()

    def seconds(login: str) -> float:
        token = f"service-apikey_{login}_{new_secret()}"
        began = time.perf_counter()
        answer = ask.post(b'{"query":"{ __typename }"}', **{"X-Token-Auth": token})
        taken = time.perf_counter() - began
        assert answer.status == 401
        return taken

    return seconds


def test_unknown_logins_and_wrong_secrets_take_the_same_time(
    measure: Callable[[str], float],
):
    for number in range(500):
        partner = Partner.objects.create(login=f"partner{number:04}", name="Timed")
        approved_key(partner, [Scope.ISSUERS_READ])
    logins = {"wrong secret": "partner0250", "unknown login": "partner9250"}
    taken: dict[str, list[float]] = {name: [] for name in logins}
    for _ in range(SAMPLES):
        for name in random.sample(list(logins), 2):
            taken[name].append(measure(logins[name]))

    table = Table("", "median µs", "p90 µs", title=f"{SAMPLES} samples each")
    medians = {name: statistics.median(values) for name, values in taken.items()}
    for name, values in taken.items():
        p90 = statistics.quantiles(values, n=10)[8]
        table.add_row(name, f"{medians[name] * 1e6:.1f}", f"{p90 * 1e6:.1f}")
    difference = max(medians.values()) / min(medians.values()) - 1
    table.caption = f"medians differ by {difference:.2%}"
    Console().print(table)
    assert difference <= LARGEST_DIFFERENCE
