"""A PostgreSQL that a test may break, with the tables of this release."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connections

from partnerapi.sandbox.rehearsal.clusters import Cluster
from tests.servers import TABLES, let_owner_test
from tests.waiting import PROGRAM_SECONDS


def with_tables(cluster: Cluster) -> None:
    """Make the tables, or restore those that the test run has made."""
    let_owner_test(cluster.urls["DATABASE_OWNER_URL"])
    kept = os.environ.get(TABLES)
    if kept and Path(kept).exists():
        named = f"--dbname={cluster.urls['DATABASE_OWNER_URL']}"
        command = [cluster.programs / "pg_restore", "--exit-on-error", named, kept]
        subprocess.run(command, check=True)
    else:
        manage(cluster, "migrate")
    role = "partnerapi_application"
    manage(cluster, "grant_application_role", role, "--apply")


def manage(cluster: Cluster, *arguments: str) -> str:
    """What a command of manage.py says; it works on the cluster, as its owner."""
    ended = subprocess.run(
        [sys.executable, settings.BASE_DIR / "manage.py", *arguments],
        env=os.environ | cluster.urls,
        capture_output=True,
        text=True,
        check=False,
        timeout=PROGRAM_SECONDS,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@contextmanager
def connected_to(cluster: Cluster) -> Iterator[None]:
    """Let this thread's connection be one of the application to the cluster."""
    usual = connections["default"]
    own = connections["default"] = usual.copy()
    host = str(cluster.private)
    own.settings_dict |= {
        "NAME": "partnerapi",
        "USER": "partnerapi_application",
        "PASSWORD": "",
        "HOST": host,
        "PORT": "5432",
        "OPTIONS": {**own.settings_dict["OPTIONS"], "host": host},
    }
    try:
        yield
    finally:
        own.close()
        connections["default"] = usual
