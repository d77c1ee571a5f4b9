"""The caller behind a key, with the issuers for which its partner has grants."""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet

from accounts.access import Caller
from accounts.keys.models import ApiKey
from issuers.models import IssuerGrant


def caller_of(key: ApiKey) -> Caller:
    """The caller behind a key whose partner is loaded; one statement."""
    grants = IssuerGrant.objects.live().filter(partner=key.partner)
    return make_caller(key, grants.values_list("issuer_id", flat=True))


def callers_of(keys: QuerySet[Any]) -> Iterator[tuple[Any, Caller]]:
    """Each key with the caller behind it; one statement for all."""
    grants = IssuerGrant.objects.live().filter(partner=OuterRef("partner"))
    found = keys.select_related("partner").annotate(
        granted=ArraySubquery(grants.values("issuer_id"))
    )
    for key in found:
        yield key, make_caller(key, key.granted)


def make_caller(key: ApiKey, issuer_ids: Iterable[UUID | None]) -> Caller:
    partner, granted = key.partner, set(issuer_ids)
    return Caller(
        partner_id=str(partner.id),
        login=partner.login,
        partner=partner.name,
        scopes=frozenset(key.scopes),
        granted_issuers=None if None in granted else frozenset(map(str, granted)),
        budget_points=partner.budget_points or settings.PARTNER_API_BUDGET_POINTS,
        budget_refill=partner.budget_refill or settings.PARTNER_API_BUDGET_REFILL,
        key_id=key.pk,
        orders_per_second=partner.orders_per_second,
        open_value_limit=partner.open_value_limit,
    )
