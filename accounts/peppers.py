"""The peppers that key the digests of API secrets, and how one follows another.

PARTNER_API_KEY_PEPPER lists them, the new one first. The database knows each by a
digest of its own, and since when: a new pepper keys nothing before every process has
had time to learn of it. Then a key's digest is written anew when the key is used.
"""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import getLogger

from django.conf import settings
from django.db import connection

from partnerapi.core.starting import StartRefused

SPREAD = timedelta(minutes=10)
"""Within this time every process is started anew after a change of the peppers."""
CANARY = b"a digest by which the database knows a pepper"

logger = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownPepper:
    """A pepper that keyed, or may key, digests; `digest` names it."""

    id: int
    digest: bytes
    first_used_at: datetime
    is_settled: bool


def peppers() -> list[bytes]:
    """Those of the settings, the new one first."""
    listed = settings.PARTNER_API_KEY_PEPPER.split(",")
    return [pepper.strip().encode() for pepper in listed if pepper.strip()]


def digests(secret: str) -> list[bytes]:
    """The digest of an API secret by each pepper, in the order of the settings."""
    return [keyed(pepper, secret.encode()) for pepper in peppers()]


def canaries() -> list[bytes]:
    """What the database knows each pepper by, in the order of the settings."""
    return [keyed(pepper, CANARY) for pepper in peppers()]


def keyed(pepper: bytes, message: bytes) -> bytes:
    return hmac.digest(pepper, message, hashlib.sha256)


def known() -> list[KnownPepper]:
    """All that the database knows, the oldest first; one statement."""
    with connection.cursor() as cursor:
        cursor.execute(KNOWN, [SPREAD.total_seconds()])
        return [
            KnownPepper(id, bytes(digest), at, is_settled)
            for id, digest, at, is_settled in cursor.fetchall()
        ]


def current() -> tuple[int, int | None]:
    """Which of the settings' peppers keys digests now, and its row; one statement.

    It is the first that has had time to spread, else the oldest.
    """
    rows = {pepper.digest: pepper for pepper in known()}
    listed = [rows.get(digest) for digest in canaries()]
    for position, row in enumerate(listed):
        if row and row.is_settled:
            return position, row.id
    last = listed[-1]
    return len(listed) - 1, last.id if last else None


def check_peppers() -> None:
    """Have the database know the peppers of the settings.

    Raises:
        StartRefused: it knows others and none of these.
    """
    ours = canaries()
    others = {pepper.digest for pepper in known()}
    if others and not others & set(ours):
        if not settings.PARTNER_API_SANDBOX:
            raise StartRefused(
                "PARTNER_API_KEY_PEPPER is not the one that keyed the API keys of this "
                "database, so that all would be refused; set the one that was used "
                "before, after the new one and a comma where it is to be replaced"
            )
        logger.warning("PARTNER_API_KEY_PEPPER is new here: older API keys are refused")
    missing = [digest for digest in ours if digest not in others]
    if missing:
        with connection.cursor() as cursor:
            cursor.execute(LEARN, [missing])


KNOWN = """
    SELECT id, digest, first_used_at, first_used_at < now() - make_interval(secs => %s)
    FROM accounts_pepper ORDER BY id
"""
LEARN = """
    INSERT INTO accounts_pepper (digest) SELECT unnest(%s::bytea[])
    ON CONFLICT DO NOTHING
"""
