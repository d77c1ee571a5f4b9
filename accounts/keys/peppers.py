"""The peppers that key the digests of API secrets, and how one follows another.

PARTNER_API_KEY_PEPPER lists them, the new one first. The database knows each by a
digest of its own, and since when: a new pepper keys nothing before every process has
had time to learn of it. Then a key's digest is written anew when the key is used.

A digest is of the login and the secret, so that no other partner's key can have it, and
what it is the SHA-256 of (its opening) opens the way to another digest: the database
does not hold it, and moves no key without. Digests of secrets alone are those of the
release before; they are known while the database names their peppers.
"""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from logging import getLogger
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection

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
    """A pepper that keyed, or may key, digests; `digest` names it."""

    id: int
    digest: bytes
    first_used_at: datetime
    is_settled: bool


def peppers() -> list[bytes]:
    """Those of the settings, the new one first."""
    listed = settings.PARTNER_API_KEY_PEPPER.split(",")
    return [pepper.strip().encode() for pepper in listed if pepper.strip()]


class Digest(NamedTuple):
    """What the database holds of a secret, and what opens it."""

    digest: bytes
    opening: bytes


def digests(login: str, secret: str) -> list[Digest]:
    """The digests of an API secret, in the order of `canaries`."""
    found = []
    for pepper in peppers():
        opening = keyed(pepper, f"{login} {secret}".encode())
        found.append(Digest(hashlib.sha256(opening).digest(), opening))
        alone = keyed(pepper, secret.encode())
        found.append(Digest(alone, alone))
    return found


def canaries() -> list[bytes]:
    """What the database knows each pepper by, in the order of the settings.

    Of each there are two: as it keys logins with secrets, and as it keyed secrets.
    """
    return [
        keyed(pepper, canary)
        for pepper in peppers()
        for canary in (CANARY, CANARY_ALONE)
    ]


def keyed(pepper: bytes, message: bytes) -> bytes:
    return hmac.digest(pepper, message, hashlib.sha256)


def known() -> list[KnownPepper]:
    """All that the database knows, the oldest first; one statement."""
    with connection.cursor() as cursor:
        spreads: list[Any] = [SPREAD_OF_RELEASE, SPREAD]
        cursor.execute(KNOWN, spreads)
        return [
            KnownPepper(id, bytes(digest), at, is_settled)
            for id, digest, at, is_settled in cursor.fetchall()
        ]


def is_of(pepper: bytes | None, position: int) -> bool:
    """Whether a digest at a position of `canaries` is one of the pepper that it names.

    Digests of before peppers were noted name none; they are of secrets alone.
    """
    if pepper is None:
        return not binds(position)
    return hmac.compare_digest(pepper, canaries()[position])


def binds(position: int) -> bool:
    """Whether digests at a position of `canaries` are of logins, too."""
    return position % 2 == 0


def current() -> tuple[int, int | None]:
    """Which of `canaries` keys digests now, and its row; one statement.

    It is the first that has had time to spread, else the oldest that is known.
    """
    rows = {pepper.digest: pepper for pepper in known()}
    listed = [rows.get(digest) for digest in canaries()]
    there = [(position, row) for position, row in enumerate(listed) if row]
    for position, row in there:
        if row.is_settled:
            return position, row.id
    return (there[-1][0], there[-1][1].id) if there else (len(listed) - 2, None)


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
    missing = [digest for digest in ours[::2] if digest not in others]
    if missing:
        with connection.cursor() as cursor:
            cursor.execute(LEARN, [missing])


# The first peppers that key logins, too, after one of the release before.
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
