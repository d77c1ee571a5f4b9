"""Throw generated documents at a seeded sandbox and say what they reached.

python -m tests.generated.storm --documents 5000 --seed 1
"""

import argparse
import logging
import sys

from rich.console import Console

from tests.installation import throw_away_installation


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.generated.storm",
        description="Throw generated documents at a seeded sandbox. Exit code 1 when "
        "one was answered with an internal error.",
        epilog="example: python -m tests.generated.storm --documents 5000 --seed 7",
    )
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with throw_away_installation():
        from marketdata.management.commands.simulate_market import (
            Market,
            tokens_named,
        )
        from partnerapi.sandbox.data.seed import seed
        from partnerapi.schema import schema
        from tests.characters import Ask
        from tests.generated.samples import read_samples
        from tests.generated.tally import report, storm

        console = Console()
        console.print("Seeding …")
        keys = seed({}, lambda work, size: lambda done: None).keys
        Market(tokens_named([]), 1).fill()
        # A refused document is part of the storm, not worth a line.
        logging.getLogger("django.request").setLevel(logging.CRITICAL)
        asks = [Ask(keys["demo"]), Ask(keys["observer"]), Ask()]
        samples = read_samples(asks[0])
        console.print("Generating and asking …")
        tally = storm(schema, samples, asks, arguments.documents, arguments.seed)
        report(tally, console)
        for title, met in (
            ("internal error", tally.masked),
            ("timed out", tally.timed_out),
        ):
            for request in met[:3]:
                console.print(f"# {title}\n{request.text}\n# {request.variables}")
    return bool(tally.masked)


if __name__ == "__main__":
    sys.exit(main())
