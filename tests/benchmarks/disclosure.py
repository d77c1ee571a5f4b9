"""Ask for 10,000 hidden objects by every field that takes an id.

python -m tests.benchmarks.disclosure --objects 10000
"""

import argparse
import sys

from rich.console import Console

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.disclosure",
        description="Ask for hidden objects as those who may not see them, then as "
        "the partner who may. Ends with an error where an answer tells of one.",
        epilog="example: python -m tests.benchmarks.disclosure --objects 1000",
    )
    parser.add_argument("--objects", type=int, default=10_000, help="10,000 at most")
    objects = parser.parse_args().objects
    with throw_away_installation():
        from accounts.people.models import User
        from tests.api.hidden import (
            ask_for_hidden,
            ask_with_the_right_key,
            callers,
            hide,
        )

        owner = User.objects.create(
            type=User.Type.INDIVIDUAL, first_name="Ines", last_name="Roca"
        )
        hidden = hide(owner, objects)
        asking = callers(hidden)
        console = Console()
        asked = ask_for_hidden(hidden, asking)
        console.print(
            f"{len(asking)} callers asked for {asked:,} hidden objects by node, nodes, "
            "token and issuer: 0 disclosures"
        )
        seen = ask_with_the_right_key(hidden, asking)
        console.print(f"With the right key {seen:,} of {objects:,} answer data")
    return 0


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
