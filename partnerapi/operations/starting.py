"""Whether the database is the one that this code was written for."""

from django.conf import settings

from partnerapi.core.database import rows_of, value_of
from partnerapi.core.postgresql import lending
from partnerapi.core.starting import StartRefused
from partnerapi.operations.release import (
    compare_rights,
    some,
    unapplied_migrations,
)

MOST_NAMED = 3


def check_migrations() -> None:
    """
    Raises:
        StartRefused: the code has migrations that were not applied.
    """
    if missing := unapplied_migrations():
        raise StartRefused(
            f"{len(missing)} migrations are not applied, {some(missing, MOST_NAMED)}; "
            "run `manage.py migrate` and `manage.py grant_application_role ROLE "
            "--apply` with DATABASE_OWNER_URL"
        )


def check_grants() -> None:
    """
    Raises:
        StartRefused: the role lacks a right of the application.
    """
    role, lacking, _ = compare_rights()
    if lacking:
        named = some([" on ".join(right) for right in lacking], MOST_NAMED)
        raise StartRefused(
            f"{role}, the role of DATABASE_URL, lacks {len(lacking)} rights, "
            f"{named}; run `manage.py grant_application_role {role} "
            "--apply` with DATABASE_OWNER_URL"
        )


def check_prepared() -> None:
    """
    Raises:
        StartRefused: a transaction may be prepared: until it commits,
            its writes are invisible, and settled data would be reported wrongly.
    """
    most = value_of("SELECT current_setting('max_prepared_transactions')")
    if most != "0":
        raise StartRefused(
            f"max_prepared_transactions is {most}, and a prepared transaction could "
            "change settled entries; end those of pg_prepared_xacts, set it to 0 "
            "and restart PostgreSQL"
        )


def check_session() -> None:
    """
    Raises:
        StartRefused: the sessions that a pooler lends wait without end.
    """
    if not settings.IS_POOLED or lending.lender is None:
        return
    differs = [name for (name,) in rows_of(DIFFERS, [[*SESSION], [*SESSION.values()]])]
    if differs:
        raise StartRefused(
            f"the sessions behind the pooler lack {some(differs, MOST_NAMED)}; run "
            "`manage.py grant_application_role ROLE --apply` with DATABASE_DIRECT_URL, "
            "then RECONNECT on the pooler's console"
        )


SESSION = settings.SESSION_OF_REQUESTS
DIFFERS = """
    SELECT s.name FROM unnest(%s::text[], %s::text[]) AS wanted (name, value)
    JOIN pg_settings s USING (name) WHERE s.setting <> wanted.value ORDER BY s.name
"""


def check_database() -> None:
    """
    Raises:
        StartRefused: by the first check that finds something.
    """
    for check in (check_migrations, check_grants, check_prepared, check_session):
        check()
