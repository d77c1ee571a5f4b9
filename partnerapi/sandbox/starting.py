"""Whether the database is one that the sandbox's mutations may change."""

from django.conf import settings

from accounts.people.models import User
from partnerapi.core.starting import StartRefused
from partnerapi.sandbox.data.approvals import ASKER


def check_seeded() -> None:
    """
    Raises:
        StartRefused: the mutations are on, and the database has no sandbox data.
    """
    if not settings.PARTNER_API_DRIVEN:
        return
    if not User.objects.filter(email=ASKER).exists():
        raise StartRefused(
            "PARTNER_API_SANDBOX_KEY is set, so that partners can give themselves "
            "money, and this database has no sandbox data; unset it, or run "
            "`manage.py sandbox seed` on a database that may hold invented companies"
        )
