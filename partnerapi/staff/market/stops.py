"""Standing blocks of orders, for the pages of those whom they stop."""

from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from marketdata.trading.models import OrderBlock


def read_stops(
    request: HttpRequest, partner: UUID | None = None, account: UUID | None = None
) -> QuerySet[OrderBlock]:
    """Those of all partners, of a partner, or of an account of that partner."""
    if not request.user.has_perm("trading.view_orderblock"):
        return OrderBlock.objects.none()
    of = Q(partner=None)
    if partner is not None:
        of |= Q(partner=partner)
    if account is not None:
        of &= Q(account=None) | Q(account=account)
    standing = OrderBlock.objects.filter(of, released_at=None).order_by("blocked_at")
    return standing.select_related(
        "partner", "account__user", "account__partner", "token"
    )
