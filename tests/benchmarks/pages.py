"""Measure pages of one issuer's legacy shareholders: the first against far ones.

python -m tests.benchmarks.pages --rows 1000000 --rounds 300
"""

import argparse
import statistics
import sys
from time import perf_counter

from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

HIGHEST_RATIO = 1.2
PAGE = 100
DOCUMENT = """
query ($first: Int, $last: Int, $after: String, $before: String) {
  issuer(slug: "large") {
    legacyShareholders(first: $first, last: $last, after: $after, before: $before) {
      edges { cursor node { id status numberOfShares price createdAt } }
      pageInfo { hasNextPage hasPreviousPage endCursor }
    }
  }
}
"""


def fill(rows: int) -> None:
    from django.db import connection

    from accounts.people.models import User
    from issuers.models import Issuer
    from tests.benchmarks.graphql.rows import analyze

    owner = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Ines", last_name="Roca"
    )
    issuer = Issuer.objects.create(
        trading_name="Large", slug="large", trading_location="Lyon", owner=owner
    )
    with connection.cursor() as cursor:
        # Twenty rows to a second, in an order of their own on the disk.
        cursor.execute(
            "INSERT INTO issuers_legacyshareholder (id, issuer_id, user_id, status,"
            " number_of_shares, price_cents, created_at)"
            " SELECT gen_random_uuid(), %s, %s, 'PENDING', n, 100,"
            " '2020-01-01'::timestamptz + mod(n * 7919, %s) / 20 * interval '1 second'"
            " FROM generate_series(1, %s::bigint) AS n",
            [issuer.pk, owner.pk, rows, rows],
        )
    analyze()


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.pages",
        description="Measure the pages of a million legacy shareholders. Exit code 1 "
        f"when a far page costs more than {HIGHEST_RATIO} times the first.",
        epilog="example: python -m tests.benchmarks.pages --rows 100000 --rounds 100",
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=300)
    arguments = parser.parse_args()
    console = Console()
    with throw_away_installation():
        console.print(f"Writing {arguments.rows:,} rows …")
        fill(arguments.rows)
        return measure(arguments.rows // PAGE, arguments.rounds, console)


def measure(pages: int, rounds: int, console: Console) -> int:
    from accounts.access import Scope
    from accounts.keys.models import Partner
    from partnerapi.sandbox.data.approvals import approved_grant, approved_key
    from tests.characters import Ask

    partner = Partner.objects.create(login="reader", name="Reader")
    approved_grant(partner)
    ask = Ask(approved_key(partner, list(Scope))[1])

    def page(**arguments):
        return ask(DOCUMENT, arguments).data["issuer"]["legacyShareholders"]

    def end_of(number: int) -> str:
        """The cursor at the end of page `number`, from the nearer end of the list."""
        if number < pages // 2:
            backward, steps = False, number
        else:
            backward, steps = True, pages - number
        cursor = None
        for _ in range(steps):
            found = (
                page(last=PAGE, before=cursor)
                if backward
                else page(first=PAGE, after=cursor)
            )
            cursor = found["edges"][0 if backward else -1]["cursor"]
        if backward:
            # The first row of the next page: its predecessor ends this one.
            cursor = page(last=1, before=cursor)["edges"][0]["cursor"]
        assert cursor
        return cursor

    second = page(first=1, after=end_of(1))
    start_of_second_page = second["edges"][0]["cursor"]
    cases = {
        "page 1": {"first": PAGE},
        "page 2": {"first": PAGE, "after": end_of(1)},
        f"page {pages // 20:,}": {"first": PAGE, "after": end_of(pages // 20 - 1)},
        f"page {pages:,}": {"first": PAGE, "after": end_of(pages - 1)},
        f"page {pages:,}, backwards": {"last": PAGE},
        "page 1, backwards": {"last": PAGE, "before": start_of_second_page},
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for number in range(-10, rounds):
        for name, given in cases.items():
            start = perf_counter()
            answer = page(**given)
            taken = perf_counter() - start
            assert len(answer["edges"]) == PAGE
            if number >= 0:
                times[name].append(taken * 1000)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    first = medians["page 1"]
    table = Table("page", "median, ms", "ratio", title=f"{PAGE} rows, {rounds} rounds")
    for name, median in medians.items():
        table.add_row(name, f"{median:.2f}", f"{median / first:.2f}")
    console.print(table)
    return any(median > HIGHEST_RATIO * first for median in medians.values())


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
