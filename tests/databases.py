"""The database of a test process: a copy of the empty tables.

A plugin of `tests/conftest.py`.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test.utils import setup_databases, teardown_databases

from tests.kept_server import IS_KEPT, TEMPLATE
from tests.owner import become_application, become_owner, credentials
from tests.tables import digest, make_tables, postgres_of

MAKING = "making_tables"
Made = list[tuple[BaseDatabaseWrapper, str, bool]]


@pytest.fixture(scope="session")
def application() -> dict[str, str]:
    """The credentials of the role that tests run as, which serves requests."""
    return credentials("default")


@pytest.fixture(scope="session")
def environment_of_owner() -> dict[str, str]:
    """What a program needs that makes an installation of its own."""
    return {n: os.environ[n] for n in ("DATABASE_OWNER_URL",) if n in os.environ}


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings: None, application: dict[str, str]
) -> None:
    become_owner()


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: Any,
    application: dict[str, str],
    environment_of_owner: dict[str, str],
) -> Iterator[None]:
    """The migrated tables; also where all tests that run leave them to a server."""
    with django_db_blocker.unblock():
        if os.environ.get(IS_KEPT):
            made = copied(application)
        else:
            made = setup_databases(0, interactive=False, aliases=["default"])
            become_application(application)
    # Settings are read; what tests start serves requests.
    os.environ.pop("DATABASE_OWNER_URL", None)
    yield
    with django_db_blocker.unblock():
        become_owner()
        # No one may be connected to what is now removed.
        connections.close_all()
        teardown_databases(made, 0)


def copied(application: dict[str, str]) -> Made:
    """Make the test database of this process, and connect to it as the application.

    As `setup_databases` does, which migrates it: it returns the same.
    """
    usual = connection.settings_dict["NAME"]
    name = connection.creation._get_test_db_name()
    owner_url = os.environ["DATABASE_OWNER_URL"]
    template = TEMPLATE + digest(postgres_of(owner_url))
    with psycopg.connect(owner_url, dbname="postgres", autocommit=True) as session:
        # Of this run's processes one makes the template, and the others wait for it.
        session.execute("SELECT pg_advisory_lock(1)")
        found = "SELECT FROM pg_database WHERE datname = %s"
        if not session.execute(found, [template]).rowcount:
            session.execute(f'CREATE DATABASE "{MAKING}"')
            make_tables(urlsplit(owner_url)._replace(path=f"/{MAKING}").geturl())
            connection.settings_dict["NAME"] = MAKING
            become_application(application)
            session.execute(f'ALTER DATABASE "{MAKING}" RENAME TO "{template}"')
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
        session.execute(f"COMMENT ON DATABASE \"{template}\" IS '{now}'")
        session.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    settings.DATABASES["default"]["NAME"] = name
    connection.settings_dict |= {**application, "NAME": name}
    for other in connections.all():
        if other.settings_dict["TEST"]["MIRROR"]:
            other.creation.set_as_test_mirror(connection.settings_dict)
    return [(connection, usual, True)]
