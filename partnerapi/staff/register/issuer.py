"""An issuer on one page: its profile as a partner sees it, and where its parts are."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.access import Caller, Scope
from accounts.keys.models import ApiKey
from issuers.callers import caller_of
from issuers.legacy.models import LegacyShareholder
from issuers.models import Issuer, IssuerFinancialData, Token
from issuers.offerings.paying import cash_head
from partnerapi.core.backoffice import MOST_COUNTED
from partnerapi.core.money import euros
from partnerapi.staff.charts import Bar, Part, share_bar
from partnerapi.staff.lookup import typed_text

PERIODS, ARTICLES, GRANTS = 12, 10, 20
"""The most of each that the page shows; links lead to all."""
FIELDS = ("revenue_cents", "ebitda_cents", "ebit_cents", "net_income_cents")
NEEDED = (
    ("Owner, financial data, prices", Scope.ISSUERS_READ, False),
    ("Legacy shareholders", Scope.SHAREHOLDERS_READ, True),
    ("Capitalization table, ledgers", Scope.CAPTABLE_READ, True),
    ("Order books", Scope.MARKETDATA_READ, False),
)
"""What a partner reads of an issuer, the scope for it, and whether it takes a grant."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A period: amounts as text, and its revenue in percent of the largest."""

    period: IssuerFinancialData
    amounts: list[str]
    revenue_percent: str


def show_issuer(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The issuer as staff see it; with `partner`, as the key of that partner does."""
    if not request.user.has_perm("issuers.view_issuer"):
        raise PermissionDenied
    issuers = Issuer.objects.select_related(
        "owner__country", "country", "industry_classification_benchmark", "company_logo"
    )
    issuer = get_object_or_404(issuers, pk=pk)
    at = timezone.now()
    login = typed_text(request, "partner")
    key = newest_key(login, at) if login else None
    caller = caller_of(key) if key else None
    articles = issuer.articles.order_by(F("published_at").desc(nulls_first=True), "-id")
    tokens = Token.objects.filter(issuer=issuer).select_related("ledger_head")
    if login:
        articles = articles.filter(published_at__lte=at)
        tokens = tokens.visible_to(caller)
    reads = [
        (what, scope, why_not(caller, issuer, scope, takes_grant))
        for what, scope, takes_grant in NEEDED
    ]
    shows_figures = not login or reads[0][2] is None
    shown = [*tokens.order_by("created_at", "id")[:MOST_COUNTED]]
    figures = issuer.financial_data.order_by("-year", "-period_type")
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": str(issuer),
        "issuer": issuer,
        "at": at,
        "login": login,
        "key": key,
        "reads": reads if login else None,
        "tokens": [
            (token, price_text(token.ledger_head.price_cents)) for token in shown
        ],
        "bar": by_class(shown),
        "figures": in_bars(figures[:PERIODS]) if shows_figures else None,
        "articles": articles[:ARTICLES],
    }
    if not login:
        context |= {
            "cash": cash_of(issuer),
            "grants": issuer.grants.live()
            .select_related("partner")
            .order_by("partner__login")[:GRANTS],
            "legacy": [
                (status.label, *count_lines(issuer, status))
                for status in LegacyShareholder.Status
            ],
        }
    return TemplateResponse(request, "admin/issuer.html", context)


def cash_of(issuer: Issuer) -> dict[str, Any]:
    """What its offerings have paid; empty before the first one."""
    head = cash_head(issuer)
    if head is None:
        return {}
    return {
        "head": head,
        "balance": euros(head.balance),
        "reserved": euros(head.reserved),
    }


def by_class(tokens: list[Token]) -> Bar:
    """What the units of each class are worth at its price."""
    return share_bar(
        "classes",
        "Value of the supply by class",
        [
            Part(
                f"{token.symbol} {token.name}",
                int(token.ledger_head.supply) * (token.ledger_head.price_cents or 0),
                reverse("admin:token", args=[token.pk]),
            )
            for token in tokens
        ],
        number=euros,
        head="Class",
        unit="value, euros",
        empty="No class has units and a price.",
    )


def newest_key(login: str, at: Any) -> ApiKey | None:
    """The live key of a partner that was used last."""
    keys = ApiKey.objects.live(at).filter(partner__login=login)
    used_last = F("last_used_at").desc(nulls_last=True)
    return keys.select_related("partner").order_by(used_last, "-created_at").first()


def why_not(
    caller: Caller | None, issuer: Issuer, scope: Scope, takes_grant: bool
) -> str | None:
    """What the caller lacks; None: it reads this."""
    if caller is None:
        return "no active key"
    if scope not in caller.scopes:
        return f"the key does not have the scope {scope}"
    if takes_grant and not caller.may_see(str(issuer.pk)):
        return "the partner has no grant for this issuer"
    return None


def in_bars(periods: Iterable[IssuerFinancialData]) -> list[Figures]:
    found = list(periods)
    most = max((p.revenue_cents or 0 for p in found), default=0)
    return [
        Figures(
            period,
            [price_text(getattr(period, name)) for name in FIELDS],
            f"{100 * max(0, period.revenue_cents or 0) / most:.2f}" if most else "0",
        )
        for period in found
    ]


def price_text(cents: int | None) -> str:
    return "—" if cents is None else euros(cents)


def count_lines(issuer: Issuer, status: str) -> tuple[int, bool]:
    """How many legacy lines there are, and whether there are more than counted."""
    lines = issuer.legacy_shareholders.filter(status=status).order_by()
    count = lines[: MOST_COUNTED + 1].count()
    return min(count, MOST_COUNTED), count > MOST_COUNTED
