"""Every column that staff could edit stands on its admin page, or here with a why."""

import re
from inspect import getmodule, getsource
from pathlib import Path
from uuid import UUID

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.urls import resolve, reverse

from accounts.people.models import User
from marketdata.trading.models import PARAMETERS
from partnerapi.core.backoffice import OwnPage

ROOMS = ("partnerapi", "accounts", "issuers", "marketdata", "trading")
MODELS = [model for room in ROOMS for model in apps.get_app_config(room).get_models()]
WITH_PAGE = [model for model in MODELS if model in admin.site._registry]

OF_ORDER = "the page of the order's account leads to it"
TIMELINE = "the account's timeline shows it, which reads it with SQL"
EVENTS_OF_MARKET = "the events of the order and the market have it"
OF_PARAMETERS = "the page lists the parameters, each with its value"
COLUMNS_LEFT_OUT = {
    "accounts.AccountStatusChange.approved_by": TIMELINE,
    "accounts.AccountStatusChange.number": TIMELINE,
    "accounts.AccountStatusChange.previous_status": TIMELINE,
    "accounts.InvestorProfile.updated_at": "the last change of the profile has it",
    **dict.fromkeys(
        (
            "issuers.Offering.source",
            *("issuers.Offering.price_floor", "issuers.Offering.price_cap"),
            "issuers.Offering.minimum_units",
            *("issuers.Offering.smallest_ticket", "issuers.Offering.largest_ticket"),
            *("issuers.Offering.opens_at", "issuers.Offering.closes_at"),
            "issuers.Offering.reflection_seconds",
            *("issuers.Offering.fee_bps", "issuers.Offering.vat_bps"),
        ),
        "the page shows it among the terms",
    ),
    "issuers.Offering.fee_net": "the payment of the fee has it",
    "issuers.Offering.fee_vat": "the payment of the fee has it",
    "issuers.Offering.settling_until": "it is of the seconds of a settlement",
    "marketdata.ConformanceReport.rules": "the page shows a verdict for each",
    "trading.Market.fees_account": "it is one of the cash accounts",
    "trading.Market.last_at": EVENTS_OF_MARKET,
    "trading.Market.last_price": "it is the price of the last trade",
    "trading.Market.session_ends_at": "the parameters name the session",
    "trading.Market.shows_book": "it is of the phase",
    "trading.Market.last_event": EVENTS_OF_MARKET,
    **{
        f"trading.Market.{name}": OF_PARAMETERS
        for name in {*PARAMETERS} - {"collar_bps", "fixings", "model"}
    },
    **dict.fromkeys(
        (
            *(
                "trading.MarketParameters.most_value",
                "trading.RefusedOrder.limit_price",
            ),
            "trading.MarketParameters.tick_cents",
            *("trading.Tariff.maximum", "trading.Tariff.minimum"),
        ),
        "the page shows it in euros",
    ),
    **dict.fromkeys(
        (
            "trading.MarketParameters.tick_floors",
            "trading.MarketParameters.tick_steps",
        ),
        "the page shows the table of ticks in euros",
    ),
    **dict.fromkeys(
        (
            "trading.MarketParameters.collar_bps",
            "trading.MarketParameters.dynamic_band_bps",
            *("trading.Tariff.maker_bps", "trading.Tariff.taker_bps"),
            "trading.Tariff.vat_bps",
        ),
        "the page shows it in percent",
    ),
    "trading.Order.last_event": EVENTS_OF_MARKET,
    "trading.Order.updated_at": EVENTS_OF_MARKET,
    "trading.Order.ledger_account": OF_ORDER,
    "trading.Order.cash_account": OF_ORDER,
    "trading.Order.partner": OF_ORDER,
    "trading.Order.priority": "the order's events have it",
}
"""Why a column stands on no page, by `app.Model.column`."""

REGISTER = "a token's page shows its supply, price, last entries and last prices"
CASH = "a cash account's page shows its balance and last entries"
BOOKS = "only the order books' writer writes it; book show shows a book"
IMPORTS = "an import writes it, for its repetitions and corrections"
DELIVERIES = "a delivery writes it; the page Deliveries shows it"
FILES = "a worker writes it; the export's page says how many there are"
EVENTS = "triggers write it; partners read their events, and staff what they tell of"
TOTALS = "triggers write it; partners' long lists are counted by it"
STATEMENTS = "GET /statements publishes it"
PROOFS = "the writer of statements keeps it; holdingProof opens it for its holder"
MODELS_LEFT_OUT = {
    "accounts.Applicant": "the account's page shows it",
    "accounts.ApprovalDecision": "the page of its request shows it",
    "accounts.ApprovalOutcome": "the page of its request shows it",
    "accounts.Assertion": "verify approvals reads it",
    "accounts.CashHead": CASH,
    "accounts.CashPosting": CASH,
    "accounts.CashTransaction": CASH,
    "accounts.KeyScope": "migrate writes it, from the scopes of the code",
    "accounts.InvestorChange": "the holder's page of compliance shows it",
    "issuers.EntryKindRow": "migrate writes it, from the kinds of the code",
    "issuers.IssuerCash": "a cash account's page shows its balance and last entries",
    "issuers.LedgerAccount": REGISTER,
    "issuers.LedgerTransaction": REGISTER,
    "issuers.LedgerPosting": REGISTER,
    "issuers.TokenLedgerHead": REGISTER,
    "issuers.Statement": STATEMENTS,
    "issuers.StatementKey": STATEMENTS,
    "issuers.StatedToken": STATEMENTS,
    "issuers.Subscription": "the page of its offering shows it",
    "issuers.StatedRows": STATEMENTS,
    "issuers.RecordInstant": "a token's page shows those to come",
    "issuers.Witness": STATEMENTS,
    "issuers.WitnessKey": STATEMENTS,
    "issuers.HolderSalt": PROOFS,
    "issuers.Erasure": "erase_person writes it, and the next statement has it",
    "issuers.RedactedLine": "erase_person writes it, and the next statement has it",
    "issuers.HolderCommitment": PROOFS,
    "issuers.HoldingTree": PROOFS,
    "issuers.HoldingPage": PROOFS,
    "issuers.TokenPrice": REGISTER,
    "issuers.HolderBalance": REGISTER,
    "issuers.HoldingPeriod": REGISTER,
    "issuers.IssuerTerm": "triggers write it; the list of issuers has a search",
    "issuers.JudgedLedger": "verify register writes it, and shows what it keeps",
    "issuers.Event": EVENTS,
    "issuers.EventHead": EVENTS,
    "issuers.UnnumberedEvent": EVENTS,
    "issuers.ArticleToCome": EVENTS,
    "partnerapi.ExportMember": FILES,
    "partnerapi.ImportJob": "Import lists one's own, and a page shows each",
    "accounts.RecoveryCode": "each person's own page counts them",
    "accounts.HolderImport": IMPORTS,
    "accounts.RowChange": "the log shows it beside what else was done",
    "accounts.SoleAmount": "triggers write it, for the limits of a day",
    "accounts.StaffNotice": "a worker sends it; run notices shows what failed",
    "accounts.DeskMember": "the page of a partner lists them",
    "accounts.DeskKey": "the page that ends a membership lists them",
    "accounts.DeskNotice": "a worker sends it; run notices shows what failed",
    "partnerapi.RequestCount": "a partner's desk shows it",
    "accounts.Payee": "its withdrawal's page shows it",
    "accounts.PaymentFile": "the page Payments lists them",
    "accounts.PaymentOrder": "the page of its withdrawal names its file",
    "accounts.Passkey": "the page Passkeys shows it",
    "accounts.PasskeyVoucher": "verify approvals reads it",
    "accounts.Pepper": "a start writes it; key peppers shows its keys",
    "accounts.Total": TOTALS,
    "accounts.TotalChange": TOTALS,
    "issuers.EventCount": TOTALS,
    "accounts.UserHolderName": "a trigger writes it when a holder gets another name",
    "issuers.LegacyImport": IMPORTS,
    "issuers.LegacyShareholderChange": IMPORTS,
    "issuers.DeliveryJob": DELIVERIES,
    "issuers.DeliveryStep": DELIVERIES,
    "marketdata.OrderBookHead": BOOKS,
    "marketdata.BookLevel": BOOKS,
    "marketdata.BookChange": BOOKS,
    "marketdata.BookSnapshot": BOOKS,
    "marketdata.Trade": BOOKS,
    "marketdata.TradingDay": BOOKS,
    "trading.Auction": "a market's page lists the last ones",
    "trading.AuctionFill": "the trades of the auction show them, once it has settled",
    "trading.Execution": "a market's page lists them, and leads to a page of each",
    "trading.Bust": "the page of the execution shows it",
    "trading.ExecutionFee": "the page of the execution shows it",
    "trading.OrderFee": "the page of the order shows it",
    "trading.OrderEvent": "the order's page shows its own, the market's its phases",
    "trading.Fill": "a view of executions, for partners",
    "trading.RegisterTold": EVENTS,
    "trading.CancelTimer": "partners renew it every few seconds",
    "trading.ClockLease": "the market clock writes it; doctor shows which one works",
    "partnerapi.WebhookLease": "run_webhooks writes it; doctor says whether one runs",
    "marketdata.FixLease": "acceptors write it; fix_session list shows who is there",
}
"""Why a model has no page."""


def columns(model) -> set[str]:
    meta = model._meta
    found = [*meta.concrete_fields, *meta.many_to_many]
    return {field.name for field in found if field.editable and not field.auto_created}


@pytest.fixture
def by_superuser(rf):
    request = rf.get("/admin/")
    request.user = User(is_active=True, is_staff=True, is_superuser=True)
    return request


def shown_on_page(page):
    """The words of the template and of the view that make a page of the house."""
    view = resolve(reverse(f"admin:{page.own_page}", args=[UUID(int=0)])).func
    template = Path("templates/admin") / f"{page.own_page}.html"
    module = getsource(getmodule(view.__wrapped__))
    words = re.findall(r"\w+", template.read_text() + module)
    return {word.removeprefix("get_").removesuffix("_display") for word in words}


@pytest.mark.parametrize("model", WITH_PAGE)
def test_every_editable_column_stands_on_its_page(by_superuser, model):
    page = admin.site._registry[model]
    is_read_only = not page.has_change_permission(by_superuser, model())
    if isinstance(page, OwnPage) and is_read_only:
        shown = shown_on_page(page)
    else:
        shown = flatten_fieldsets(page.get_fieldsets(by_superuser, model()))
        if isinstance(page, OwnPage):
            shown += shown_on_page(page)
    missing = {f"{model._meta.label}.{c}" for c in columns(model) - set(shown)}
    expected = {c for c in COLUMNS_LEFT_OUT if c.startswith(f"{model._meta.label}.")}
    assert missing == expected, "show them in the page's fieldsets, or say why not"


def test_every_model_has_a_page_or_a_reason():
    missing = {model._meta.label for model in MODELS} - {
        model._meta.label for model in WITH_PAGE
    }
    assert missing == set(MODELS_LEFT_OUT)
