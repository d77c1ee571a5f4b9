"""An installation to throw away, for commands that measure outside pytest."""

import contextlib
import io
import os
import secrets
from collections.abc import Iterator

import django

from tests.servers import SETTINGS, throw_away_servers
from tests.tables import make_tables

UNLIMITED = str(10**9)
BUDGETS = (
    "PARTNER_API_BUDGET_POINTS",
    "PARTNER_API_BUDGET_REFILL",
    "PARTNER_API_ANONYMOUS_BUDGET_POINTS",
    "PARTNER_API_ANONYMOUS_BUDGET_REFILL",
    "PARTNER_API_BUDGET_SECONDS",
)


@contextlib.contextmanager
def throw_away_installation(durable: bool = False) -> Iterator[None]:
    """Servers, settings and an empty, migrated database; budgets never run out.

    `durable`: with the guarantees, and at the cost, of an installation that is kept.
    """
    os.environ |= SETTINGS | dict.fromkeys(BUDGETS, UNLIMITED)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "partnerapi.settings",
        "ALLOWED_HOSTS": "testserver,127.0.0.1",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "PARTNER_API_KEY_PEPPER": secrets.token_urlsafe(50),
    }
    is_ours = not os.environ.get("DATABASE_URL")
    with throw_away_servers(durable) as urls:
        os.environ |= urls
        django.setup()
        from django.db import connection, connections

        from partnerapi.core.owner import owner_alias
        from tests.owner import allow_tampering

        migrate(is_ours)
        allow_tampering(connections[owner_alias()])
        try:
            yield
        finally:
            connection.close()


def migrate(is_ours: bool = True) -> None:
    """Make the tables as their owner, and give the application its rights."""
    from django.core.management import call_command
    from django.db import connection

    if is_ours:
        make_tables(os.environ["DATABASE_OWNER_URL"])
    else:
        call_command("migrate", verbosity=0)
    role = connection.settings_dict["USER"]
    call_command("grant_application_role", role, "--apply", stdout=io.StringIO())
