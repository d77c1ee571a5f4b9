"""What tests ask of the administrator of a server of their own."""

from urllib.parse import urlsplit

import psycopg

from partnerapi.sandbox.run.postgres import ADMINISTRATOR, OWNER

READER = "partnerapi_reader"
"""A role that tests give the rights of readers and backups."""


def administrator_of(url: str) -> psycopg.Connection:
    administrator = urlsplit(url)._replace(path="/postgres").geturl()
    administrator = administrator.replace(f"//{OWNER}@", f"//{ADMINISTRATOR}@")
    return psycopg.connect(administrator, autocommit=True)


def let_owner_test(url: str) -> None:
    """Permit the owner to make a database per worker, and to bypass the triggers."""
    with administrator_of(url) as session:
        session.execute(f"ALTER ROLE {OWNER} CREATEDB")
        session.execute(f"CREATE ROLE {READER}")
        session.execute(f"GRANT SET ON PARAMETER session_replication_role TO {OWNER}")


def switch_autovacuum_off(url: str) -> None:
    """Keep the server from noting that tables are empty which tests fill and undo.

    Plans made for such a table read it from end to end however it grows: a sandbox is
    then seeded eight times as slowly, where a run lasts long enough for it.
    """
    with administrator_of(url) as session:
        session.execute("ALTER SYSTEM SET autovacuum = off")
        session.execute("SELECT pg_reload_conf()")
