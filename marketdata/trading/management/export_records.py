import sys
from argparse import ArgumentTypeError
from datetime import date
from pathlib import Path

from marketdata.trading.records import day_of_markets, records
from partnerapi.core.commands import CommandWithExamples, counting


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(
            f"{text:.40} is not a date; write YYYY-MM-DD, such as 2026-11-20"
        ) from None


class Command(CommandWithExamples):
    help = """Write a day's records of the internal markets as JSON lines, for long-term
storage.

Each market, order, event, execution, bust, and changed rule, restriction or investor
profile is one line; days are those of MARKET_TIME_ZONE. Markets and orders have the
state in which the day began, so that the lines alone rebuild each book at each instant.
The last line has the number of lines and their SHA-256 digest, so that a copy can be
checked, and says whether the day was over. If it was, each export of it is the same.

examples:
  manage.py export market-records --day 2026-11-20 > 2026-11-20.jsonl
  manage.py export market-records --day 2026-11-20 --output records/2026-11-20.jsonl
"""

    def add_arguments(self, parser):
        parser.add_argument("--day", type=day, required=True, help="such as 2026-11-20")
        parser.add_argument(
            "--output",
            metavar="FILE",
            type=Path,
            help="write to this file instead of standard output",
        )

    def handle(self, *, day, output, **options):
        with counting() as begin:
            lines = records(*day_of_markets(day), begin("Records", None))
            if output is None:
                # Bytes, whatever the terminal's encoding is.
                sys.stdout.buffer.writelines(lines)
                return None
            with output.open("xb") as file:
                file.writelines(lines)
        return f"The records of {day} are in {output}."
