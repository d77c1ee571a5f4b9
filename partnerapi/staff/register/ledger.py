"""The ledger of a token, newest entries first, and what a holder's part of it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.people.models import User
from issuers.models import Token
from issuers.register.models import LedgerPosting, LedgerTransaction
from partnerapi.staff.log.downloads import note_print
from partnerapi.staff.lookup import as_uuid

ENTRIES_OF_A_PAGE = 100
LAST_ENTRY = 2**63 - 1


@dataclass(frozen=True, slots=True)
class EntryRow:
    """`reversed_by`: the entry that undoes it. `balance`: the holder's, after it."""

    entry: LedgerTransaction
    reversed_by: int | None
    balance: int | None


def address(token: Token, **query: Any) -> str:
    """The page; `seq` is the entry that stands first."""
    return f"{reverse('admin:ledger', args=[token.pk])}?{urlencode(query)}"


def show_ledger(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Entries from the one that `seq` names downwards; with `user`, those of a user."""
    if not request.user.has_perm("issuers.view_token"):
        raise PermissionDenied
    tokens = Token.objects.select_related("issuer", "ledger_head")
    token = get_object_or_404(tokens, pk=pk)
    if request.method == "POST":
        return note_print(request, token, "Ledger, entries")
    asked = request.GET.get("seq", "")
    seq = min(int(asked), LAST_ENTRY) if asked.isdecimal() else LAST_ENTRY
    holder = None
    if user_id := as_uuid(request.GET.get("user", "")):
        holder = get_object_or_404(User, pk=user_id)
    rows = [*entries(token, seq, holder)]
    last = rows[-1].entry.seq if len(rows) > ENTRIES_OF_A_PAGE else None
    query = {"user": holder.pk} if holder else {}
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"Ledger of {token.symbol}",
        "token": token,
        "holder": holder,
        "rows": rows[:ENTRIES_OF_A_PAGE],
        "asked": seq if seq < LAST_ENTRY else None,
        "older": last and address(token, seq=last, **query),
        "newest": address(token, **query),
        "of_all": address(token),
    }
    return TemplateResponse(request, "admin/ledger.html", context)


def entries(token: Token, seq: int, holder: User | None) -> Iterable[EntryRow]:
    """A page and one entry more; two statements, three of a holder."""
    found = token.transactions.select_related(
        "source__holder", "source__issuer", "target__holder", "target__issuer"
    ).order_by("-seq")
    balances: dict[int, int] = {}
    if holder:
        postings = LedgerPosting.objects.filter(
            token=token, account__user=holder, seq__lte=seq
        ).order_by("-seq")
        columns = postings.values_list("seq", "balance_after")
        balances = {at: int(units) for at, units in columns[: ENTRIES_OF_A_PAGE + 1]}
        found = found.filter(seq__in=balances)
    else:
        found = found.filter(seq__lte=seq)
    shown = [*found[: ENTRIES_OF_A_PAGE + 1]]
    undone = dict(
        token.transactions.filter(reverses__in=[e.seq for e in shown]).values_list(
            "reverses", "seq"
        )
    )
    return [EntryRow(e, undone.get(e.seq), balances.get(e.seq)) for e in shown]
