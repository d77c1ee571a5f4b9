"""A PostgreSQL that a test may break, with the tables of this release."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.conf import settings
from django.db import connections

from partnerapi.sandbox.rehearsal.clusters import Cluster
from tests.administration import let_owner_test
from tests.tables import make_tables
from tests.waiting import PROGRAM_SECONDS


def with_tables(cluster: Cluster, environment: Mapping[str, str] = {}) -> None:
    """Make the tables, or restore those that are kept."""
    let_owner_test(cluster.urls["DATABASE_OWNER_URL"])
    make_tables(cluster.urls["DATABASE_OWNER_URL"])
    role = "partnerapi_application"
    grant = ("grant_application_role", role, "--apply")
    manage(cluster, *grant, environment=environment)


def manage(
    cluster: Cluster, *arguments: str, environment: Mapping[str, str] = {}
) -> str:
    """What a command of manage.py says; it works on the cluster, as its owner."""
    ended = subprocess.run(
        [sys.executable, settings.BASE_DIR / "manage.py", *arguments],
        env={**os.environ, **environment, **cluster.urls},
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@contextmanager
def connected_to(cluster: Cluster, **other: str) -> Iterator[None]:
    """Connect this thread to the cluster as the application.

    `other` are Django settings that differ.
    """
    usual = connections["default"]
    own = connections["default"] = usual.copy()
    own.settings_dict |= {
        "NAME": "partnerapi",
        "USER": "partnerapi_application",
        "PASSWORD": "",
        "HOST": str(cluster.private),
        "PORT": "5432",
        **other,
    }
    host = own.settings_dict["HOST"]
    own.settings_dict["OPTIONS"] = {**own.settings_dict["OPTIONS"], "host": host}
    try:
        yield
    finally:
        own.close()
        connections["default"] = usual
