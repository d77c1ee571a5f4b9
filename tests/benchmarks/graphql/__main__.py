"""Measure the API against its peers on the same rows of the same PostgreSQL.

python -m tests.benchmarks.graphql --help
"""

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from partnerapi.operations import gunicorn_config
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

TABLES = ("compare", "sizes", "lengths", "processes", "inside", "nesting", "caches")
WIDTH = 150
EXAMPLES = """
The peers are installed once, below --directory, and nowhere else: graphene-django as
its documentation shows it, strawberry-django with its optimizer, PostGraphile 5 with
its Amber preset. Each server is one process, those of Python with as many threads as
`up` and production give it. Each answer is compared with what plain SQL finds.

examples:
  python -m tests.benchmarks.graphql
  python -m tests.benchmarks.graphql --rounds 9 --seconds 10
  python -m tests.benchmarks.graphql compare sizes
  python -m tests.benchmarks.graphql caches --documents 1000000
"""


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.graphql",
        description="Measure the API against its peers on the same rows.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="TABLE",
        help=f"what to measure, any of {', '.join(TABLES)} (all of them)",
    )
    parser.add_argument("--directory", type=Path, help="where peers are installed")
    numbers: list[tuple[str, type, Any, str]] = [
        ("--issuers", int, 5000, "issuers in the list"),
        ("--first", int, 50, "issuers on a page"),
        ("--nested", int, 4, "figures on an issuer's page"),
        ("--rounds", int, 5, "rounds of each server, taken in turns"),
        ("--seconds", float, 3.0, "seconds of a round"),
        ("--connections", int, 4, "connections at once"),
        (
            "--threads",
            int,
            gunicorn_config.threads,
            "threads of a Python server's process",
        ),
        ("--documents", int, 100_000, "different documents for the caches"),
    ]
    for name, kind, default, meaning in numbers:
        parser.add_argument(
            name,
            type=kind,
            default=default,
            metavar="N",
            help=f"{meaning} ({default:,})",
        )
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.tables) - set(TABLES))
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; choose from {', '.join(TABLES)}")
    if options.issuers <= 100:
        parser.error("--issuers: pass more than 100, the largest page")
    if not 1 <= options.first <= 100:
        parser.error("--first: pass 1 to 100")
    if not 1 <= options.nested <= 4:
        parser.error("--nested: pass 1 to 4; each issuer has four years' figures")
    options.tables = options.tables or list(TABLES)
    return options


def main() -> int:
    options = parse()
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    # The table of nested pages asks for more than the API lets one request ask for.
    os.environ["PARTNER_API_MAX_COST"] = "1000000"
    # Told to end, it ends its servers first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with throw_away_installation():
        from partnerapi.sandbox.run.processes import RunError
        from tests.benchmarks.graphql.answers import WrongAnswer
        from tests.benchmarks.graphql.installs import InstallError
        from tests.benchmarks.graphql.run import Benchmark

        try:
            Benchmark(options, console).run()
        except (InstallError, RunError, WrongAnswer, OSError) as error:
            console.print(str(error), style="red", markup=False, soft_wrap=True)
            return 1
        except KeyboardInterrupt:
            console.print("stopped")
            return 130
    return 0


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
