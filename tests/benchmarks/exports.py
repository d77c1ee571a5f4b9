"""Measure exports: a table of many holders in every format, and its ledger.

python -m tests.benchmarks.exports --holders 250000

Each command runs as its own process. The output has its seconds, its CPU seconds and
its peak memory.
"""

import argparse
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks.imports import measured
from tests.benchmarks.large_registers import load
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--holders", type=int, default=250_000)
    options = parser.parse_args()
    console = Console(width=160)
    results = Table("Command", title="Exports")
    for name in ("Seconds", "Own", "Memory"):
        results.add_column(name, justify="right")
    results.add_column("Said")
    with throw_away_installation(), tempfile.TemporaryDirectory() as made:
        load(options.holders, options.holders * 6 // 5, console)
        for command in (["export", "captable", "large"], ["ledger", "show", "LARGE"]):
            for ending in ("csv", "xlsx", "jsonl", "zip"):
                if ending == "zip" and command[0] == "ledger":
                    continue
                format = "ocf" if ending == "zip" else ending
                file = Path(made) / f"{command[0]}.{ending}"
                measured(
                    results, *command, "--format", format, "--output", file
                )  # fmt: skip
    console.print(results)


if __name__ == "__main__":
    with yardstick():
        main()
