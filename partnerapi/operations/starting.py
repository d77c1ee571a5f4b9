"""Whether the database is the one that this code was written for."""

from partnerapi.core.starting import StartRefused, checks
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


# Before those of apps, which need their tables.
checks[:0] = [check_migrations, check_grants]
