"""The peppers that key the digests of API secrets, and their rotation.

PARTNER_API_KEY_PEPPER lists them, the new one first. The database stores a digest of
each pepper and the time when it became known: a new pepper keys nothing until every
process has had time to learn of it. Then a key's digest is rewritten when the key is
used.

A digest covers the login and the secret, so no other partner's key can have it. It is
the SHA-256 of its opening, which the database does not hold; without the opening the
database does not replace a key's digest. Digests without a pepper come from the
previous release; they are accepted while the database names their peppers.
"""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import getLogger
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection

from partnerapi.core.database import execute
from partnerapi.core.starting import StartRefused

SPREAD = timedelta(minutes=10)
"""Within this time every process is started anew after a change of the peppers."""
SPREAD_OF_RELEASE = timedelta(days=1)
"""Within this time no process is left of the release that keyed secrets alone."""
CANARY = b"a digest by which the database knows a pepper of logins and secrets"
CANARY_ALONE = b"a digest by which the database knows a pepper"

logger = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownPepper:
    """A pepper that has keyed digests, or may key them; `digest` names it."""

    id: int
    digest: bytes
    first_used_at: datetime
    is_settled: bool


def peppers() -> list[bytes]:
    """The peppers of the settings, the new one first."""
    listed = settings.PARTNER_API_KEY_PEPPER.split(",")
    return [pepper.strip().encode() for pepper in listed if pepper.strip()]


class Digest(NamedTuple):
    """The digest of a secret in the database, and its opening."""

    digest: bytes
    opening: bytes


def digests(login: str, secret: str) -> list[Digest]:
    """The digests of an API secret, in the order of `canaries`."""
    found = []
    for pepper in peppers():
        opening = keyed_digest(pepper, f"{login} {secret}".encode())
        found.append(Digest(hashlib.sha256(opening).digest(), opening))
        alone = keyed_digest(pepper, secret.encode())
        found.append(Digest(alone, alone))
    return found


def canaries() -> list[bytes]:
    """The digests that identify each pepper in the database, in settings order.

    Each pepper has two: one for logins with secrets, one for secrets alone.
    """
    return [
        keyed_digest(pepper, canary)
        for pepper in peppers()
        for canary in (CANARY, CANARY_ALONE)
    ]


def keyed_digest(pepper: bytes, message: bytes) -> bytes:
    return hmac.digest(pepper, message, hashlib.sha256)


def known_peppers() -> list[KnownPepper]:
    """All peppers that the database knows, the oldest first; one statement."""
    with connection.cursor() as cursor:
        spreads: list[Any] = [SPREAD_OF_RELEASE, SPREAD]
        cursor.execute(KNOWN, spreads)
        return [
            KnownPepper(id, bytes(digest), at, is_settled)
            for id, digest, at, is_settled in cursor.fetchall()
        ]


def is_of(pepper: bytes | None, position: int) -> bool:
    """Whether a digest names the pepper at a position of `canaries`.

    Digests from before peppers were recorded name none; they cover secrets alone.
    """
    if pepper is None:
        return not binds(position)
    return hmac.compare_digest(pepper, canaries()[position])


def binds(position: int) -> bool:
    """Whether digests at a position of `canaries` cover logins, too."""
    return position % 2 == 0


def current() -> tuple[int, int | None]:
    """The position in `canaries` that keys digests now, and its row; one statement.

    It is the first pepper that has had time to spread, else the oldest known one.
    """
    rows = {pepper.digest: pepper for pepper in known_peppers()}
    listed = [rows.get(digest) for digest in canaries()]
    there = [(position, row) for position, row in enumerate(listed) if row]
    for position, row in there:
        if row.is_settled:
            return position, row.id
    return (there[-1][0], there[-1][1].id) if there else (len(listed) - 2, None)


def check_peppers() -> None:
    """Register the peppers of the settings with the database.

    Raises:
        StartRefused: the database knows other peppers and none of these.
    """
    ours = canaries()
    others = {pepper.digest for pepper in known_peppers()}
    if others and not others & set(ours):
        if not settings.PARTNER_API_SANDBOX:
            raise StartRefused(
                "PARTNER_API_KEY_PEPPER does not match the API keys in this database, "
                "so all keys would be rejected. Set the previous pepper; to replace "
                "it, set the new one, a comma, and the previous one"
            )
        logger.warning(
            "PARTNER_API_KEY_PEPPER is new in this database: older API keys are "
            "rejected"
        )
    missing = [digest for digest in ours[::2] if digest not in others]
    if missing:
        execute(LEARN, [missing])


# The first peppers that key logins, too, after one of the previous release.
KNOWN = """
    SELECT id, digest, first_used_at, first_used_at < now() - CASE
        WHEN is_bound AND first_used_at = (
            SELECT min(first_used_at) FROM accounts_pepper WHERE is_bound)
            AND EXISTS (SELECT FROM accounts_pepper WHERE NOT is_bound)
        THEN %s ELSE %s END
    FROM accounts_pepper ORDER BY id
"""
LEARN = """
    INSERT INTO accounts_pepper (digest, is_bound) SELECT unnest(%s::bytea[]), TRUE
    ON CONFLICT DO NOTHING
"""
