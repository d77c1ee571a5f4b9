"""From the X-Token-Auth header to the Caller that it stands for."""

import hashlib
from threading import Lock
from time import monotonic

from cachetools import LRUCache, TLRUCache
from django.utils import timezone

from accounts.access import Caller, Unauthenticated
from accounts.keys.models import ApiKey
from issuers.callers import caller_of
from partnerapi.core import metrics

CACHE_SECONDS = 1.0
"""How long a process may believe a key without asking: a revoked key is refused
everywhere within this time (api reference, keys)."""
CACHED_KEYS = 10_000

# Callers with the time at which their keys were read.
cache: TLRUCache[str, tuple[float, Caller]] = TLRUCache(
    CACHED_KEYS,
    ttu=lambda token, kept, now: kept[0] + CACHE_SECONDS,
    timer=lambda: monotonic(),
)
# The partners of keys that were accepted last, by the keys' digests.
partners: LRUCache[bytes, str] = LRUCache(CACHED_KEYS)
lock = Lock()


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def known_partner(token: str) -> str | None:
    """The key's partner at this process's last check, which proves nothing now."""
    with lock:
        return partners.get(digest(token))


def known_caller(token: str) -> Caller | None:
    """The caller behind a key, where this process believes it still."""
    with lock:
        known = cache.get(token)
    return known and known[1]


def authenticate(token: str) -> Caller:
    """The caller behind a key.

    Raises:
        Unauthenticated: malformed, unknown, wrong, revoked or expired; one text.
    """
    if known := known_caller(token):
        metrics.KEY_KNOWN.inc()
        return known
    read_at = monotonic()
    try:
        caller = caller_of(ApiKey.objects.authenticate(token, timezone.now()))
    except Unauthenticated:
        metrics.KEY_REFUSED.inc()
        with lock:
            partners.pop(digest(token), None)
        raise
    metrics.KEY_READ.inc()
    with lock:
        cache[token] = read_at, caller
        partners[digest(token)] = caller.partner_id
    return caller
