import io
import re
from datetime import date, timedelta
from uuid import UUID

import pytest
from django.contrib import admin
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from PIL import Image

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from accounts.investors import writer as investors
from accounts.keys.models import ApiKey, Partner
from accounts.payments.models import HouseAccount
from accounts.people.models import User, UserHolder
from issuers.compliance.holders import approve_holder
from issuers.compliance.restrictions import Terms, restrict
from issuers.legacy.models import LegacyShareholder
from issuers.models import Article, Document, Issuer, IssuerGrant, Token
from issuers.offerings.models import Offering
from marketdata.replay.own_book import PARTNER
from marketdata.trading import controls, fees, market
from marketdata.trading.errors import LotSize
from marketdata.trading.market import Placed, Request
from marketdata.trading.models import IssuedDocument, Market, Order
from marketdata.trading.queues import BUY
from marketdata.trading.refused import refused_orders
from partnerapi.core.backoffice import OwnPage
from partnerapi.core.form_fields import EurosField
from partnerapi.exports.models import Export
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.operations.jobs import run_job
from partnerapi.sandbox.data.clients import IBAN_OF_CLIENTS_MONEY
from partnerapi.staff import roles
from partnerapi.staff.approvals.filing import FORMS
from partnerapi.staff.authentication.models import FailedSignIn
from partnerapi.staff.lookup import link
from partnerapi.staff.work import WORK
from partnerapi.webhooks.models import WebhookDelivery, WebhookEndpoint
from tests.approved import approved_rule, asker
from tests.marketdata.documents.invented import invented_document
from tests.marketdata.trading.trading import approved_tariff
from tests.owner import as_committed, superuser
from tests.pictures import picture_bytes

PASSWORD = "correct horse battery"
MODELS = [
    model
    for model in admin.site._registry
    if model._meta.app_label in ("accounts", "issuers", "partnerapi", "trading")
]
ALL_OF = {"InvestorAttestation": {"all": "yes"}, "ApprovalRequest": {"status": "ALL"}}
"""What lists are asked that show a part of their rows."""
READ_ONLY = (
    "Account", "AccountStatusChange", "ApprovalPolicy", "ApprovalRequest", "BankLine",
    "BankStatement", "CashAccount", "Country",
    "Export", "FailedSignIn", "HouseAccount", "IdempotencyRecord", "StaffChange",
    "IndustryClassificationBenchmark", "JobRun", "Withdrawal",
    "ApprovedHolder", "InvestorAttestation", "InvestorProfile", "IssuerGrant",
    "Restriction", "IssuedDocument",
    "TokenRule", "Market", "MarketParameters", "Order", "OrderBlock", "RefusedOrder",
    "Tariff", "Offering",
    "WebhookDelivery", "WebhookEndpoint",
)  # fmt: skip
EDITABLE = [model for model in MODELS if model.__name__ not in READ_ONLY]
ANSWER = b'{"data": {"said": "to the partner"}}'
SEALED = b"sealed for the endpoint"
# Part of a row of the sandbox, by model.
SEARCHES = {
    "Country": ("Slov", 2),
    "User": ("holder-0000020@VERGE", 1),
    "UserHolder": ("holder-0000020@verge", 1),
    "Partner": ("obs", 1),
    "ApiKey": ("demo", 1),
    "IndustryClassificationBenchmark": ("10101015", 1),
    "Document": ("vergelune-logo", 1),
    "Issuer": ("lumarelle", 1),
    "IssuerGrant": ("demo", 1),
    "IssuerFinancialData": ("vergelune", 8),
    "LegacyShareholder": ("vergelune", 40),
    "Token": ("VERGELUNE", 2),
    "Article": ("vergelune joins", 1),
    "ApprovalPolicy": ("MINT", 1),
    "ApprovalRequest": ("API", 2),
    "Account": ("holder-0000020@LUMARELLE", 1),
    "AccountStatusChange": ("holder-0000020@lumarelle", 6),
    "BankLine": ("SANDBOX demo", 1),
    "BankStatement": ("sandbox", 5),
    "CashAccount": ("018631cf-ecdb-7596-bdf4-50ccb574cd30", 1),
    "Withdrawal": ("payout-2027-01", 2),
    "Export": ("00000007-0000-0000-0000-000000000000", 1),
    "IdempotencyRecord": ("00000007-", 1),
    "StaffChange": ("operations@sandbox.example", 10 + 2 * len(ApprovalKind)),
    "FailedSignIn": ("stranger@example.com", 1),
    "JobRun": ("statement", 2),
    "TokenRule": ("VERGEL", 1),
    "Restriction": ("holder-0000020@verge", 1),
    "ApprovedHolder": ("holder-0000020@verge", 1),
    "InvestorProfile": ("holder-0000020@verge", 1),
    "InvestorAttestation": ("holder-0000020@lumarelle", 1),
    "Market": ("valdas", 1),
    "MarketParameters": ("valdas", 1),
    "Order": ("order-7", 1),
    "OrderBlock": ("obs", 1),
    "RefusedOrder": ("obs", 1),
    "Tariff": ("valdas", 2),
    "IssuedDocument": ("holder-0000020@lumarelle", 1),
    "Offering": ("nordha", 1),
    "HouseAccount": (IBAN_OF_CLIENTS_MONEY[:6], 1),
    "WebhookDelivery": ("hooks.example.com/7", 1),
    "WebhookEndpoint": ("hooks.example.com/7", 1),
}


@pytest.fixture(scope="module")
def sandbox(django_db_setup, django_db_blocker):
    with django_db_blocker.unblock(), transaction.atomic():
        call_command("sandbox", "seed", "--json", stdout=io.StringIO())
        demo = Partner.objects.get(login="demo")
        IdempotencyRecord.objects.bulk_create(answered(demo, n) for n in range(50))
        Export.objects.bulk_create(
            Export(id=UUID(int=n << 96), partner=demo, connection="ACCOUNTS")
            for n in range(50)
        )
        for number in range(50):
            run_job("register_statement" if number == 7 else "verify_books", said)
            login = "stranger@example.com" if number == 7 else "sam@example.com"
            FailedSignIn.objects.create(login=login, is_locked=False)
        with_rules()
        with_orders()
        with_documents()
        with_webhooks()
        # Else each test would run the triggers of all these rows.
        as_committed()
        yield
        transaction.set_rollback(True)


def with_rules():
    """A row for each page of compliance."""
    token = Token.objects.get(symbol="VERGELUNE")
    holder = User.objects.get(email="holder-0000020@vergelune.example")
    client = "holder-0000020@lumarelle"
    account = Account.objects.get(user__email__startswith=client)
    approved_rule(token, "VERIFIED_HOLDERS", {})
    restrict(holder, Terms("FREEZE", "a court"), asker())
    approve_holder(token, holder, None, asker())
    facts = investors.Facts("VERIFIED", None, None, "RETAIL")
    investors.attest(account, facts)
    investors.decide(holder, facts, asker())


def with_orders():
    token = Token.objects.get(symbol="VALDASTRI")
    client = Account.objects.filter(partner__login=PARTNER).first()
    price = token.market.reference_price // token.market.tick_cents
    placed = market.place_each(
        token.pk,
        [
            Request(
                client.pk, BUY, 1, price * token.market.tick_cents, PARTNER,
                client_order_id=f"order-{number}",
            )
            for number in range(10)
        ],
    )  # fmt: skip
    assert all(isinstance(one, Placed) for one in placed), placed
    for partner in Partner.objects.all():
        controls.block(partner.pk, None, None, partner.login)
        for number in range(1 if partner.login.startswith("obs") else 10):
            request = Request(client.pk, BUY, number + 1, price, PARTNER)
            refused_orders.note(
                partner.pk, timezone.now(), token.pk, request, LotSize("An odd lot.")
            )
    refused_orders.write()
    for of in Market.objects.select_related("token"):
        approved_tariff(of.token, fees.Terms(10, 25, 100, 500, 1_900))


def with_documents():
    client = "holder-0000020@lumarelle"
    of = Account.objects.filter(user__email__startswith=client)
    others = Account.objects.exclude(user__email__startswith=client).order_by("pk")
    for number, account in enumerate([*of, *others[:49]], 1):
        day = date(2026, 1, 1) + timedelta(days=number)
        invented_document(number, "CONTRACT_NOTE", day, account.partner_id, account.pk)


def with_webhooks():
    """Endpoints of a key, each with an attempt."""
    key = ApiKey.objects.get(partner__login="demo")
    endpoints = WebhookEndpoint.objects.bulk_create(
        WebhookEndpoint(
            key=key,
            url=f"https://hooks.example.com/{number}",
            sealed_secrets=SEALED,
            position=1,
        )
        for number in range(10)
    )
    WebhookDelivery.objects.bulk_create(
        WebhookDelivery(
            endpoint=endpoint,
            sequence=1,
            attempt=1,
            at=timezone.now(),
            milliseconds=1,
            status=200,
        )
        for endpoint in endpoints
    )


def said():
    return "All rules hold."


def answered(partner, number):
    at = timezone.now()
    return IdempotencyRecord(
        partner=partner,
        key=UUID(int=number << 96),
        fingerprint=bytes(32),
        operation_name="Suspend",
        body=ANSWER,
        created_at=at,
        expires_at=at + timedelta(hours=24),
    )


def signed_in(make=User.objects.create_user):
    user = make(
        "staff@example.com",
        PASSWORD,
        type=User.Type.INDIVIDUAL,
        first_name="Sam",
        last_name="Staff",
        is_staff=True,
    )
    client = Client()
    client.force_login(user)
    client.user = user
    return client


@pytest.fixture
def staff(sandbox, db):
    return signed_in(superuser)


def page(model, name, *arguments):
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{name}", args=arguments)


def listed(response):
    return response.context["cl"].result_count


@pytest.mark.parametrize("model", MODELS)
def test_the_list_answers_filters_and_searches(staff, model):
    assert staff.get(page(model, "changelist")).status_code == 200
    term, count = SEARCHES[model.__name__]
    response = staff.get(page(model, "changelist"), {"q": term})
    assert response.status_code == 200
    assert listed(response) == count
    assert listed(staff.get(page(model, "changelist"), {"q": "zzzz"})) == 0
    for spec in response.context["cl"].filter_specs:
        for choice in spec.choices(response.context["cl"]):
            address = page(model, "changelist") + choice["query_string"]
            assert staff.get(address).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_a_list_takes_as_many_queries_for_more_rows(staff, model):
    def queries(rows):
        model_admin = admin.site._registry[model]
        before, model_admin.list_per_page = model_admin.list_per_page, rows
        with CaptureQueriesContext(connection) as captured:
            assert staff.get(page(model, "changelist")).status_code == 200
        model_admin.list_per_page = before
        return len(captured)

    assert queries(40) == queries(2) <= 10


OF_ROWS = {
    "issuer": Issuer, "captable": Issuer, "token": Token, "ledger": Token,
    "book": Token, "book_poll": Token, "market": Market, "order": Order,
    "offering": Offering,
    "account": Account, "holder": UserHolder, "holder_compliance": UserHolder,
    "partner": Partner, "partner_requests": Partner, "partner_key": Partner,
    "key": ApiKey, "grant": IssuerGrant, "document": IssuedDocument,
}  # fmt: skip
"""Pages of the back office's own, with whose rows they show."""
PLAIN = (
    *("books", "books_poll", "cash", "data", "deliveries", "delivery", "find", "help"),
    *("import", "log", "passkeys", "payments", "receipts", "recovery_codes", "roles"),
    *("approve_together",),
)
MOST_STATEMENTS = 20


def own_pages():
    yield from ((name, reverse(f"admin:{name}")) for name in PLAIN)
    for name in WORK:
        yield name, reverse("admin:work", args=[name])
    for kind in FORMS:
        yield kind, reverse("admin:ask", args=[kind.lower()])
    for name, model in OF_ROWS.items():
        rows = model.objects.filter(ended_at=None) if name == "grant" else model.objects
        keys = rows.order_by("pk").values_list(
            "user_id" if model is UserHolder else "pk", flat=True
        )
        for key in {keys[0], keys[len(keys) // 2], [*keys][-1]}:
            yield name, reverse(f"admin:{name}", args=[key])


def statements_of(staff, address):
    with CaptureQueriesContext(connection) as captured:
        response = staff.get(address, follow=True)
        response.getvalue()
    assert response.status_code in (200, 204), address
    return len(captured)


def test_no_own_page_takes_more_than_twenty_statements(staff):
    """Whichever row it shows: each issuer, client and token has hundreds of rows."""
    taken = {}
    for name, address in own_pages():
        taken[name] = max(taken.get(name, 0), statements_of(staff, address))
    assert {name: n for name, n in taken.items() if n > MOST_STATEMENTS} == {}
    # What takes arguments of another kind has a test of its own.
    elsewhere = {
        "auction", "auction_poll",
        "captable_csv", "delivery_confirm", "delivery_csv", "delivery_job",
        "delivery_progress", "desk_member", "document_file", "execution", "help_job",
        "help_role",
        "holder_statement", "payment_file", "revoke", "waiting",
    }  # fmt: skip
    assert set(roles.PAGES) - set(taken) == elsewhere


@pytest.mark.parametrize("model", MODELS)
def test_a_row_is_shown_without_its_secrets(staff, model):
    row = model.objects.order_by("pk")[0]
    with CaptureQueriesContext(connection) as captured:
        response = staff.get(link(row))
    assert response.status_code == 200
    assert len(captured) <= MOST_STATEMENTS
    if model is ApiKey:
        assert bytes(row.secret_digest).hex() not in response.content.decode()
        assert "secret" not in response.content.decode()
    if model is IdempotencyRecord:
        assert "said" not in response.content.decode()
        assert str(row.key) in response.content.decode()
    if model is WebhookEndpoint:
        assert SEALED.decode() not in response.content.decode()
        assert SEALED.hex() not in response.content.decode()
        assert "sealed_secrets" not in response.content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_each_row_of_a_list_leads_to_its_one_page(staff, model):
    """Its form edits, and leads users who may not edit to that page."""
    answer = staff.get(page(model, "changelist"), ALL_OF.get(model.__name__))
    listed = answer.content.decode().partition('id="result_list"')[2]
    found = r'<th class="[^"]*"[^>]*>(?:<bdi[^>]*>)?<a href="([^"?]+)'
    links = re.findall(found, listed)
    rows = {link(row): row for row in answer.context["cl"].result_list}
    assert links
    assert set(links) == set(rows)
    model_admin = admin.site._registry[model]
    for address, row in [*rows.items()][:3]:
        assert staff.get(address).status_code == 200
        if not isinstance(model_admin, OwnPage):
            continue
        assert "/change/" not in address
        form = staff.get(page(model, "change", row.pk))
        if model_admin.has_change_permission(form.wsgi_request, row):
            assert f'href="{address}"' in form.content.decode()
            assert "Save and continue" not in form.content.decode()
        else:
            assert form.status_code == 302
            assert form["Location"] == address


@pytest.mark.parametrize("model", MODELS)
def test_a_row_can_be_added_where_staff_may(staff, model):
    may_add = model in (*EDITABLE, HouseAccount) and model is not ApiKey
    expected = 200 if may_add else 403
    assert staff.get(page(model, "add")).status_code == expected


@pytest.mark.parametrize("model", [m for m in EDITABLE if m is not Document])
def test_a_row_is_saved_as_it_is_shown(staff, model):
    rows = model.objects.order_by("pk")
    if model is LegacyShareholder:
        # A delivered line is forever.
        rows = rows.filter(status=LegacyShareholder.Status.PENDING)
    row = rows[0]
    before = {f.attname: getattr(row, f.attname) for f in model._meta.concrete_fields}
    form = staff.get(page(model, "change", row.pk)).context["adminform"].form
    data = {}
    for bound in form:
        value = form.initial.get(bound.name, bound.initial)
        if isinstance(bound.field, EurosField):
            value = bound.field.prepare_value(value)
        for part, shown in parts(bound, value):
            data[part] = shown
    response = staff.post(page(model, "change", row.pk), data)
    errors = response.context and response.context["adminform"].form.errors
    assert response.status_code == 302, errors
    row.refresh_from_db()
    assert before == {
        f.attname: getattr(row, f.attname) for f in row._meta.concrete_fields
    }


def parts(bound, value):
    """What a browser would send for a field, split times in two."""
    if value is None or bound.field.disabled:
        return []
    if hasattr(bound.field.widget, "widgets"):
        shown = bound.field.widget.decompress(value)
        return [(f"{bound.html_name}_{n}", one) for n, one in enumerate(shown)]
    if value is False:
        return []
    if hasattr(value, "pk"):
        value = value.pk
    return [(bound.html_name, value)]


def test_the_site_is_named(staff):
    response = staff.get(reverse("admin:index"))
    assert "Partner platform" in response.content.decode()


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("User", "country"),
        ("IssuerGrant", "issuer"),
        ("Issuer", "owner"),
        ("Issuer", "company_logo"),
        ("Issuer", "industry_classification_benchmark"),
        ("LegacyShareholder", "user"),
        ("Article", "cover_image"),
    ],
)
def test_choices_are_offered_as_they_are_typed(staff, name, field):
    [model] = [model for model in MODELS if model.__name__ == name]
    query = {
        "app_label": model._meta.app_label,
        "model_name": model._meta.model_name,
        "field_name": field,
        "term": "e",
    }
    response = staff.get(reverse("admin:autocomplete"), query)
    assert response.status_code == 200
    assert "results" in response.json()


def test_shareholders_are_found_by_issuer_and_holder(staff):
    def found(term):
        response = staff.get(page(LegacyShareholder, "changelist"), {"q": term})
        return set(response.context["cl"].queryset)

    holders = LegacyShareholder.objects.filter(issuer__slug="brindavoine")
    named = set(holders.filter(user__last_name="Silva"))
    assert found("Brindavoine") == set(holders)
    assert len(named) > 1
    assert found("brindavoine silva") == named
    company = holders.filter(user__type="COMPANY")[0]
    name = company.user.company_name
    assert found(f"brindavoine {name.lower()}") == set(
        holders.filter(user__company_name=name)
    )
    assert found("holder-0000020@brindavoine.example") == set(
        holders.filter(user__email="holder-0000020@brindavoine.example")
    )


@pytest.mark.parametrize("model", [User, UserHolder])
def test_holders_are_found_by_name_in_any_case(staff, model):
    def found(term):
        return listed(staff.get(page(model, "changelist"), {"q": term}))

    people = User.objects.filter(first_name="Ana", last_name="Silva")
    assert found("ana SILVA") == people.count() > 0
    companies = User.objects.filter(company_name__startswith="Quiet Oak")
    assert found("quiet oak") == companies.count() > 0


@pytest.mark.parametrize(
    ("field", "index"),
    [
        ("last_name", "user_last_name_folded"),
        ("company_name", "user_company_name_folded"),
        ("email", "accounts_user_email"),
    ],
)
def test_users_are_searched_by_index(staff, field, index):
    lookup = "startswith" if field == "email" else "folded__startswith"
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = User.objects.filter(**{f"{field}__{lookup}": "holder-00000"}).explain()
    assert index in plan


def test_status_and_other_derived_values_can_not_be_posted(staff):
    """Nor whose a legacy line is, of how many shares: an import corrects that."""
    row = LegacyShareholder.objects.filter(status="PENDING")[0]
    user, shares = row.user_id, row.number_of_shares
    data = {
        "user": row.issuer.owner_id,
        "number_of_shares": shares + 7,
        "price_cents": 5,
        "status": "DELIVERED",
    }
    assert (
        staff.post(page(LegacyShareholder, "change", row.pk), data).status_code == 302
    )
    row.refresh_from_db()
    assert (row.status, row.price_cents) == ("PENDING", 500)
    assert (row.user_id, row.number_of_shares) == (user, shares)


def test_articles_are_drafts_then_scheduled_then_published(staff):
    now, minute = timezone.now(), timedelta(minutes=1)
    states = {"draft": None, "scheduled": now + minute, "published": now - minute}
    keys = list(Article.objects.order_by("pk").values_list("pk", flat=True)[:3])
    for key, (state, at) in zip(keys, states.items(), strict=True):
        Article.objects.filter(pk=key).update(title=f"It is {state}", published_at=at)
    for state in states:
        found = staff.get(page(Article, "changelist"), {"q": f'"It is {state}"'})
        assert f'<strong class="state {state}">' in found.content.decode()
        assert listed(found) == 1


def test_a_profile_stays_its_users(staff):
    profile = UserHolder.objects.filter(ledger_account__isnull=False)[0]
    other = User.objects.filter(holder__isnull=True)[0]
    data = {"user": other.pk, "name": "Renamed"}
    assert staff.post(page(UserHolder, "change", profile.pk), data).status_code == 302
    was = profile.user_id
    profile.refresh_from_db()
    assert (profile.user_id, profile.name) == (was, "Renamed")
    assert staff.post(page(UserHolder, "add"), data).status_code == 302
    assert other.holder.name == "Renamed"


def test_a_document_is_uploaded_under_the_type_of_its_bytes(staff):
    content = bytes(Document.objects.filter(name="vergelune-logo.png")[0].content)
    file = SimpleUploadedFile("New.pdf", content, content_type="application/pdf")
    assert staff.post(page(Document, "add"), {"file": file}).status_code == 302
    document = Document.objects.get(name="New.pdf")
    assert document.content_type == "image/png"
    sent, kept = (
        Image.open(io.BytesIO(one)).tobytes() for one in (content, document.content)
    )
    assert kept == sent


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("page.png", b"<svg onload=alert(1)>", "is not a PNG, JPEG, WebP or PDF file"),
        ("big.pdf", b"%PDF-" + b"0" * Document.MAX_BYTES, "the limit is 5242880"),
        ("my logo.png", picture_bytes(), "Rename the file"),
        ("wide.png", picture_bytes(size=(4_097, 1)), "at most 4096 on each side"),
        ("torn.pdf", b"%PDF-1.7", "is no PDF that can be read"),
        ("empty.pdf", b"", "The submitted file is empty"),
    ],
)
def test_a_document_is_refused(staff, name, content, reason):
    before = Document.objects.count()
    file = SimpleUploadedFile(name, content)
    response = staff.post(page(Document, "add"), {"file": file})
    assert response.status_code == 200
    [message] = response.context["adminform"].form.errors["file"]
    assert reason in message
    assert Document.objects.count() == before


def test_keys_are_revoked_from_the_list(staff):
    key = ApiKey.objects.get(partner__login="observer")
    data = {"action": "revoke", "_selected_action": [key.pk]}
    asked = staff.post(page(ApiKey, "changelist"), data)["Location"]
    response = staff.post(asked, {"reason": "it leaked"}, follow=True)
    assert "1 keys revoked" in response.content.decode()
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert ApiKey.objects.get(partner__login="demo").revoked_at is None


def test_a_key_can_not_expire_before_it_was_made(staff):
    key = ApiKey.objects.get(partner__login="observer")
    data = {"scopes": key.scopes, "expires_at_0": "2020-01-01", "expires_at_1": "0:00"}
    response = staff.post(page(ApiKey, "change", key.pk), data)
    assert response.context["adminform"].form.errors["expires_at"] == [
        "The expiry must be later than the key's creation. To end the key now, revoke "
        "it."
    ]


def test_a_colleague_is_added_signs_in_and_changes_the_password(staff):
    data = {
        "type": "INDIVIDUAL",
        "email": "New.Colleague@example.com",
        "first_name": "Nia",
        "last_name": "Colleague",
        "usable_password": "true",
        "password1": PASSWORD,
        "password2": PASSWORD,
    }
    assert staff.post(page(User, "add"), data).status_code == 302
    colleague = User.objects.get(email="new.colleague@example.com")
    assert colleague.check_password(PASSWORD)
    User.objects.filter(pk=colleague.pk).update(is_staff=True)
    client = Client()
    login = {"username": "NEW.colleague@example.com", "password": PASSWORD}
    assert client.post(reverse("admin:login"), login).status_code == 302
    assert client.get(reverse("admin:index")).status_code == 200

    new = "a different staple"
    address = reverse("admin:auth_user_password_change", args=[colleague.pk])
    passwords = {"password1": new, "password2": new, "usable_password": "true"}
    assert staff.post(address, passwords).status_code == 302
    colleague.refresh_from_db()
    assert colleague.check_password(new)


def test_staff_without_permissions_see_nothing(sandbox, db):
    client = signed_in()
    for model in MODELS:
        assert client.get(page(model, "changelist")).status_code == 403


def test_editing_users_makes_nobody_a_superuser(sandbox, db):
    client = signed_in()
    may_edit = User.user_permissions.field.remote_field.model.objects.filter(
        codename__in=["change_user", "view_user"]
    )
    client.user.user_permissions.set(may_edit)
    holder = User.objects.filter(last_name="Silva")[0]
    data = {
        "type": "INDIVIDUAL",
        "email": holder.email,
        "first_name": "Ana",
        "last_name": "Silva",
        "is_superuser": "on",
        "is_staff": "on",
        "is_active": "on",
    }
    assert client.post(page(User, "change", holder.pk), data).status_code == 302
    holder.refresh_from_db()
    assert (holder.first_name, holder.is_superuser, holder.is_staff) == (
        "Ana",
        False,
        False,
    )
    assert client.post(page(User, "change", client.user.pk), data).status_code == 403
    address = reverse("admin:auth_user_password_change", args=[client.user.pk])
    assert client.post(address, {}).status_code == 403


def test_the_login_of_a_partner_stays(staff):
    partner = Partner.objects.get(login="observer")
    data = {"login": "other", "name": "Renamed", "is_active": "on"}
    assert staff.post(page(Partner, "change", partner.pk), data).status_code == 302
    partner.refresh_from_db()
    assert (partner.login, partner.name) == ("observer", "Renamed")


def test_an_issuer_with_a_wrong_slug_is_refused(staff):
    issuer = Issuer.objects.get(slug="vergelune")
    data = {
        "trading_name": "Vergelune",
        "slug": "Vergelune!",
        "trading_location": "Privas",
        "owner": issuer.owner_id,
    }
    response = staff.post(page(Issuer, "change", issuer.pk), data)
    assert "slug" in response.context["adminform"].form.errors


def test_an_issuer_has_the_day_on_which_it_was_formed(staff):
    issuer = Issuer.objects.get(slug="vergelune")
    address = page(Issuer, "change", issuer.pk)
    data = {
        "trading_name": "Vergelune",
        "slug": "vergelune",
        "trading_location": "Privas",
        "owner": issuer.owner_id,
    }
    response = staff.post(address, data | {"formation_date": "9999-12-31"})
    form = response.context["adminform"].form
    assert form.non_field_errors() == ["The formation date is in the future."]
    assert (
        staff.post(address, data | {"formation_date": "1998-04-30"}).status_code == 302
    )
    issuer.refresh_from_db()
    assert issuer.formation_date == date(1998, 4, 30)
    assert 'value="1998-04-30"' in staff.get(address).content.decode()
