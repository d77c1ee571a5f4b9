"""What documents made to be costly cost, one by one, in CPU of this machine.

python -m tests.benchmarks.hostile_documents
"""

import argparse
import sys

from tests.benchmarks.yardstick import Pace, yardstick
from tests.installation import throw_away_installation

MOST_SECONDS = 0.050


def main(pace: Pace) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.hostile_documents",
        description="Post each document and print its cost, the most costly first. "
        f"Ends with an error where one costs more than {MOST_SECONDS * 1000:.0f} "
        "ms as on idle cores; wants a quiet machine.",
    )
    parser.parse_args()
    with throw_away_installation():
        from django.db import transaction

        from tests.characters import Ask, new_world
        from tests.graphql.hostile import BODIES, cost, row, small_heap

        # A token cannot be younger than its issuer's table.
        with transaction.atomic():
            new_world()
        ask = Ask()
        ask("{ __typename }")
        with small_heap():
            costs = {name: cost(body, ask) for name, body in BODIES.items()}
    for name in sorted(costs, key=lambda name: -costs[name].seconds):
        sys.stdout.write(f"{row(name, costs[name])}\n")
    dearest = max(cost.seconds for cost in costs.values())
    idle = pace.idle(dearest)
    sys.stdout.write(
        f"The most costly takes {dearest * 1000:.1f} ms, on idle cores "
        f"{idle * 1000:.1f} ms\n"
    )
    return int(idle > MOST_SECONDS)


if __name__ == "__main__":
    with yardstick() as pace:
        sys.exit(main(pace))
