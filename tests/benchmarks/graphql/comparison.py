"""The same page from every server: interleaved rounds of load, medians, ratios."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

from django_redis import get_redis_connection
from rich.table import Table

from tests.benchmarks.graphql import load
from tests.benchmarks.graphql.answers import PRODUCT, WrongAnswer
from tests.benchmarks.graphql.progress import shown
from tests.benchmarks.graphql.rows import changed_row
from tests.benchmarks.graphql.servers import Server, postgres_cpu_seconds

BASELINES = ("graphene-django", "PostGraphile")


@dataclass(frozen=True)
class Effort:
    """How much load: rounds, seconds of each, connections at once."""

    rounds: int
    seconds: float
    connections: int


@dataclass
class Measured:
    """A server's rounds; CPU in seconds per answer, one figure per round."""

    server: Server
    rounds: list[load.Round] = field(default_factory=list)
    server_cpu: list[float] = field(default_factory=list)
    postgres_cpu: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return median(one.rate for one in self.rounds)

    def latency(self, percent: int) -> float:
        every = [seconds for one in self.rounds for seconds in one.latencies]
        return quantiles(every, n=100)[percent - 1] if len(every) > 1 else every[0]


def measure(
    servers: Sequence[Server], first: int, nested: int, effort: Effort, title: str
) -> list[Measured]:
    """Load each server in turn, round after round.

    Raises:
        WrongAnswer: an answer that the database does not bear out.
    """
    measured = {server.port: Measured(server) for server in servers}
    bodies = {server.port: server.checked(first, nested) for server in servers}
    turns = [server for _ in range(effort.rounds) for server in servers]
    for server in shown(turns, title, len(turns)):
        one = measured[server.port]
        spent, queried = server.cpu_seconds(), postgres_cpu_seconds()
        calls = budget_calls()
        loaded = load.load(
            server.page(first, nested),
            bodies[server.port],
            effort.connections,
            effort.seconds,
        )
        drawn = budget_calls() - calls
        # A call may time out on a busy machine; a server that made none is no product.
        if server.plan.dialect is PRODUCT and drawn < 0.99 * loaded.total:
            raise WrongAnswer(f"{server.name} answered without drawing on a budget")
        one.rounds.append(loaded)
        one.server_cpu.append((server.cpu_seconds() - spent) / loaded.total)
        worked = [
            seconds - queried.get(session, 0)
            for session, seconds in postgres_cpu_seconds().items()
        ]
        one.postgres_cpu.append(sum(worked) / loaded.total)
    return list(measured.values())


def budget_calls() -> int:
    """How many scripts Redis has run: the product's budgets run one a request."""
    stats = get_redis_connection("default").info("commandstats")
    names = ("cmdstat_eval", "cmdstat_evalsha", "cmdstat_fcall")
    return sum(stats[name]["calls"] for name in names if name in stats)


def check_no_answer_is_kept(servers: Sequence[Server], first: int, nested: int) -> None:
    """Demand that a changed row shows in the next answer, and its return, too.

    Raises:
        WrongAnswer: an answer shows what the database no longer holds.
    """
    for server in servers:
        before = server.checked(first, nested)
        with changed_row():
            changed = server.checked(first, nested)
        if before == changed or server.checked(first, nested) != before:
            raise WrongAnswer(f"{server.name} does not show a change of a row")


def table(measured: Sequence[Measured], title: str) -> Table:
    by_name = {one.server.name: one for one in measured}
    baselines = [by_name[name] for name in BASELINES if name in by_name]
    printed = Table(title=title, title_justify="left")
    printed.add_column("server", no_wrap=True)
    for heading in (
        "answers/s\nmedian",
        "lowest–\nhighest",
        "ms\np50",
        "\np99",
        *(f"×\n{one.server.name}" for one in baselines),
        "CPU ms\nserver",
        "\nPostgreSQL",
        "\ngenerator",
    ):
        printed.add_column(heading, justify="right", no_wrap=True)
    for one in measured:
        rates = [each.rate for each in one.rounds]
        printed.add_row(
            one.server.name,
            f"{one.rate:,.1f}",
            f"{min(rates):,.1f}–{max(rates):,.1f}",
            f"{one.latency(50) * 1000:.1f}",
            f"{one.latency(99) * 1000:.1f}",
            *(f"{one.rate / base.rate:.2f}" for base in baselines),
            f"{median(one.server_cpu) * 1000:.2f}",
            f"{median(one.postgres_cpu) * 1000:.2f}",
            f"{median(each.generator_share for each in one.rounds):.0%}",
        )
    return printed
