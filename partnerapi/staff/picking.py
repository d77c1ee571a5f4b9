"""Pickers: a field offers rows while someone types, and takes an identifier as ever.

Each kind is a search by an index that reads a few rows; a page asks it by a fragment of
what is typed, and the field works without it, too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.db.models import Model, Q
from django.http import Http404, HttpRequest, JsonResponse

from accounts.accounts.models import Account
from accounts.applicants.models import Applicant
from accounts.cash.models import BankLine, Withdrawal
from accounts.cash.suspense import unassigned_deposits
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers.compliance.models import Restriction
from issuers.legacy.models import LegacyImport, LegacyShareholder
from issuers.models import Issuer, Token
from marketdata.trading.models import Market, Order, OrderStatus, Phase
from partnerapi.core.money import euros
from partnerapi.staff.lookup import MOST, as_uuid, people_called, typed_text

Choice = tuple[str, str]
"""What the field takes, and what it means."""


@dataclass(frozen=True, slots=True)
class Pick:
    """Staff who may view `model` are offered what `find` finds for a text."""

    model: type[Model]
    find: Callable[[str, UUID | None], Iterable[Choice]]


def tokens(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = Token.objects.select_related("issuer").order_by("symbol")
    code = text.upper()
    named = Q(pk=key) if key else Q(symbol__startswith=code) | Q(isin=code)
    for token in rows.filter(named)[:MOST]:
        yield token.symbol, f"{token.name}, {token.issuer}"


def halted(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = Market.objects.filter(phase=Phase.HALTED).select_related("token__issuer")
    found = rows.filter(token__symbol__startswith=text.upper())
    for market in found.order_by("token__symbol")[:MOST]:
        yield market.token.symbol, f"halted: {market.halt_reason}"


def issuers(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = Issuer.objects.order_by("slug")
    slug = "-".join(text.lower().split())
    named = Q(pk=key) if key else Q(slug__startswith=slug)
    for issuer in rows.filter(named)[:MOST]:
        yield issuer.slug, str(issuer)


def partners(text: str, key: UUID | None) -> Iterator[Choice]:
    named = Q(login__istartswith=text) | Q(name__istartswith=text)
    rows = Partner.objects.filter(Q(pk=key) if key else named)
    for partner in rows.order_by("login")[:MOST]:
        yield partner.login, partner.name


def people(text: str, key: UUID | None) -> Iterator[Choice]:
    for user in User.objects.filter(pk=key) if key else people_called(text):
        yield user.email or str(user.pk), str(user)


def staff(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = User.objects.filter(is_staff=True, is_active=True).order_by("email")
    called = Q(pk__in=[user.pk for user in people_called(text)])
    named = Q(email__startswith=text.lower()) | called
    for user in rows.filter(Q(pk=key) if key else named)[:MOST]:
        yield user.email or "", str(user)


def accounts(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = Account.objects.select_related("user", "partner")
    if key:
        found = rows.filter(pk=key)
    else:
        of = [user.pk for user in people_called(text)]
        asked = [each.pk for each in Applicant.objects.search(text, MOST)]
        found = rows.filter(Q(user__in=of) | Q(pk__in=asked))
    for account in found[:MOST]:
        yield str(account.pk), f"{account}, {account.get_status_display()}"


def keys(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = ApiKey.objects.select_related("partner").filter(revoked_at=None)
    named = Q(last_four=text) | Q(partner__login=text)
    for row in rows.filter(Q(pk=key) if key else named)[:MOST]:
        yield str(row.pk), f"…{row.last_four} of {row.partner}"


def withdrawals(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = Withdrawal.objects.select_related(
        "cash_account__account__user", "cash_account__account__partner"
    ).filter(status__in=[Withdrawal.Status.REQUESTED, Withdrawal.Status.APPROVED])
    named = Q(pk=key) if key else Q(payment_reference__startswith=text.upper())
    for row in rows.filter(named).order_by("created_at")[:MOST]:
        said = f"{euros(row.amount)} of {row.cash_account}"
        yield row.payment_reference, f"{said}, {row.get_status_display()}"


def bank_lines(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = BankLine.objects.filter(transaction__in=unassigned_deposits())
    for line in rows.filter(pk__startswith=text).order_by("pk")[:MOST]:
        yield line.reference, f"{euros(line.amount)}, {line.text}"


def open_orders(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = Order.objects.select_related("token", "account__user", "account__partner")
    rows = rows.filter(status=OrderStatus.OPEN)
    called = rows.filter(client_order_id=text)
    for row in (called | rows.filter(pk=key) if key else called)[:MOST]:
        what = f"{row.get_side_display()} {row.quantity:,} {row.token.symbol}"
        yield str(row.pk), f"{what}, {row.account}"


def imports(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = LegacyImport.objects.select_related("issuer").order_by("-pk")
    slug = "-".join(text.lower().split())
    named = Q(pk=key) if key else Q(issuer__slug__startswith=slug)
    for row in rows.filter(named)[:MOST]:
        yield str(row.pk), f"{row.file_name} of {row.issuer}"


def restrictions(text: str, key: UUID | None) -> Iterator[Choice]:
    rows = Restriction.objects.select_related("ledger_account__holder", "token")
    of = [] if key else [user.pk for user in people_called(text)]
    named = Q(pk=key) if key else Q(ledger_account__user__in=of)
    for row in rows.filter(named, ended_at=None)[:MOST]:
        yield str(row.pk), f"{row}, {row.token or 'every token'}"


PICKS: Mapping[str, Pick] = {
    "token": Pick(Token, tokens),
    "halted": Pick(Market, halted),
    "issuer": Pick(Issuer, issuers),
    "partner": Pick(Partner, partners),
    "person": Pick(User, people),
    "staff": Pick(User, staff),
    "account": Pick(Account, accounts),
    "key": Pick(ApiKey, keys),
    "withdrawal": Pick(Withdrawal, withdrawals),
    "line": Pick(BankLine, bank_lines),
    "order": Pick(Order, open_orders),
    "import": Pick(LegacyShareholder, imports),
    "restriction": Pick(Restriction, restrictions),
}


class Picker(forms.TextInput):
    """A field that offers rows of a kind; the page's script asks for them."""

    def __init__(self, kind: str) -> None:
        super().__init__({"data-pick": kind, "autocomplete": "off"})


class TokenField(forms.CharField):
    """A token by its symbol."""

    def __init__(self, pick: str = "token", **more: Any) -> None:
        usual: dict[str, Any] = {
            "label": "Token",
            "max_length": 20,
            "help_text": "Symbol",
        }
        super().__init__(widget=Picker(pick), **usual | more)

    def clean(self, value: Any) -> Token | None:
        symbol = super().clean(value).strip().upper()
        if not symbol:
            return None
        rows = Token.objects.select_related("issuer", "ledger_head")
        if token := rows.filter(symbol=symbol).first():
            return token
        raise forms.ValidationError(f"There is no token {symbol}.")


class PartnerField(forms.CharField):
    """A partner by its login."""

    def __init__(self, **more: Any) -> None:
        usual: dict[str, Any] = {
            "label": "Partner",
            "max_length": 100,
            "help_text": "Login",
        }
        super().__init__(widget=Picker("partner"), **usual | more)

    def clean(self, value: Any) -> Partner | None:
        login = super().clean(value).strip()
        if not login:
            return None
        if partner := Partner.objects.filter(login=login).first():
            return partner
        raise forms.ValidationError(f"There is no partner {login}.")


class StaffField(forms.EmailField):
    """An active member of staff by their email address."""

    def __init__(self) -> None:
        super().__init__(
            label="Email",
            max_length=254,
            help_text="Type a name to choose a member of staff.",
            widget=Picker("staff"),
        )

    def clean(self, value: Any) -> User:
        email = super().clean(value).lower()
        people = User.objects.filter(is_staff=True, is_active=True)
        if person := people.filter(email=email).first():
            return person
        raise forms.ValidationError(f"No member of staff signs in as {email}.")


def offer(request: HttpRequest, kind: str) -> JsonResponse:
    """What a field of this kind may take, for the beginning `q` of what is typed."""
    if kind not in PICKS:
        raise Http404("There is no such kind of field.")
    meta = PICKS[kind].model._meta
    if not request.user.has_perm(f"{meta.app_label}.view_{meta.model_name}"):
        raise PermissionDenied
    text = typed_text(request, "q")
    found = [*PICKS[kind].find(text, as_uuid(text))] if text else []
    choices: list[dict[str, Any]] = [
        {"value": value, "label": label} for value, label in found[:MOST]
    ]
    return JsonResponse({"choices": choices})
