"""From the X-Token-Auth header to the Caller that it stands for."""

from threading import Lock
from time import monotonic

from cachetools import TLRUCache
from django.conf import settings
from django.utils import timezone

from accounts.access import Caller
from accounts.models import ApiKey
from issuers.models import IssuerGrant

CACHE_SECONDS = 1.0
"""How long a process may believe a key without asking: a revoked key is refused
everywhere within this time (api reference, keys)."""
CACHED_KEYS = 10_000

# Callers with the time at which their keys were read.
cache: TLRUCache[str, tuple[float, Caller]] = TLRUCache(
    CACHED_KEYS, ttu=lambda token, kept, now: kept[0] + CACHE_SECONDS
)
lock = Lock()


def authenticate(token: str) -> Caller:
    """The caller behind a key.

    Raises:
        Unauthenticated: malformed, unknown, wrong, revoked or expired; one text.
    """
    with lock:
        if known := cache.get(token):
            return known[1]
    read_at = monotonic()
    caller = read_caller(token)
    with lock:
        cache[token] = read_at, caller
    return caller


def read_caller(token: str) -> Caller:
    key = ApiKey.objects.authenticate(token, timezone.now())
    partner = key.partner
    granted = set(
        IssuerGrant.objects.filter(partner=partner).values_list("issuer_id", flat=True)
    )
    return Caller(
        partner_id=str(partner.id),
        login=partner.login,
        partner=partner.name,
        scopes=frozenset(key.scopes),
        granted_issuers=None if None in granted else frozenset(map(str, granted)),
        budget_points=partner.budget_points or settings.PARTNER_API_BUDGET_POINTS,
        budget_refill=partner.budget_refill or settings.PARTNER_API_BUDGET_REFILL,
    )
