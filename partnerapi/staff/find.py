"""One box finds what staff look for, by its identifier or by how its name begins.

Each kind is one statement that reads an index, and as many rows as are shown.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Model, Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from redis.exceptions import RedisError

from accounts.access import Caller
from accounts.accounts.models import Account
from accounts.applicants.models import Applicant
from accounts.cash.models import BankLine, CashAccount, Withdrawal, normalised_reference
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers.compliance.models import Restriction
from issuers.legacy.models import LegacyShareholder
from issuers.models import Issuer, Token
from issuers.search import MOST_WORDS, search
from marketdata.models import FixSession
from marketdata.trading.models import Order
from partnerapi.core.filters import as_code
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.gateway.recent import askers_of
from partnerapi.gateway.requests import SAFE_ID
from partnerapi.staff.lookup import MOST, as_uuid, link, people_called, typed_text

LAST_CHARACTERS = 4
"""Of a key, which pages show."""
OF_REFERENCES = "RF"
"""How creditor references begin (ISO 11649)."""
EVERYTHING = Caller("", "staff", "Staff", frozenset(), None, 0, 0)
"""Sees every issuer, and private tokens."""


@dataclass(frozen=True, slots=True)
class Hit:
    """`is_exact`: the text is an identifier of the row, and of no other of its kind."""

    text: str
    detail: str
    link: str
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class Kind:
    """`find` gets the text, and its UUID where it is one. `by`: what is read."""

    title: str
    by: str
    model: type[Model]
    find: Callable[[str, UUID | None], Iterable[Hit]]


def people(text: str, key: UUID | None) -> Iterator[Hit]:
    found = User.objects.filter(pk=key) if key else people_called(text)
    for user in found:
        is_exact = key is not None or text.lower() == user.email
        is_exact = is_exact or text.upper() == user.lei
        detail = " · ".join(filter(None, [user.email, user.lei]))
        place = reverse("admin:holder", args=[user.pk])
        yield Hit(str(user), detail, place, is_exact)


def issuers(text: str, key: UUID | None) -> Iterator[Hit]:
    if key:
        ids = [key]
    elif len(text.split()) > MOST_WORDS:
        return
    else:
        found = search(text, EVERYTHING, "TRUE", ())
        places = found.places(limit=MOST) if found else []
        ids = [UUID(place.issuer_id) for place in places]
    rows = Issuer.objects.filter(Q(pk__in=ids) | Q(slug=text.lower()))
    by_id = {issuer.pk: issuer for issuer in rows}
    for pk in [*dict.fromkeys([*by_id, *ids])]:
        if pk in by_id:
            issuer = by_id[pk]
            is_exact = key is not None or issuer.slug == text.lower()
            place = reverse("admin:issuer", args=[issuer.pk])
            yield Hit(str(issuer), issuer.slug, place, is_exact)


def tokens(text: str, key: UUID | None) -> Iterator[Hit]:
    code = as_code(text)
    if not key and not code:
        return
    rows = Token.objects.select_related("issuer")
    wanted = Q(pk=key) if key else Q(isin=code) | Q(symbol=code)
    found = list(rows.filter(wanted)[:MOST])
    if not found and code and not key:
        found = list(rows.filter(symbol__startswith=code).order_by("symbol")[:MOST])
    for token in found:
        is_exact = key is not None or code in (token.isin, token.symbol)
        detail = f"{token.isin or 'no ISIN'} · {token.issuer}"
        yield Hit(f"{token.symbol} {token.name}", detail, link(token), is_exact)


def accounts(text: str, key: UUID | None) -> Iterator[Hit]:
    if key:
        rows = Account.objects.select_related("user", "partner").filter(pk=key)
        for account in rows:
            place = reverse("admin:account", args=[account.pk])
            yield Hit(str(account), account.status, place, True)


def applicants(text: str, key: UUID | None) -> Iterator[Hit]:
    # An account's id leads to the account, whose page shows the applicant.
    if key:
        return
    for row in Applicant.objects.search(text, MOST):
        is_exact = text in (row.reference, row.lei) or text.lower() == row.email
        account = row.account
        detail = f"{row.reference} · {row.email} · {account.status}"
        place = reverse("admin:account", args=[row.pk])
        yield Hit(str(account), detail, place, is_exact)


def legacy_lines(text: str, key: UUID | None) -> Iterator[Hit]:
    rows = LegacyShareholder.objects.select_related("user", "issuer")
    if key:
        found = rows.filter(pk=key)
    else:
        # The index of references is each issuer's own.
        each = Issuer.objects.order_by().values("pk")
        found = rows.filter(issuer__in=each, reference=text)[:MOST]
    for line in found:
        detail = f"{line.reference or 'no reference'} · {line.status}"
        yield Hit(str(line), detail, link(line), True)


def partners(text: str, key: UUID | None) -> Iterator[Hit]:
    named = Q(login__istartswith=text) | Q(name__istartswith=text)
    rows = Partner.objects.filter(Q(pk=key) if key else named)
    for partner in rows.order_by("login")[:MOST]:
        is_exact = key is not None or partner.login == text
        place = reverse("admin:partner", args=[partner.pk])
        yield Hit(partner.name, partner.login, place, is_exact)


def keys(text: str, key: UUID | None) -> Iterator[Hit]:
    last_four = text.removeprefix("…")
    if not key and len(last_four) != LAST_CHARACTERS:
        return
    rows = ApiKey.objects.select_related("partner")
    found = rows.filter(pk=key) if key else rows.filter(last_four=last_four)
    for row in found[:MOST]:
        state = "revoked" if row.revoked_at else "not revoked"
        yield Hit(str(row), state, link(row), key is not None)


def sessions(text: str, key: UUID | None) -> Iterator[Hit]:
    rows = FixSession.objects.select_related("partner")
    for row in rows.filter(comp_id__startswith=text.upper()).order_by("comp_id")[:MOST]:
        is_exact = row.comp_id == text.upper()
        yield Hit(row.comp_id, str(row.partner), link(row), is_exact)


def orders(text: str, key: UUID | None) -> Iterator[Hit]:
    rows = Order.objects.select_related("token", "account__user", "account__partner")
    called = rows.filter(client_order_id=text)
    for row in (called | rows.filter(pk=key) if key else called)[:MOST]:
        what = f"{row.get_side_display()} {row.quantity:,} {row.token.symbol}"
        detail = f"{row.get_status_display()} · {row.account}"
        yield Hit(what, detail, reverse("admin:order", args=[row.pk]), True)


def withdrawals(text: str, key: UUID | None) -> Iterator[Hit]:
    rows = Withdrawal.objects.select_related(
        "cash_account__account__user", "cash_account__account__partner"
    )
    reference = normalised_reference(text)
    if not key and not reference.startswith(OF_REFERENCES):
        return
    wanted = Q(pk=key) if key else Q(payment_reference=reference)
    for row in rows.filter(wanted):
        yield Hit(row.payment_reference, str(row.cash_account), link(row), True)


def cash_accounts(text: str, key: UUID | None) -> Iterator[Hit]:
    # An account's id leads to the account, whose page leads here.
    reference = normalised_reference(text)
    if not reference.startswith(OF_REFERENCES):
        return
    rows = CashAccount.objects.select_related("account__user", "account__partner")
    for row in rows.filter(deposit_reference=reference):
        yield Hit(row.deposit_reference or "", str(row), link(row), True)


def bank_lines(text: str, key: UUID | None) -> Iterator[Hit]:
    for row in BankLine.objects.filter(pk=text):
        yield Hit(row.reference, row.text, link(row), True)


def restrictions(text: str, key: UUID | None) -> Iterator[Hit]:
    if key:
        rows = Restriction.objects.select_related("ledger_account__holder", "token")
        for row in rows.filter(pk=key):
            yield Hit(str(row), str(row.token or "every token"), link(row), True)


def mutations(text: str, key: UUID | None) -> Iterator[Hit]:
    if key:
        # The index of keys is each partner's own.
        each = Partner.objects.order_by().values("pk")
        rows = IdempotencyRecord.objects.filter(partner__in=each, key=key)
        for row in rows.select_related("partner").defer("body", "fingerprint")[:MOST]:
            detail = f"{row.operation_name or 'mutation'} of {row.partner}"
            yield Hit(str(row.key), detail, link(row), True)


def requests(text: str, key: UUID | None) -> Iterator[Hit]:
    if SAFE_ID.fullmatch(text) is None:
        return
    partners = {str(partner.pk): partner for partner in Partner.objects.all()}
    try:
        askers = askers_of(text, [*partners])
    except RedisError:
        yield Hit("Not searched: Valkey does not respond", text, "")
        return
    for partner in [partners[pk] for pk in askers][:MOST]:
        place = reverse("admin:partner_requests", args=[partner.pk])
        yield Hit(text, str(partner), f"{place}?{urlencode({'id': text})}", True)


KINDS = [
    Kind("People and companies", "email, name, LEI, id", User, people),
    Kind("Issuers", "name, slug, symbol, ISIN, LEI, id", Issuer, issuers),
    Kind("Tokens", "symbol, ISIN, id", Token, tokens),
    Kind("Accounts", "id", Account, accounts),
    Kind("Applicants", "partner's reference, email, LEI", Account, applicants),
    Kind("Orders", "clientOrderID, id", Order, orders),
    Kind("Withdrawals", "payment reference, id", Withdrawal, withdrawals),
    Kind("Cash accounts", "deposit reference", CashAccount, cash_accounts),
    Kind("Bank lines", "bank reference", BankLine, bank_lines),
    Kind("Restrictions", "id", Restriction, restrictions),
    Kind("Legacy lines", "reference, id", LegacyShareholder, legacy_lines),
    Kind("Partners", "login, name, id", Partner, partners),
    Kind("API keys", "last four characters, id", ApiKey, keys),
    Kind("FIX sessions", "CompID", FixSession, sessions),
    Kind("Mutations", "Idempotency-Key", IdempotencyRecord, mutations),
    Kind("Requests", "requestId (the partner's last 1,000)", Partner, requests),
]
"""What is searched, in the page's order; a part of the back office adds its own."""


def show_results(request: HttpRequest) -> HttpResponse:
    """What was found by kind; the one row whose identifier was typed, at once."""
    text = typed_text(request, "q")
    kinds = [
        kind
        for kind in KINDS
        if request.user.has_perm(
            f"{kind.model._meta.app_label}.view_{kind.model._meta.model_name}"
        )
    ]
    found: list[tuple[Kind, list[Hit]]] = []
    if text:
        key = as_uuid(text)
        found = [(kind, [*islice(kind.find(text, key), MOST)]) for kind in kinds]
    exact = [hit for _, hits in found for hit in hits if hit.is_exact]
    if len(exact) == 1:
        return HttpResponseRedirect(exact[0].link)
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"Find: {text}" if text else "Find",
        "find_text": text,
        "kinds": kinds,
        "found": [(kind, hits) for kind, hits in found if hits],
        "most": MOST,
    }
    return TemplateResponse(request, "admin/find.html", context)
