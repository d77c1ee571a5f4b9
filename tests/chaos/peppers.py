"""Whether a key is refused while the pepper of API keys is replaced under load.

Run it with `python -m tests.chaos.peppers`. Two web servers run as the shipped units
run them, and clients use forty keys in turn. The web servers restart, one after the
other, with a new pepper before the old one; the time that a pepper has to spread is
over; keys move to it as they are used; the web servers restart with the new one alone.
It ends with exit code 1 where an answer was another than 200, or a key was left with
the old pepper.
"""

import argparse
import json
import os
import secrets
import sys
import time
from collections import Counter
from pathlib import Path

import psycopg

from partnerapi.sandbox.run.processes import RunError
from tests.chaos.installation import breakable_installation
from tests.chaos.restarts import (
    CLIENTS,
    ROOM,
    Clients,
    restart,
    until_asked,
    web_servers,
)

KEYS = 40
OLD = "SELECT count(*) FROM accounts_apikey WHERE pepper_id = %s"
SPREAD = "UPDATE accounts_pepper SET first_used_at = first_used_at - interval '1 day'"
MOVE_SECONDS = 120


def measure(requests: int, directory: Path) -> tuple[dict[str, int], int]:
    """How often each code was answered; how many keys were moved."""
    from accounts.access import Scope
    from accounts.keys.models import Partner
    from partnerapi.sandbox.data.approvals import approved_key
    from tests.chaos.installation import close_connection
    from tests.chaos.population import make_accounts

    first, accounts = make_accounts(CLIENTS)
    partner = Partner.objects.get()
    environment = os.environ | ROOM
    old = environment["PARTNER_API_KEY_PEPPER"]
    new = secrets.token_urlsafe(50)
    path = directory / "web.sock"
    with web_servers(path, environment) as services:
        # They have made the old pepper known, so that keys can name it.
        spread()
        tokens = [first]
        tokens += [approved_key(partner, list(Scope))[1] for _ in range(KEYS - 1)]
        close_connection()
        with Clients(path, tokens, accounts) as clients:
            until_asked(clients, requests)
            environment["PARTNER_API_KEY_PEPPER"] = f"{new},{old}"
            restart(services)
            until_asked(clients, requests)
            with owner() as session:
                [before] = rows(session, "SELECT min(id) FROM accounts_pepper")
                spread()
                deadline = time.monotonic() + MOVE_SECONDS
                while left := rows(session, OLD, before)[0]:
                    if time.monotonic() > deadline:
                        raise RunError(f"{left} keys are left with the old pepper")
                    time.sleep(0.2)
            environment["PARTNER_API_KEY_PEPPER"] = new
            restart(services)
            until_asked(clients, requests)
    return dict(Counter(answer.code for answer in clients.answers)), KEYS


def owner() -> psycopg.Connection:
    return psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True)


def rows(session: psycopg.Connection, statement: str, *values: int) -> list[int]:
    return [row[0] for row in session.execute(statement, values).fetchall()]


def spread() -> None:
    """As if every pepper had been known for a day."""
    with owner() as session:
        session.execute(SPREAD)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--requests", type=int, default=2_000, help="between two changes"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        with breakable_installation() as (_, database):
            os.environ["PARTNER_API_SANDBOX"] = "false"
            codes, moved = measure(options.requests, database.directory)
    except RunError as error:
        sys.exit(str(error))
    report = {"codes": codes, "moved": moved}
    sys.stdout.write(json.dumps(report) + "\n" if options.json else f"{report}\n")
    sys.exit(codes.keys() != {"200"})


if __name__ == "__main__":
    main()
