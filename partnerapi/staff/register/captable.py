"""An issuer's capitalization table at an instant, which the address holds.

It is the table that partners read. Within they may list holders at once, these come
by value; beyond, in the order of their ids, a page at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from itertools import islice
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
)
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from issuers.exports.captable import COLUMNS, dated_table, holdings, lines
from issuers.models import Issuer, Token
from issuers.register.captable import (
    CapitalizationTable,
    CapitalizationTableTooLarge,
    capitalization_tables,
)
from issuers.register.captable_columns import Holder, TokenSummary
from issuers.register.captable_pages import (
    FIRST_USER,
    Stretch,
    holder_counts,
    holder_of,
    holders_within,
)
from issuers.register.holdings import balances_of
from issuers.register.models import HolderBalance
from issuers.register.names import names_of
from partnerapi.core.errors import RequestTimeout
from partnerapi.core.money import euros
from partnerapi.core.times import from_rfc3339, to_rfc3339
from partnerapi.staff.charts import Bar, Part, share_bar
from partnerapi.staff.log.downloads import csv_file, download, note_print
from partnerapi.staff.lookup import as_uuid, people_called, typed_text

HOLDERS_OF_A_PAGE = 100
LARGEST = 10
END_OF_DAY = time.max


@dataclass(frozen=True, slots=True)
class TokenRow:
    token: Token
    summary: TokenSummary

    @property
    def price(self) -> str:
        return euros(self.summary.price) if self.summary.price else "none: valued at 0"

    @property
    def held_value(self) -> str:
        return euros(self.summary.held_value)

    @property
    def supply_value(self) -> str:
        return euros(self.summary.supply_value)


@dataclass(frozen=True, slots=True)
class HolderRow:
    """A holder with the name of then, and its share in percent."""

    name: str
    user_id: str
    holder: Holder
    units: list[tuple[Token, int]]

    @property
    def value(self) -> str:
        return euros(self.holder.total_value)

    @property
    def share(self) -> str:
        return f"{100 * self.holder.percentage:.4f}"


def instant_of(given: Any) -> datetime | None:
    """The instant that the form or the address says; None: none is said.

    Raises:
        ValueError: with a sentence.
    """
    if at := given.get("at"):
        return from_rfc3339(at)
    if not (day := given.get("date")):
        return None
    if given.get("end") or not given.get("time"):
        clock = END_OF_DAY
    else:
        clock = read(time, given["time"], "a valid time: use HH:MM, such as 17:30")
    known = "a valid date: use YYYY-MM-DD, such as 2026-01-31"
    return datetime.combine(read(date, day, known), clock, UTC)


def read(kind: Any, text: str, expected: str) -> Any:
    """
    Raises:
        ValueError: with a sentence.
    """
    try:
        return kind.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text[:40]} is not {expected}.") from None


def address(
    issuer: Issuer, at: datetime | str, name: str = "captable", **more: Any
) -> str:
    query = urlencode({"at": to_rfc3339(at)} | more)
    return f"{reverse(f'admin:{name}', args=[issuer.pk])}?{query}"


def show_captable(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The table; without an instant in the address, it goes to that of now."""
    issuer = issuer_for(request, pk)
    if request.method == "POST":
        return note_print(request, issuer, "Capitalization table")
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"Capitalization table of {issuer}",
        "issuer": issuer,
    }
    try:
        asked = instant_of(request.GET)
    except ValueError as error:
        problem = f"This is not an instant: {error}"
        return answer(request, context | {"problem": problem}, status=400)
    try:
        return at_instant(request, issuer, asked, context)
    except RequestTimeout as error:
        return answer(request, context | {"problem": str(error)}, status=503)


def at_instant(
    request: HttpRequest,
    issuer: Issuer,
    asked: datetime | None,
    context: dict[str, Any],
) -> HttpResponse:
    """
    Raises:
        RequestTimeout: a writer holds one of the ledgers for too long.
    """
    if "at" not in request.GET:
        if asked is None:
            [table] = capitalization_tables([str(issuer.pk)], None, with_holders=False)
        return HttpResponseRedirect(address(issuer, asked or table.date))
    lists_all = not typed_text(request, "holder")
    [table] = capitalization_tables([str(issuer.pk)], asked, with_holders=lists_all)
    context |= {
        "asked": asked,
        "at": datetime.fromisoformat(table.date),
        "is_future": table.is_present,
        "link": address(issuer, table.date),
        "csv": address(issuer, table.date, "captable_csv"),
    }
    tokens = {
        str(token.pk): token
        for token in Token.objects.filter(pk__in=[t.token_id for t in table.tokens])
    }
    context |= totals(table, tokens)
    context |= holders(request, issuer, table, tokens)
    return answer(request, context)


def answer(
    request: HttpRequest, context: dict[str, Any], status: int = 200
) -> TemplateResponse:
    return TemplateResponse(request, "admin/captable.html", context, status=status)


def issuer_for(request: HttpRequest, pk: UUID) -> Issuer:
    """
    Raises:
        PermissionDenied: the user may not view issuers.
    """
    if not request.user.has_perm("issuers.view_issuer"):
        raise PermissionDenied
    return get_object_or_404(Issuer, pk=pk)


def totals(table: CapitalizationTable, tokens: dict[str, Token]) -> dict[str, Any]:
    return {
        "total": euros(table.total_value),
        "tokens": [TokenRow(tokens[t.token_id], t) for t in table.tokens],
        "unpriced": [tokens[t.token_id] for t in table.tokens if not t.price],
        "is_before_first": not any(t.seq for t in table.tokens),
        "holder_count": holder_counts([table])[0],
    }


def holders(
    request: HttpRequest,
    issuer: Issuer,
    table: CapitalizationTable,
    tokens: dict[str, Token],
) -> dict[str, Any]:
    """A page of the holders, or those whose name or address begins as was typed."""
    wanted = typed_text(request, "holder")
    more: dict[str, Any] = {"holder": wanted} if wanted else {}
    shown: list[Holder]
    largest: list[Holder] = []
    following = None
    is_by_value = not isinstance(table.holders, CapitalizationTableTooLarge)
    if wanted:
        shown = find_holders(issuer, table, wanted)
    elif isinstance(table.holders, CapitalizationTableTooLarge):
        after = as_uuid(request.GET.get("after", "")) or FIRST_USER
        stretch = Stretch(after=str(after), limit=HOLDERS_OF_A_PAGE + 1)
        [shown] = holders_within([table], stretch)
        if len(shown) > HOLDERS_OF_A_PAGE:
            shown = shown[:HOLDERS_OF_A_PAGE]
            more["after"] = shown[-1].user_id
    else:
        assert table.holders is not None
        asked = request.GET.get("page", "")
        number = min(int(asked), len(table.holders)) if asked.isdecimal() else 0
        start = number * HOLDERS_OF_A_PAGE
        first = [*islice(table.holders, start + HOLDERS_OF_A_PAGE)]
        largest, shown = first[:LARGEST], first[start:]
        if len(table.holders) > start + HOLDERS_OF_A_PAGE:
            more["page"] = number + 1
    if "after" in more or "page" in more:
        following = address(issuer, table.date, **more)
    rows = holder_rows(table, [*largest, *shown], tokens)
    return {
        "bars": [by_class(table, tokens)]
        + ([by_holder(table, rows[: len(largest)])] if largest else []),
        "holders": rows[len(largest) :],
        "following": following,
        "is_by_value": is_by_value,
        "wanted": wanted,
    }


def by_class(table: CapitalizationTable, tokens: dict[str, Token]) -> Bar:
    """The value that holders have in each class."""
    return share_bar(
        "classes",
        "Ownership by class",
        [
            Part(
                f"{tokens[each.token_id].symbol} {tokens[each.token_id].name}",
                each.held_value,
                reverse("admin:token", args=[each.token_id]),
            )
            for each in table.tokens
        ],
        number=euros,
        head="Class",
        unit="value held, euros",
        empty="No class has a price and a holder.",
    )


def by_holder(table: CapitalizationTable, largest: list[HolderRow]) -> Bar:
    """The value of the largest holders, and of all others."""
    parts = [
        Part(
            row.name,
            row.holder.total_value,
            reverse("admin:holder", args=[row.user_id]),
        )
        for row in largest
    ]
    rest = table.total_value - sum(part.value for part in parts)
    return share_bar(
        "largest",
        "Largest holders",
        [*parts, Part("All others", rest, "", True)],
        number=euros,
        unit="value held, euros",
        empty="No holder has units with a price.",
    )


def find_holders(issuer: Issuer, table: CapitalizationTable, text: str) -> list[Holder]:
    """The holders whose email, LEI or name begins as the text; four statements."""
    balances = HolderBalance.objects.filter(
        token__issuer=issuer, account__user=OuterRef("pk")
    )
    users = [str(u.pk) for u in people_called(text, Exists(balances))]
    summaries = {token.token_id: token for token in table.tokens}
    at = datetime.fromisoformat(table.date)
    held = balances_of(users, at, [str(issuer.pk)])
    return [
        holder_of(
            table, user_id, [(summaries[b.token_id], b.balance) for b in balances]
        )
        for user_id, balances in zip(users, held, strict=True)
        if balances and not isinstance(balances, CapitalizationTableTooLarge)
    ]


def holder_rows(
    table: CapitalizationTable, held: Sequence[Holder], tokens: dict[str, Token]
) -> list[HolderRow]:
    names = names_of([holder.user_id for holder in held], table.date)
    return [
        HolderRow(
            names[holder.user_id],
            holder.user_id,
            holder,
            [(tokens[b.token_id], b.balance) for b in holder.token_balances],
        )
        for holder in held
    ]


def download_csv(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """All holdings at the instant, by the holders' value: the same bytes forever."""
    issuer = issuer_for(request, pk)
    try:
        at = instant_of(request.GET)
    except ValueError as error:
        return HttpResponse(f"This is not an instant: {error}", "text/plain", 400)
    table = dated_table(issuer, at)
    said = to_rfc3339(table.date)
    name = f"{issuer.slug}-{said.replace(':', '')}.csv"
    with holdings(table) as held:
        file = csv_file([column.name for column in COLUMNS], lines(table, held))
    return download(request, issuer, "Capitalization table", file, name, at=said)
