"""What each role may do: the table of the page, these lines, and what pages answer."""

import re
from datetime import date
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from accounts.cash.withdrawals import request_withdrawal
from accounts.payments.models import PaymentFile
from accounts.payments.paying import name_bank, order_payments
from accounts.people.models import User
from issuers.legacy.delivery import begin_job
from issuers.models import Token
from marketdata.trading.models import Market, Order
from partnerapi.sandbox.data.approvals import ASKER, approved_key, colleague
from partnerapi.staff import roles
from partnerapi.staff.approvals.filing import FORMS
from partnerapi.staff.work import WORK
from tests.accounts.money import approve, new_account, new_partner
from tests.accounts.money import deposit as deposit_cash
from tests.approved import desk
from tests.characters import World
from tests.desks import invited_member
from tests.issuers.offerings.offerings import opened
from tests.marketdata.documents.invented import invented_document
from tests.marketdata.trading.test_calls import call
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    placed,
    sell,
)
from tests.owner import appoint, superuser

ROLES = {
    "Support": "s",
    "Operations": "o",
    "Compliance": "c",
    "Treasury": "t",
    "Key manager": "k",
}
EVERYBODY = "sockt"
CASH = "sct"
EXPECTED = {
    # Model: who views, adds, changes, deletes.
    "accounts.Account": (EVERYBODY, "", "sc", ""),
    "accounts.AccountStatusChange": (EVERYBODY, "", "", ""),
    "accounts.ApiKey": (EVERYBODY, "", "k", ""),
    "accounts.ApprovalPolicy": (EVERYBODY, "", "", ""),
    "accounts.ApprovalRequest": (EVERYBODY, "", "", ""),
    "accounts.BankLine": (CASH, "", "", ""),
    "accounts.BankStatement": (CASH, "", "", ""),
    "accounts.CashAccount": (CASH, "", "", ""),
    "accounts.Withdrawal": (CASH, "", "t", ""),
    "accounts.HouseAccount": (CASH, "", "", ""),
    "accounts.InvestorAttestation": (EVERYBODY, "", "", ""),
    "accounts.InvestorProfile": (EVERYBODY, "", "", ""),
    "issuers.ApprovedHolder": (EVERYBODY, "", "", ""),
    "issuers.Restriction": (EVERYBODY, "", "", ""),
    "issuers.TokenRule": (EVERYBODY, "", "", ""),
    "accounts.Country": (EVERYBODY, "", "", ""),
    "accounts.Partner": (EVERYBODY, "k", "k", ""),
    "accounts.StaffChange": (EVERYBODY, "", "", ""),
    "accounts.User": (EVERYBODY, "o", "o", ""),
    "accounts.UserHolder": (EVERYBODY, "o", "o", ""),
    "auth.Group": ("", "", "", ""),
    "issuers.Article": (EVERYBODY, "o", "o", "o"),
    "issuers.Document": (EVERYBODY, "o", "", ""),
    "issuers.IndustryClassificationBenchmark": (EVERYBODY, "", "", ""),
    "issuers.Issuer": (EVERYBODY, "o", "o", ""),
    "issuers.IssuerFinancialData": (EVERYBODY, "o", "o", "o"),
    "issuers.IssuerGrant": (EVERYBODY, "", "", ""),
    "issuers.LegacyShareholder": (EVERYBODY, "o", "o", ""),
    "issuers.Offering": (EVERYBODY, "", "", ""),
    "issuers.Token": (EVERYBODY, "o", "o", ""),
    "marketdata.ConformanceReport": (EVERYBODY, "", "", ""),
    "marketdata.FixSession": (EVERYBODY, "", "k", ""),
    "trading.Market": (EVERYBODY, "", "o", ""),
    "trading.MarketParameters": (EVERYBODY, "", "", ""),
    "trading.Order": (EVERYBODY, "", "", ""),
    "trading.OrderBlock": (EVERYBODY, "", "", ""),
    "trading.RefusedOrder": (EVERYBODY, "", "", ""),
    "trading.Tariff": (EVERYBODY, "", "", ""),
    "trading.IssuedDocument": (CASH, "", "", ""),
    "partnerapi.Export": (EVERYBODY, "", "", ""),
    "partnerapi.FailedSignIn": ("ck", "", "", ""),
    "partnerapi.IdempotencyRecord": (EVERYBODY, "", "", ""),
    "partnerapi.JobRun": (EVERYBODY, "", "", ""),
    "partnerapi.WebhookDelivery": (EVERYBODY, "", "", ""),
    "partnerapi.WebhookEndpoint": (EVERYBODY, "", "", ""),
}
FILED = {
    "MINT": "o", "BURN": "o", "FORCED_TRANSFER": "oc", "REVERSAL": "oc", "PRICE": "o",
    "DELIVERY": "o", "KEY": "k", "CLOSING": "sc", "WITHDRAWAL": "t", "ASSIGNMENT": "t",
    "STATEMENT": "t", "TRANSFER": "o", "REGISTER": "o",
    "RULE": "c", "LIFTING": "c", "BUST": "o", "REOPEN": "o", "RELEASE": "o",
    "TARIFF": "o", "PARAMETERS": "o", "OFFERING": "o", "SETTLEMENT": "o", "PAYOUT": "t",
    "IDENTITY": "o", "GRANT": "k", "DESK": "k", "SIGN_IN": "k", "ERASURE": "sc",
}  # fmt: skip
DECIDED = {
    "MINT": "c", "BURN": "c", "FORCED_TRANSFER": "c", "REVERSAL": "c", "PRICE": "oc",
    "DELIVERY": "oc", "KEY": "k", "CLOSING": "c", "WITHDRAWAL": "ct",
    "ASSIGNMENT": "ct", "STATEMENT": "ct", "TRANSFER": "c", "RULE": "c", "LIFTING": "c",
    "BUST": "c", "REGISTER": "c",
    "REOPEN": "oc", "RELEASE": "oc", "TARIFF": "c", "PARAMETERS": "c",
    "OFFERING": "c", "SETTLEMENT": "c", "PAYOUT": "ct",
    "IDENTITY": "c", "GRANT": "ck", "DESK": "ck", "SIGN_IN": "ck", "ERASURE": "c",
}  # fmt: skip
IMPORTED = {"legacy": "o", "holders": "o", "figures": "o", "issuers": "o", "bank": "t"}
OWN_PAGES = {
    "issuer": EVERYBODY, "captable": EVERYBODY, "captable_csv": EVERYBODY,
    "token": EVERYBODY, "key": EVERYBODY,
    "ledger": EVERYBODY, "book": EVERYBODY, "book_poll": EVERYBODY,
    "account": EVERYBODY, "holder": EVERYBODY, "holder_compliance": EVERYBODY,
    "partner": EVERYBODY,
    "partner_requests": EVERYBODY, "partner_key": "k", "revoke": "k", "grant": "k",
    "desk_member": "k",
    "market": EVERYBODY, "order": EVERYBODY, "execution": EVERYBODY,
    "auction": EVERYBODY, "auction_poll": EVERYBODY,
    "offering": EVERYBODY,
    "books": EVERYBODY, "books_poll": EVERYBODY,
    "log": "ck", "roles": EVERYBODY, "find": EVERYBODY,
    "data": EVERYBODY, "waiting": EVERYBODY, "cash": "sct",
    "holder_statement": EVERYBODY, "passkeys": EVERYBODY,
    "recovery_codes": EVERYBODY, "help": EVERYBODY,
    "help_role": EVERYBODY,
    "help_job": EVERYBODY,
    "payments": CASH, "payment_file": "t", "receipts": CASH,
    "document": CASH, "document_file": CASH,
    "delivery": EVERYBODY, "delivery_confirm": "o", "deliveries": EVERYBODY,
    "delivery_job": EVERYBODY, "delivery_progress": EVERYBODY,
    "delivery_csv": EVERYBODY,
}  # fmt: skip
ASKED_ELSEWHERE = {
    "approve_together",
    "import",
    "import_preview",
    "import_job",
    "import_progress",
    "ask",
    "pick",
    "work",
}
WORKED = {
    "open-account": "sc", "assign-compids": "k", "open-market": "o",
    "open-secondary": "o",
    "draft-offering": "o", "cancel-orders": "o", "stop-orders": "o",
    "unlock-sign-in": "k", "run-check": "oc", "withdraw-draft": "o",
}  # fmt: skip
"""Pages whose parts each ask for a right of their own."""


def may(letters: str) -> list[bool]:
    """For each role, and for a superuser."""
    return [letter in letters for letter in ROLES.values()] + [True]


@pytest.fixture
def clients(db: None) -> dict[str, Client]:
    """A member of staff of each role who has signed in."""
    assert [*roles.ROLES] == [*ROLES]
    found = {}
    for role in ROLES:
        user = User.objects.create_user(
            f"{role.split()[0].lower()}@staff.example",
            type=User.Type.INDIVIDUAL,
            first_name=role,
            last_name="Staff",
            is_staff=True,
        )
        user.groups.add(Group.objects.get(name=role))
        appoint(user)
        found[role] = user
    found[roles.SUPERUSER] = superuser(
        "root@staff.example", type="INDIVIDUAL", first_name="R", last_name="S"
    )
    signed_in = {}
    for role, user in found.items():
        signed_in[role] = Client()
        signed_in[role].force_login(user)
    return signed_in


def test_every_list_lets_each_role_do_what_is_expected(clients: dict[str, Client]):
    registered = {model._meta.label: model for model in admin.site._registry}
    assert set(registered) == set(EXPECTED)
    told = dict(roles.table())
    seen: dict[str, list[dict[str, bool]]] = {label: [] for label in EXPECTED}
    for client in clients.values():
        listed = {
            model["model"]._meta.label: model["perms"]
            for app in client.get("/admin/").context["available_apps"]
            for model in app["models"]
        }
        for label in EXPECTED:
            seen[label].append(listed.get(label, {}))
    for label, expected in EXPECTED.items():
        rows = {row.what: row.may for row in told[plural(registered[label])]}
        for name, letters in zip(
            ("view", "add", "change", "delete"), expected, strict=True
        ):
            answered = [perms.get(name, False) for perms in seen[label]]
            assert rows[name] == answered, (label, name)
            assert answered[:-1] == may(letters)[:-1], (label, name)


def plural(model: Any) -> str:
    return str(model._meta.verbose_name_plural)


def test_plurals_of_lists_have_one_ending():
    assert [m for m in admin.site._registry if plural(m).endswith("ss")] == []


def rows_of_pages(world: World) -> dict[str, Any]:
    """A row for each page of a row of its own, by the name of its address."""
    places: dict[str, Any] = {"issuer": world.listed.pk} | dict.fromkeys(
        ("token", "ledger", "book", "book_poll"), world.public_token.pk
    )
    key, _ = approved_key(world.partner, [Scope.ISSUERS_READ])
    places["key"] = key.pk
    actor = desk()
    account = Account.objects.open(world.partner, world.owner, actor, timezone.now())
    places |= {
        "account": account.pk,
        "holder": world.owner.pk,
        "holder_compliance": world.owner.pk,
        "holder_statement": world.owner.pk,
    } | dict.fromkeys(("partner", "partner_requests", "partner_key"), world.partner.pk)
    places["grant"] = world.partner.grants.get().pk
    places["desk_member"] = invited_member(world.partner, "m@broker.example").pk
    places |= dict.fromkeys(("captable", "captable_csv"), world.listed.pk)
    job = begin_job("MINT", [world.shareholders[0].pk], "ana@example.com")
    places |= dict.fromkeys(
        ("delivery_job", "delivery_progress", "delivery_csv"), job.pk
    )
    token, order = traded_market()
    call(token)
    places |= {"market": token.pk, "order": order.pk, "execution": token.pk}
    places |= {"auction": token.pk, "auction_poll": token.pk}
    places["offering"] = opened().pk
    day = date(2026, 1, 1)
    document = invented_document(1, "INVOICE", day, world.partner.pk).pk
    places |= {"document": document, "document_file": document}
    return places


def test_every_page_answers_each_role_as_expected(
    world: World, clients: dict[str, Client]
):
    named = {url.name for url in admin.site.get_urls() if getattr(url, "name", None)}
    lists = {
        f"{model._meta.app_label}_{model._meta.model_name}"
        for model in admin.site._registry
    }
    own = {name for name in named if name.rpartition("_")[0] not in lists}
    assert own - DJANGOS - ASKED_ELSEWHERE == set(OWN_PAGES) == set(roles.PAGES)
    places = rows_of_pages(world)
    told = {
        row.what: row.may
        for part, rows in roles.table()
        if part == "pages"
        for row in rows
    }
    for name, letters in OWN_PAGES.items():
        arguments: list[Any] = [places[name]] if name in places else []
        if name == "execution":
            arguments.append(1)
        if name in ("auction", "auction_poll"):
            market = Market.objects.get(token=places["auction"])
            arguments.append(market.last_phase_event)
        if name == "document_file":
            arguments.append("document.pdf")
        if name in ("help_role", "help_job"):
            arguments = [{"help_role": "treasury", "help_job": "pay"}[name]]
        if name == "payment_file":
            arguments = [payment_file().pk]
        page = reverse(f"admin:{name}", args=arguments)
        answered = [answers(client, page) for client in clients.values()]
        assert answered == told[name] == may(letters), name
    assert set(WORKED) == set(WORK)
    for name, letters in WORKED.items():
        page = reverse("admin:work", args=[name])
        answered = [answers(client, page) for client in clients.values()]
        assert answered == may(letters), name
    for kind in FORMS:
        page = reverse("admin:ask", args=[kind.lower()])
        answered = [answers(client, page) for client in clients.values()]
        assert answered == may(FILED[kind]), kind


LINK = re.compile(r'<a [^>]*?href="(/admin/[^"#]*|[?][^"#]*)')
OUT = "logout", "view_on_site"


def test_no_page_leads_its_reader_to_a_dead_end(
    world: World, clients: dict[str, Client]
):
    """Of the pages of one kind, the first that is linked to is requested."""
    places = rows_of_pages(world)
    starts = [
        reverse(f"admin:{name}", args=[places[name]])
        for name in places
        if name not in ("auction", "auction_poll", "execution", "document_file")
    ]
    found = []
    for role, client in clients.items():
        seen: set[str] = set()
        waiting = [("", page) for page in ["/admin/", "/admin/data/", *starts]]
        while waiting:
            source, page = waiting.pop()
            path = urlsplit(page).path
            name = resolve(path).url_name or ""
            kind = path if name in ("ask", "work", "help_job") else name
            if kind in seen or name in OUT:
                continue
            seen.add(kind)
            answer = client.get(page, follow=True)
            # A file that is sent as it is made is read to its end.
            content = answer.getvalue()
            if answer.status_code >= 400:
                found += [(role, answer.status_code, source, page)] * bool(source)
                continue
            if "html" in answer.headers["Content-Type"]:
                links = LINK.findall(content.decode())
                waiting += [(page, urljoin(page, unescape(link))) for link in links]
        assert len(seen) > 100
    assert found == []


def payment_file() -> PaymentFile:
    account = new_account(new_partner())
    deposit_cash(account, 100)
    payee = "Carla Silva", "DE89370400440532013000"
    withdrawal = request_withdrawal(account, 1, "W", account.partner.login, payee)
    approve(withdrawal)
    staff = colleague(ASKER).email or ""
    name_bank("Partner Platform", "FR7630006000011234567890189", staff)
    return order_payments([withdrawal.pk], staff, timezone.now())


def traded_market() -> tuple[Token, Order]:
    """A market and the buyer's order, after one trade."""
    token, (buyer, seller) = new_market(), new_clients(2)
    deposit(buyer, 500)
    give(token, {seller: 5})
    place(token, sell(seller, 5, 100))
    return token, placed(token, buy(buyer, 5, 100))


def answers(client: Client, page: str) -> bool:
    answer = client.get(page)
    # A file that is sent as it is made is read to its end.
    answer.getvalue()
    assert answer.status_code < 400 or answer.status_code == 403, page
    return answer.status_code != 403


DJANGOS = {
    "index", "login", "logout", "password_change", "password_change_done",
    "autocomplete", "jsi18n", "view_on_site", "app_list", "second_factor",
    "auth_user_password_change",
}  # fmt: skip


def test_the_page_tells_who_asks_and_who_decides(clients: dict[str, Client]):
    parts = dict(clients["Support"].get("/admin/roles/").context["parts"])
    for part, expected in (("request", FILED), ("decide", DECIDED)):
        rows = {row.what: row.may for row in parts[f"requests: {part}"]}
        assert rows == {
            ApprovalKind(kind).label: may(letters) for kind, letters in expected.items()
        }
    imports = [row.may for row in parts["imports"]]
    assert imports == [may(letters) for letters in IMPORTED.values()]


def test_a_migration_gives_back_what_was_changed(db: None):
    group = Group.objects.get(name="Support")
    before = set(group.permissions.values_list("codename", flat=True))
    group.permissions.set(Group.objects.get(name="Key manager").permissions.all())
    roles.write_roles("default")
    assert set(group.permissions.values_list("codename", flat=True)) == before
