"""What an answer of the product costs against what it holds and where it runs."""

from collections.abc import Sequence
from statistics import median

import orjson
from rich.table import Table

from issuers.models import Issuer
from tests.benchmarks.graphql import load
from tests.benchmarks.graphql.answers import WrongAnswer
from tests.benchmarks.graphql.comparison import Effort, measure
from tests.benchmarks.graphql.rows import (
    LATEST_YEAR,
    YEARS,
    add_figures,
    add_issuers,
    analyze,
)
from tests.benchmarks.graphql.servers import Server

PAGE_SIZES = (1, 10, 25, 50, 100)


def seconds_alone(
    servers: Sequence[Server], first: int, nested: int, effort: Effort
) -> list[float]:
    """Each server's median time of one answer when no one else asks it."""
    alone = Effort(effort.rounds, effort.seconds, connections=1)
    measured = measure(servers, first, nested, alone, f"{first} × {nested}")
    return [one.latency(50) for one in measured]


def new_table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def page_sizes(servers: Sequence[Server], nested: int, effort: Effort) -> Table:
    table = new_table(
        f"Page size: first: n × first: {nested}, one connection, median ms an answer",
        "issuers",
        "rows",
        *(
            heading
            for server in servers
            for heading in (f"{server.name}\nms", "\nµs a row")
        ),
    )
    for first in PAGE_SIZES:
        rows = first * (1 + nested)
        cells = []
        for seconds in seconds_alone(servers, first, nested, effort):
            cells += [f"{seconds * 1000:.2f}", f"{seconds / rows * 1e6:.1f}"]
        table.add_row(str(first), str(rows), *cells)
    return table


def list_lengths(
    server: Server, lengths: Sequence[int], first: int, nested: int, effort: Effort
) -> Table:
    """The first and the last page while the list grows to these lengths."""
    table = new_table(
        f"List length: first: {first} × first: {nested}, one connection, median ms",
        "issuers in the list",
        "first page",
        "last page",
        "last / first",
    )
    for length in lengths:
        add_issuers(Issuer.objects.count() + 1, length)
        analyze()
        pages = [
            (server.page(first, nested), server.checked(first, nested)),
            last_page(server, first, nested),
        ]
        times: list[list[float]] = [[], []]
        for _ in range(effort.rounds):
            for (request, body), seconds in zip(pages, times, strict=True):
                seconds += load.load(request, body, 1, effort.seconds).latencies
        start, end = map(median, times)
        table.add_row(
            f"{length:,}",
            f"{start * 1000:.2f}",
            f"{end * 1000:.2f}",
            f"{end / start:.2f}",
        )
    return table


def last_page(server: Server, first: int, nested: int) -> tuple[load.Request, bytes]:
    """The request for a list's last whole page, by its cursor, and its answer."""
    document = server.plan.dialect.document(first, nested)
    question = f"{{ issuers(last: {first + 1}) {{ pageInfo {{ startCursor }} }} }}"
    answer = orjson.loads(load.ask(server.request(question)))
    cursor = answer["data"]["issuers"]["pageInfo"]["startCursor"]
    request = server.request(
        document.replace(f"first: {first}", f'first: {first}, after: "{cursor}"', 1)
    )
    body = load.ask(request)
    edges = orjson.loads(body)["data"]["issuers"]["edges"]
    wanted = Issuer.objects.order_by("-trading_name")[:first]
    slugs = [issuer.slug for issuer in reversed(wanted)]
    if [edge["node"]["slug"] for edge in edges] != slugs:
        raise WrongAnswer("the last page holds other issuers than the last ones")
    return request, body


def processes(
    servers: Sequence[Server], first: int, nested: int, effort: Effort
) -> Table:
    """Servers that differ in the number of their processes, the first has fewest."""
    table = new_table(
        f"Processes: first: {first} × first: {nested}, "
        f"{effort.connections} connections",
        "server",
        "answers/s",
        "× fewest",
    )
    measured = measure(servers, first, nested, effort, "processes")
    for one in measured:
        table.add_row(
            one.server.name, f"{one.rate:,.0f}", f"{one.rate / measured[0].rate:.2f}"
        )
    return table


def nesting(servers: Sequence[Server], effort: Effort) -> Table:
    """Time for each row returned; gives a hundred issuers a hundred figures."""
    issuers = list(Issuer.objects.order_by("id")[:100])
    add_figures(issuers, LATEST_YEAR - YEARS, 100 - YEARS)
    analyze()
    table = new_table(
        "Nesting: one connection, median",
        "server",
        "10 × 10 ms",
        "µs a row",
        "100 × 100 ms",
        "µs a row",
        "time / rows",
    )
    times = [seconds_alone(servers, size, size, effort) for size in (10, 100)]
    for server, few, many in zip(servers, *times, strict=True):
        few_each, many_each = few / (10 + 10 * 10), many / (100 + 100 * 100)
        table.add_row(
            server.name,
            f"{few * 1000:.2f}",
            f"{few_each * 1e6:.1f}",
            f"{many * 1000:.2f}",
            f"{many_each * 1e6:.1f}",
            f"{many_each / few_each:.2f}",
        )
    return table
