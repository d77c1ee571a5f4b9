import io
import json
from datetime import timedelta
from hashlib import sha256
from itertools import pairwise

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import (
    Account,
    AccountStatusChange,
    Right,
    allowed_statuses,
)
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User, UserHolder
from issuers.legacy.models import LegacyShareholder
from issuers.models import (
    Article,
    Document,
    Issuer,
    IssuerFinancialData,
    IssuerGrant,
    Token,
)
from issuers.register.captable import capitalization_tables
from issuers.register.kinds import EntryKind
from issuers.register.models import HolderBalance, LedgerTransaction
from issuers.register.verification import verify
from marketdata.models import FixSession
from marketdata.trading.models import Market
from partnerapi.sandbox.data.chance import OPENING
from partnerapi.sandbox.data.markets import SOON, WITH_FIXINGS
from tests.issuers.ocf.schemas import Schemas
from tests.owner import tamper

SMALL, LARGE = "vergelune", "lumarelle-optics"

WHEN = {"recorded_at", "recorded_in", "updated_at", "makers"}
"""What the database says of when something was written, and by whom."""


def seed(*arguments):
    output, log = io.StringIO(), io.StringIO()
    call_command("sandbox", "seed", "--json", *arguments, stdout=output, stderr=log)
    [line] = output.getvalue().splitlines()
    return json.loads(line)


CASH = (
    "accounts_cashposting, accounts_cashhead, accounts_cashtransaction,"
    " accounts_bankline, accounts_bankstatement, accounts_payee, accounts_paymentorder,"
    " accounts_paymentfile, accounts_withdrawal,"
    " accounts_cashaccount, issuers_issuercash, issuers_subscription, issuers_offering"
)
OPEN_CASH = (
    "WITH opened AS (INSERT INTO accounts_cashaccount (kind)"
    " VALUES ('BANK'), ('FEES'), ('SUSPENSE') RETURNING id, kind)"
    " INSERT INTO accounts_cashhead"
    " (cash_account_id, kind, balance, reserved, last_number, entry_digest)"
    " SELECT id, kind, 0, 0, 0, decode(repeat('00', 32), 'hex') FROM opened"
)
"""The platform's own cash accounts, which a migration opens."""


@pytest.fixture(scope="module")
def first_answer(django_db_setup, django_db_blocker):
    """A seeded database for the whole module, in a transaction that is undone."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield seed()
        transaction.set_rollback(True)


@pytest.fixture
def seeded(first_answer, db):
    return first_answer


def fingerprint():
    """A digest for each model of everything the seed wrote, but for keys."""
    models = [
        User, UserHolder, Partner, IssuerGrant, Issuer, IssuerFinancialData, Article,
        Document, LegacyShareholder, Token, Account, AccountStatusChange,
    ]  # fmt: skip
    fields = {
        model: [
            f.attname
            for f in model._meta.concrete_fields
            if f.attname not in WHEN
            and (model, f.attname) != (IssuerGrant, "created_at")
        ]
        for model in models
    }
    rows = {
        model.__name__: [*model.objects.order_by("pk").values_list(*fields[model])]
        for model in models
    }
    return {name: sha256(repr(of).encode()).hexdigest() for name, of in rows.items()}


def test_writes_twenty_five_complete_companies(seeded):
    written = ("issuers", "partners", "financialData", "accounts")
    assert {k: seeded[k] for k in written} == {
        "issuers": 25,
        "partners": 3,
        "financialData": 200,
        "accounts": 440,
    }
    for issuer in Issuer.objects.select_related("owner", "company_logo"):
        empty = [
            f.attname for f in Issuer._meta.fields if not getattr(issuer, f.attname)
        ]
        assert empty == []
        assert bytes(issuer.company_logo.content).startswith(b"\x89PNG")
        periods = issuer.financial_data.values_list("year", "period_type")
        assert len(set(periods)) == 8
        assert issuer.articles.published().count() >= 1
        assert 40 <= issuer.legacy_shareholders.count() <= 5000
    counts = Issuer.objects.annotate(n=Count("legacy_shareholders"))
    assert counts.get(slug=SMALL).n == 40
    assert counts.get(slug=LARGE).n == 5000


@pytest.mark.parametrize(
    ("model", "field"),
    [
        (User, "type"),
        (User, "legal_form"),
        (Token, "visibility"),
        (Token, "market_type"),
        (LegacyShareholder, "status"),
        (IssuerFinancialData, "period_type"),
        (Account, "status"),
        (AccountStatusChange, "previous_status"),
        (AccountStatusChange, "status"),
    ],
)
def test_every_value_of_every_enumeration_occurs(seeded, model, field):
    occurring = set(model.objects.values_list(field, flat=True)) - {None}
    possible = set(dict(model._meta.get_field(field).choices))
    # Nothing comes after these.
    final = {"CLOSED", "REJECTED"} if field == "previous_status" else set()
    assert occurring == possible - final


def test_owners_have_every_legal_form_and_one_is_a_person(seeded):
    owners = User.objects.filter(issuers__isnull=False)
    assert set(owners.values_list("legal_form", flat=True)) == {
        *User.LegalForm.values,
        None,
    }
    assert owners.filter(type=User.Type.INDIVIDUAL, lei=None).count() == 1


def test_figures_go_beyond_32_bits_below_zero_and_have_gaps(seeded):
    data = IssuerFinancialData.objects
    assert data.filter(revenue_cents__gt=2**31).count() > 50
    assert data.filter(revenue_cents__lt=2**31).count() > 20
    for field in ("revenue_cents", "ebitda_cents", "ebit_cents", "net_income_cents"):
        assert data.filter(**{f"{field}__isnull": True}).count() >= 3
    assert data.filter(net_income_cents__lt=0).count() >= 10


def test_articles_have_drafts_and_covers_and_gaps(seeded):
    assert Article.objects.filter(published_at=None).count() >= 5
    assert Article.objects.filter(cover_image__isnull=False).count() >= 5
    assert Article.objects.filter(published_at=None, cover_image__isnull=False).exists()
    assert Article.objects.filter(summary=None).exists()
    assert Article.objects.filter(url=None).exists()


def test_shareholders_are_shared_between_issuers_and_have_profiles(seeded):
    held = User.objects.annotate(n=Count("legacy_shareholdings__issuer", distinct=True))
    assert held.filter(n__gt=1).count() >= 50
    assert LegacyShareholder.objects.filter(user__holder=None).count() == 0
    assert UserHolder.objects.filter(wallet_address=None).count() > 1000
    assert LegacyShareholder.objects.filter(price_cents=0).exists()


def test_everything_lies_in_the_past_and_ids_are_version_7_of_that_time(seeded):
    models = [
        Issuer, Token, Article, IssuerFinancialData, LegacyShareholder, Account,
        AccountStatusChange,
    ]  # fmt: skip
    for model in models:
        for id, created_at in model.objects.values_list("id", "created_at")[:2000]:
            assert created_at < timezone.now()
            assert id.version == 7
            assert id.int >> 80 == int(created_at.timestamp() * 1000)


def test_two_partners_may_see_different_things(seeded):
    demo, observer = (
        Partner.objects.get(login="demo"),
        Partner.objects.get(login="observer"),
    )
    assert [grant.issuer for grant in demo.grants.all()] == [None]
    assert observer.grants.filter(issuer__isnull=False).count() == 9
    at = timezone.now()
    assert seeded["keys"].keys() == {"demo", "observer"}
    key = ApiKey.objects.authenticate(seeded["keys"]["demo"], at)
    assert set(key.scopes) == set(Scope.values)
    key = ApiKey.objects.authenticate(seeded["keys"]["observer"], at)
    assert key.scopes == ["issuers:read", "shareholders:read"]


@pytest.mark.parametrize("login", ["demo", "observer"])
def test_each_partner_has_clients_of_every_status(seeded, login):
    accounts = Account.objects.filter(partner__login=login)
    assert accounts.count() == 200
    statuses = list(accounts.values_list("status", flat=True))
    assert {status for status in statuses if statuses.count(status) >= 5} == set(
        Account.Status.values
    )
    for account in accounts.select_related("user"):
        assert account.user.created_at < account.created_at


def test_accounts_stand_where_a_lawful_history_has_left_them(seeded):
    accounts = Account.objects.prefetch_related("history").select_related("partner")
    staff = set(User.objects.filter(is_staff=True).values_list("email", flat=True))
    for account in accounts:
        opening, *moves = history = list(account.history.all())
        assert (opening.previous_status, opening.created_at) == (
            None,
            account.created_at,
        )
        status, at = opening.status, opening.created_at
        for move in moves:
            actors = staff if move.is_staff else {account.partner.login}
            rights = {Right.STAFF if move.is_staff else Right.PARTNER}
            if move.approved_by:
                assert move.approved_by in staff - {move.actor}
                rights.add(Right.STAFF_APPROVED)
            assert move.actor in actors
            assert move.previous_status == status
            assert move.status in allowed_statuses(status, rights)
            assert move.created_at > at
            status, at = move.status, move.created_at
        last = history[-1]
        assert [change.number for change in history] == [*range(1, len(history) + 1)]
        assert (
            account.status, account.status_reason, account.changes, account.updated_at
        ) == (last.status, last.reason, last.number, last.created_at)  # fmt: skip


WITHOUT_MARKETS = (
    "DELETE FROM trading_orderevent",
    "DELETE FROM trading_market",
    "UPDATE marketdata_orderbookhead SET source = 'EXTERNAL'",
)


def test_an_older_sandbox_is_given_its_accounts(seeded):
    before = fingerprint()
    tamper(
        *WITHOUT_MARKETS,
        f"TRUNCATE {CASH}",
        "DELETE FROM accounts_accountstatuschange",
        "DELETE FROM accounts_account",
        "DELETE FROM accounts_approvaloutcome",
        "DELETE FROM accounts_approvaldecision",
        "DELETE FROM accounts_approvalrequest",
        "DELETE FROM accounts_staffnotice",
        "DELETE FROM accounts_staffchange",
    )
    tamper(OPEN_CASH, guarded=True)
    User.objects.filter(is_staff=True).delete()
    again = seed()
    # Clients are given units anew, and the offering that settled sells its own.
    assert again.pop("ledgerEntries") == seeded["ledgerEntries"] + 400 + 4
    assert again.pop("prices") == seeded["prices"] + 1
    assert again.items() <= (seeded | {"keys": {}}).items()
    assert fingerprint() == before


def test_one_market_trades_by_fixings_every_ten_minutes(seeded):
    by_symbol = {market.token.symbol: market for market in Market.objects.all()}
    fixing = by_symbol.pop(WITH_FIXINGS)
    assert (fixing.model, fixing.next_phase) == ("FIXING", "CALL")
    assert {later.minute - one.minute for one, later in pairwise(fixing.fixings)} == {
        10,
        -50,
    }
    assert (len(fixing.fixings), fixing.at_last_minutes) == (144, 2)
    assert fixing.next_phase_at - fixing.phase_since <= SOON
    assert {market.model for market in by_symbol.values()} == {"CONTINUOUS"}


def test_an_older_sandbox_is_given_its_market_of_fixings(seeded):
    fixing = Market.objects.get(token__symbol=WITH_FIXINGS)
    token, before = fixing.token_id, fingerprint()
    tamper(
        f"DELETE FROM trading_orderevent WHERE token_id = '{token}'",
        f"DELETE FROM trading_market WHERE token_id = '{token}'",
        f"DELETE FROM trading_marketparameters WHERE token_id = '{token}'",
        "UPDATE marketdata_orderbookhead SET source = 'EXTERNAL'"
        f" WHERE token_id = '{token}'",
    )
    again = seed()
    assert again.pop("ledgerEntries") == seeded["ledgerEntries"] + 80
    assert again.items() <= (seeded | {"keys": {}}).items()
    assert Market.objects.get(token=token).model == "FIXING"
    assert Market.objects.count() == 5
    assert fingerprint() == before


def test_an_older_sandbox_is_given_its_registers(seeded):
    before = fingerprint()
    tamper(
        *WITHOUT_MARKETS,
        "TRUNCATE issuers_subscription, issuers_offering",
        "UPDATE issuers_legacyshareholder SET status = 'PENDING', token_id = NULL,"
        " delivered_at = NULL, delivered_by = NULL, ledger_seq = NULL",
        "DELETE FROM issuers_ledgertransaction",
        "DELETE FROM issuers_ledgerposting",
        "DELETE FROM issuers_tokenprice",
        "DELETE FROM issuers_holderbalance",
        "DELETE FROM issuers_holdingperiod",
        "DELETE FROM issuers_ledgeraccount",
        "UPDATE issuers_tokenledgerhead SET last_seq = 0, last_price = 0,"
        " last_effective_at = NULL, last_price_at = NULL, supply = 0, held = 0,"
        " holder_count = 0, price_cents = NULL, entry_digest = DEFAULT,"
        " price_digest = DEFAULT, is_open = FALSE",
    )
    assert seed() == seeded | {"keys": {}}
    assert fingerprint() == before
    assert [finding.rule for finding in verify() if finding.breaches] == []


def test_again_changes_nothing_and_shows_no_key(seeded):
    before = fingerprint()
    assert seed() == seeded | {"keys": {}}
    assert fingerprint() == before
    assert ApiKey.objects.count() == 2


def test_the_demo_partner_may_log_on_to_the_feed(seeded):
    sessions = FixSession.objects.values_list("comp_id", "partner__login", "created_at")
    assert list(sessions) == [
        ("PARTNER001", "demo", OPENING),
        ("PARTNER002", "demo", OPENING),
        ("PARTNER003", "demo", OPENING),
    ]
    assert FixSession.objects.get(is_drop_copy=True).comp_id == "PARTNER003"
    FixSession.objects.all().delete()
    assert seed() == seeded | {"keys": {}}
    assert FixSession.objects.filter(partner__login="demo").count() == 3


def test_partners_for_load_are_added_up_to_a_number(seeded, settings):
    settings.FIX_SESSIONS = 8
    two = seed("--fix-sessions=2")["fix"]
    assert [(each["compID"], each["login"]) for each in two] == [
        ("PARTNER004", "fix_0001"),
        ("PARTNER005", "fix_0002"),
    ]
    for each in two:
        key = ApiKey.objects.authenticate(each["key"], timezone.now())
        assert key.scopes == [Scope.MARKETDATA_READ]
        assert key.partner.fix_sessions.get().comp_id == each["compID"]
        assert key.partner.grants.get().issuer is None
    again = seed("--fix-sessions=2")
    assert (again["fix"], again["partners"]) == ([], 5)
    assert [each["compID"] for each in seed("--fix-sessions=4")["fix"]] == [
        "PARTNER006",
        "PARTNER007",
    ]
    with pytest.raises(CommandError, match="The pool of 8 CompIDs has only 0 left"):
        seed("--fix-sessions=6")
    assert FixSession.objects.count() == 7


def test_is_the_same_in_every_sandbox(seeded):
    before = fingerprint()
    tamper(
        *WITHOUT_MARKETS,
        "TRUNCATE accounts_user, accounts_partner, issuers_document,"
        " issuers_ledgerposting, issuers_holderbalance, issuers_holdingperiod CASCADE",
        f"TRUNCATE {CASH} CASCADE",
    )
    tamper(OPEN_CASH, guarded=True)
    again = seed()
    assert fingerprint() == before
    assert again["keys"] != seeded["keys"]


def test_a_register_grows_in_steps_to_what_it_would_be_at_once(seeded):
    issuer = Issuer.objects.get(slug=SMALL)
    rows = issuer.legacy_shareholders.order_by("id").values_list(
        "id", "user__email", "user__holder__name", "status", "number_of_shares"
    )
    answer = seed(f"--shareholders={SMALL}=300")
    assert answer["legacyShareholders"] == seeded["legacyShareholders"] + 260
    assert answer["users"] == seeded["users"] + 260
    in_one_step = list(rows)
    assert len(in_one_step) == 300
    assert seed(f"--shareholders={SMALL}=300") == answer

    added = issuer.legacy_shareholders.order_by("created_at")[100:]
    users = [shareholder.user_id for shareholder in added]
    LegacyShareholder.objects.filter(user__in=users).delete()
    UserHolder.objects.filter(user__in=users).delete()
    User.objects.filter(pk__in=users).delete()
    assert len(rows.all()) == 100
    seed(f"--shareholders={SMALL}=300")
    assert list(rows.all()) == in_one_step


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            "unknown=50",
            "unknown is not a company of the sandbox; choose one of lumarelle-",
        ),
        (f"{SMALL}=39", "vergelune has 40 legacy shareholders; 39 were requested"),
        (SMALL, "'vergelune' is not SLUG=NUMBER"),
        (f"{SMALL}=-1", "'vergelune=-1' is not SLUG=NUMBER"),
        (f"{SMALL}=10000001", "is not SLUG=NUMBER with 1 to 10000000"),
    ],
)
def test_refuses_what_no_register_can_become(seeded, value, reason):
    with pytest.raises(CommandError, match=reason):
        seed(f"--shareholders={value}")
    assert LegacyShareholder.objects.count() == seeded["legacyShareholders"]


def test_refuses_an_installation_that_is_not_a_sandbox(settings):
    settings.PARTNER_API_SANDBOX = False
    with pytest.raises(CommandError, match="PARTNER_API_SANDBOX=true"):
        seed()


def test_keeps_other_issuers_in_a_seeded_sandbox(seeded):
    owner = User.objects.filter(issuers__isnull=False)[0]
    Issuer.objects.create(
        trading_name="Other", slug="other", trading_location="Rome", owner=owner
    )
    assert seed() == seeded | {"keys": {}, "issuers": 26}


def test_registers_have_three_years_of_history(seeded):
    assert [f.rule for f in verify() if f.breaches] == []
    assert set(LedgerTransaction.objects.values_list("kind", flat=True)) == {
        *EntryKind
    } - {"FORCED_TRANSFER", "REVERSAL", "TRADE"}
    ids = [str(pk) for pk in Issuer.objects.values_list("pk", flat=True)]
    seen = []
    for months in (0, 6, 18, 30, 37):
        at = OPENING + timedelta(days=30 * months)
        tables = capitalization_tables(ids, at, True)
        seen.append([table.total_value for table in tables])
    assert seen[0] == [0] * 25
    assert all(seen[-1])
    for earlier, later in pairwise(seen):
        assert len(set(zip(earlier, later, strict=True))) > 5
        assert earlier != later
    gone = HolderBalance.objects.filter(balance=0, account__kind="HOLDER")
    assert gone.count() > 100
    treasuries = HolderBalance.objects.filter(account__kind="TREASURY", balance__gt=0)
    assert treasuries.count() == seeded["tokens"]


def test_each_issuer_is_exported_as_ocf(seeded, test_data, tmp_path):
    schemas = Schemas(test_data / "ocf" / "schema")
    for slug in Issuer.objects.values_list("slug", flat=True):
        file = tmp_path / f"{slug}.zip"
        call_command("export", "captable", slug, format="ocf", output=file)
        assert schemas.errors(file) == []


def test_a_sandbox_of_before_gets_its_formation_dates(seeded):
    formed = Issuer.objects.order_by("slug").values_list("slug", "formation_date")
    before = list(formed)
    assert None not in dict(before).values()
    Issuer.objects.update(formation_date=None)
    seed()
    assert list(formed.all()) == before
