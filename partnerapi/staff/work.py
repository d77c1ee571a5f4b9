"""Work that one member of staff does at once: a page for each, with a form.

What needs a second person is in `approvals.filing`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from axes.utils import reset
from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.accounts.models import Account, Actor
from accounts.approvals.four_eyes import NotApproved
from accounts.keys.models import Partner
from accounts.management.people import user_named
from accounts.people.models import User
from issuers.models import Token
from issuers.offerings.deciding import OfferingRefused, withdraw_draft
from issuers.offerings.models import Offering, OfferingStatus
from issuers.offerings.secondary import open_secondary_market
from marketdata.models.sessions import (
    MOST_SESSIONS,
    USUAL_SESSIONS,
    FixSession,
    NotBound,
)
from marketdata.trading import controls
from marketdata.trading.errors import NotTradable
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.market import cancel_all
from marketdata.trading.models import Market, Order, OrderBlock, OrderStatus
from marketdata.trading.phases import (
    COLLAR_BPS,
    LOT_UNITS,
    PhaseRefused,
    open_market,
)
from marketdata.trading.sessions import Session
from partnerapi.core import lock_waits
from partnerapi.core.database import constraint_of
from partnerapi.core.form_fields import EurosField, WholeField
from partnerapi.core.money import plural
from partnerapi.staff.home import NIGHTLY
from partnerapi.staff.lookup import as_uuid
from partnerapi.staff.offering_draft import OfferingDraftForm
from partnerapi.staff.picking import PartnerField, Picker, StaffField, TokenField
from partnerapi.staff.working import Done, NotDone, WorkForm

CHECK_SECONDS = 3600
"""A check that no worker has begun within them is not begun any more."""


class AccountForm(WorkForm):
    field_order = ["partner", "client"]
    partner = PartnerField()
    client = forms.CharField(
        label="Client",
        max_length=254,
        help_text="Email or wallet address, LEI or id. Type a name to choose a user.",
        widget=Picker("person"),
    )
    note = "The account is pending until you activate it."

    def do(self, user: User) -> Done:
        partner = self.cleaned_data["partner"]
        if not partner.is_active:
            raise NotDone(f"{partner} is switched off.")
        actor = Actor(user.email or "", is_staff=True)
        try:
            client = user_named(self.cleaned_data["client"].strip())
            with transaction.atomic():
                account = Account.objects.open(partner, client, actor, timezone.now())
        except CommandError as error:
            raise NotDone(str(error)) from None
        except IntegrityError as error:
            if constraint_of(error) != "one_open_account_per_partner_and_user":
                raise
            raise NotDone(f"{client} already has an account with {partner}.") from None
        place = reverse("admin:account", args=[account.pk])
        return Done(account, "Opened the account", place)


FEED, DROP_COPY = "feed", "drop-copy"
"""What a CompID is for."""


class CompIdForm(WorkForm):
    field_order = ["partner", "kind", "count"]
    partner = PartnerField()
    kind = forms.ChoiceField(
        label="For",
        choices=[(FEED, "Order books"), (DROP_COPY, "Drop copy: reports of orders")],
        initial=FEED,
        help_text="It cannot be changed later. A drop copy needs a key with the scope "
        "trading:read.",
    )
    count = WholeField(
        label="CompIDs",
        min_value=1,
        max_value=MOST_SESSIONS,
        initial=USUAL_SESSIONS,
        help_text=f"How many more. A partner may have {MOST_SESSIONS}.",
    )
    note = "They are the next free ones of the pool; the acceptor is not restarted."

    def do(self, user: User) -> Done:
        partner = self.cleaned_data["partner"]
        try:
            bound = FixSession.objects.bind(
                partner,
                self.cleaned_data["count"],
                is_drop_copy=self.cleaned_data["kind"] == DROP_COPY,
            )
        except NotBound as error:
            raise NotDone(str(error)) from None
        names = ", ".join(session.comp_id for session in bound)
        place = reverse("admin:partner", args=[partner.pk]) + "#compids"
        return Done(partner, f"Assigned {names}", place)


class MarketForm(WorkForm):
    field_order = [
        "token", "opens", "closes", "weekdays_only", "reference_price", "tick", "lot",
        "collar",
    ]  # fmt: skip
    token = TokenField()
    opens = forms.TimeField(
        label=f"Opens, {settings.MARKET_TIME_ZONE}",
        initial=time(9),
        help_text="HH:MM",
        widget=forms.TimeInput(format="%H:%M"),
    )
    closes = forms.TimeField(
        label=f"Closes, {settings.MARKET_TIME_ZONE}",
        initial=time(17, 30),
        help_text="HH:MM. The same time twice means all day, ending then.",
        widget=forms.TimeInput(format="%H:%M"),
    )
    weekdays_only = forms.BooleanField(
        label="Only from Monday to Friday", required=False, initial=True
    )
    reference_price = EurosField(
        label="Reference price, €",
        required=False,
        min_value=0,
        max_digits=16,
        help_text="Required if the token has no price yet. Pages of a token fill in "
        "the price of its last offering.",
    )
    tick = EurosField(
        label="Tick, €", initial="0.01", min_value=0, max_digits=9,
        help_text="Limits must be multiples of it.",
    )  # fmt: skip
    lot = WholeField(
        label="Lot, units", min_value=1, initial=LOT_UNITS,
        help_text="Quantities must be multiples of it.",
    )  # fmt: skip
    collar = WholeField(
        label="Collar, %", min_value=1, max_value=100, initial=COLLAR_BPS // 100,
        help_text="Greatest distance of limits from the reference price.",
    )  # fmt: skip
    note = "Permanent: the levels of the outside feed leave the book at once."

    def do(self, user: User) -> Done:
        asked = self.cleaned_data
        token = asked["token"]
        session = Session(asked["opens"], asked["closes"], asked["weekdays_only"])
        try:
            open_market(
                token.pk,
                session,
                user.email or "",
                asked["tick"],
                asked["lot"],
                asked["collar"] * 100,
                asked["reference_price"],
            )
        except PhaseRefused as error:
            raise NotDone(str(error)) from None
        market = Market.objects.get(token=token)
        place = reverse("admin:market", args=[token.pk])
        return Done(market, "Opened the market", place)


class SecondaryForm(WorkForm):
    field_order = ["token"]
    token = TokenField()
    note = "Permanent: an order book opens, and the token has no other offering."

    def do(self, user: User) -> Done:
        token = self.cleaned_data["token"]
        try:
            open_secondary_market(token)
        except OfferingRefused as error:
            raise NotDone(str(error)) from None
        page = reverse("admin:token", args=[token.pk])
        return Done(token, "Opened the secondary market", page)


class CancelForm(WorkForm):
    """Orders of an order's id, an account, a token or a partner; at least one."""

    field_order = ["order", "account", "token", "partner"]
    order = forms.CharField(
        label="Order",
        required=False,
        help_text="Id. Type the client's order id to choose an order.",
        widget=Picker("order"),
    )
    account = forms.CharField(
        label="Account",
        required=False,
        help_text="Id. Type the client's name to choose an account.",
        widget=Picker("account"),
    )
    token = forms.CharField(
        label="Token", required=False, help_text="Symbol", widget=Picker("token")
    )
    partner = forms.CharField(
        label="Partner", required=False, help_text="Login", widget=Picker("partner")
    )
    confirmed = forms.IntegerField(required=False, widget=forms.HiddenInput())
    note = "Name one or more. Only orders that fit all of them are cancelled."

    def found(self) -> tuple[Any, Model]:
        """The open orders that are meant, and what they belong to.

        Raises:
            NotDone
        """
        asked = self.cleaned_data
        orders = Order.objects.filter(status=OrderStatus.OPEN)
        row: Model | None = None
        named: Mapping[str, tuple[type[Model], str]] = {
            "partner": (Partner, "login"),
            "token": (Token, "symbol"),
            "account": (Account, "pk"),
            "order": (Order, "pk"),
        }
        for name, (model, column) in named.items():
            text = asked[name].strip()
            if not text:
                continue
            value: Any = as_uuid(text) if column == "pk" else text
            value = text.upper() if column == "symbol" else value
            row = model._default_manager.filter(**{column: value}).first()
            if row is None or value is None:
                raise NotDone(f"There is no {name} {text}.")
            orders = orders.filter(**{"pk" if name == "order" else name: row.pk})
        if row is None:
            raise NotDone("Name an order, an account, a token or a partner.")
        return orders, row

    def do(self, user: User) -> Done:
        orders, row = self.found()
        number = orders.count()
        if not number:
            raise NotDone("No open order fits. Nothing was cancelled.")
        if self.cleaned_data["confirmed"] != number:
            data: Any = self.data
            self.data = typed = data.copy()
            typed["confirmed"] = str(number)
            raise NotDone(
                f"{plural(number, 'open order')} of {row} would be cancelled. Press "
                "the button again to confirm."
            )
        try:
            ended = cancel_all(orders, OrderStatusReason.BY_STAFF, user.email or "")
        except NotTradable as error:
            raise NotDone(str(error)) from None
        listed = reverse("admin:trading_order_changelist")
        return Done(row, f"Cancelled {plural(ended, 'open order')}", listed)


class StopForm(WorkForm):
    """Orders of a partner, of an account or of all partners; one of them."""

    field_order = ["partner", "account", "everything"]
    partner = forms.CharField(
        label="Partner", required=False, help_text="Login", widget=Picker("partner")
    )
    account = forms.CharField(
        label="Account",
        required=False,
        help_text="Id. Type the client's name to choose an account.",
        widget=Picker("account"),
    )
    everything = forms.BooleanField(label="All partners", required=False)
    note = (
        "New orders are refused at once, and open orders are cancelled. Two people "
        "release them."
    )

    def found(self) -> tuple[UUID | None, UUID | None, str]:
        """The partner and the account whose orders are stopped, and its page.

        Raises:
            NotDone
        """
        asked = self.cleaned_data
        login, account = asked["partner"].strip(), asked["account"].strip()
        if [bool(login), bool(account), asked["everything"]].count(True) != 1:
            raise NotDone("Name a partner or an account, or choose all partners.")
        if login:
            partner = Partner.objects.filter(login=login).first()
            if partner is None:
                raise NotDone(f"There is no partner {login}.")
            return partner.pk, None, reverse("admin:partner", args=[partner.pk])
        if account:
            pk = as_uuid(account)
            of = Account.objects.filter(pk=pk).first() if pk else None
            if of is None:
                raise NotDone(f"There is no account {account}.")
            return of.partner_id, of.pk, reverse("admin:account", args=[of.pk])
        return None, None, reverse("admin:books")

    def do(self, user: User) -> Done:
        partner, account, place = self.found()
        who, reason = user.email or "", self.cleaned_data["reason"]
        made = controls.block(partner, account, None, who, reason)
        of = {"partner": partner, "account": account}
        orders = Order.objects.filter(**{k: v for k, v in of.items() if v})
        try:
            ended = controls.sweep(orders, OrderStatusReason.BY_STAFF, who)
        except lock_waits.LockTimeout as error:
            what = f"Stopped orders, but some rest: {error} Cancel them as well"
        else:
            what = f"Stopped orders and cancelled {plural(ended, 'open order')}"
        return Done(OrderBlock.objects.get(pk=made), what, place)


class WithdrawDraftForm(WorkForm):
    field_order = ["offering"]
    offering = forms.ModelChoiceField(
        queryset=Offering.objects.filter(status=OfferingStatus.DRAFT).select_related(
            "token"
        ),
        label="Draft",
    )
    note = "Partners never saw the draft. It is final: another draft is a new offering."

    def do(self, user: User) -> Done:
        draft = self.cleaned_data["offering"]
        try:
            withdraw_draft(draft, self.cleaned_data["reason"], user.email or "")
        except (NotApproved, OfferingRefused) as error:
            raise NotDone(str(error)) from None
        place = reverse("admin:offering", args=[draft.pk])
        return Done(draft, "Withdrew the draft", place)


class UnlockForm(WorkForm):
    field_order = ["login"]
    login = StaffField()
    note = (
        "Ask the person by phone whether the failures were theirs. The password stays."
    )

    def do(self, user: User) -> Done:
        person = self.cleaned_data["login"]
        if not reset(username=person.email):
            raise NotDone(f"{person.email} is not locked.")
        return Done(person, "Unlocked the sign-in", reverse("admin:index"))


class CheckForm(WorkForm):
    field_order = ["check"]
    check = forms.ChoiceField(
        label="Check",
        choices=[(job, job.replace("_", " ").capitalize()) for job in NIGHTLY],
    )
    note = "A worker begins within seconds. The list of job runs shows the result."

    def do(self, user: User) -> Done:
        # Only here does a web process need Celery.
        from partnerapi.celery import app

        job = self.cleaned_data["check"]
        app.send_task(f"partnerapi.operations.tasks.{job}", expires=CHECK_SECONDS)
        listed = reverse("admin:partnerapi_jobrun_changelist")
        place = f"{listed}?{urlencode({'q': job})}"
        return Done(user, f"Started the job {job.replace('_', ' ')}", place)


@dataclass(frozen=True, slots=True)
class Work:
    title: str
    right: str
    form: type[WorkForm]
    button: str


WORK: Mapping[str, Work] = {
    "open-account": Work(
        "Open an account", "accounts.change_account", AccountForm, "Open"
    ),
    "assign-compids": Work(
        "Assign CompIDs", "marketdata.change_fixsession", CompIdForm, "Assign"
    ),
    "open-market": Work(
        "Open an internal market", "trading.change_market", MarketForm, "Open"
    ),
    "open-secondary": Work(
        "Move a token to the secondary market",
        "trading.change_market",
        SecondaryForm,
        "Move",
    ),
    "draft-offering": Work(
        "Draft an offering", "accounts.file_offering", OfferingDraftForm, "Draft"
    ),
    "cancel-orders": Work(
        "Cancel open orders", "trading.change_market", CancelForm, "Cancel the orders"
    ),
    "stop-orders": Work(
        "Stop orders", "trading.change_market", StopForm, "Stop the orders"
    ),
    "withdraw-draft": Work(
        "Withdraw the draft of an offering",
        "accounts.file_offering",
        WithdrawDraftForm,
        "Withdraw",
    ),
    "unlock-sign-in": Work(
        "Unlock a sign-in", "partnerapi.change_failedsignin", UnlockForm, "Unlock"
    ),
    "run-check": Work("Run a check", "partnerapi.add_jobrun", CheckForm, "Run"),
}


def show_work(request: HttpRequest, name: str) -> HttpResponse:
    """The form; the address may fill it in."""
    if name not in WORK:
        raise Http404("There is no such work.")
    work = WORK[name]
    if not request.user.has_perm(work.right):
        raise PermissionDenied
    assert isinstance(request.user, User)
    form = work.form(request.POST or None, initial=request.GET.dict())
    if form.is_valid() and (done := carry_out(form, request.user)):
        messages.success(request, f"{done.what}.")
        return HttpResponseRedirect(done.place)
    context = admin.site.each_context(request) | {
        "title": work.title,
        "form": form,
        "work": work,
    }
    return TemplateResponse(request, "admin/work.html", context)


def carry_out(form: WorkForm, user: User) -> Done | None:
    """What was done, and the log has; None: the form says why nothing was."""
    try:
        with lock_waits.name_locked_row():
            done = form.do(user)
    except (NotDone, lock_waits.LockTimeout) as error:
        form.add_error(None, str(error))
        return None
    said = f"{done.what}: {form.cleaned_data['reason']}"
    LogEntry.objects.log_actions(user.pk, [done.row], CHANGE, said)
    return done
