"""The issuer, the holders and the tokens of a package, and how they are known again."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.core.management import CommandError

from accounts.people.models import User, UserHolder
from issuers.models import Issuer, Token
from issuers.register.models import HolderBalance, LedgerTransaction, TokenPrice
from tests.issuers.ocf.packages import (
    CLASSES,
    PEOPLE,
    ROOT,
    balances,
    counted,
    euro,
    files,
    issue,
    kinds,
    run,
    sound,
    stakeholder,
    stock_class,
    tx,
)

pytestmark = pytest.mark.django_db


def test_issuer_holders_tokens_prices_and_times(load):
    output = load(
        issue("s1", "ann", "100.00", share_price=euro("1.25")),
        issue("s2", "fund", 50, "2021-02-01T10:30:00+01:00", share_price=euro("2")),
        issue("s3", "fund", "7", "2021-02-02", share_price=euro("2.00")),
        issue("s4", "bob", "1", "2021-03-01", share_price=euro("0.001")),
    )
    issuer = Issuer.objects.get()
    assert (issuer.slug, issuer.trading_name) == ("nova-sas", "Nova SAS")
    assert (issuer.country_id, issuer.trading_location) == ("FR", "France")
    assert issuer.owner.company_name == "Nova SAS"
    assert balances() == {
        ("Common", "Ann Lee Roy"): 100,
        ("Common", "North Fund SA"): 57,
        ("Common", "Bob Fox"): 1,
    }
    people = {holder.name: holder.user for holder in UserHolder.objects.all()}
    assert (people["Bob Fox"].first_name, people["Bob Fox"].last_name) == (
        "Robert", "Fox",
    )  # fmt: skip
    ann = people["Ann Lee Roy"]
    assert (ann.type, ann.first_name, ann.last_name) == ("INDIVIDUAL", "Ann Lee", "Roy")
    fund = people["North Fund SA"]
    assert (fund.type, fund.company_name) == ("COMPANY", "North Fund SA")
    prices = TokenPrice.objects.order_by("number")
    assert list(prices.values_list("price_cents", "source", "effective_at")) == [
        (125, "ISSUE", datetime(2021, 1, 1, tzinfo=UTC)),
        (200, "ISSUE", datetime(2021, 2, 1, 9, 30, tzinfo=UTC)),
    ]
    assert counted(output, "issue prices in fractions of a cent") == 1
    common = Token.objects.get(name="Common")
    assert (common.symbol, common.visibility) == ("NOVA-CS", "PRIVATE")
    assert common.created_at == datetime(2021, 1, 1, tzinfo=UTC)
    assert kinds() == [("MINT", 100), ("MINT", 50), ("MINT", 7), ("MINT", 1)]
    assert sound()


@pytest.mark.parametrize(
    "issuer",
    [
        {"id": "\ud800", "legal_name": "株式会社", "country_of_formation": None},
        {"id": None, "dba": ["no name"], "address": {"city": "Lyon\0"}},
        {"dba": "[bold]Nova[/bold]", "address": "Lyon", "formation_date": 3},
    ],
)
def test_an_unusual_issuer_is_imported_once(write, issuer):
    folder = write(files(ROOT, **issuer))
    assert "1 entries and 0 prices" in run(folder)
    assert run(folder).strip().endswith("0 changes.")
    assert sound()


def test_holders_are_known_by_their_email_address(load):
    def person(id, *emails):
        listed = [{"email_type": "OTHER", "email_address": email} for email in emails]
        named = stakeholder(id, f"{id} Roy".title())
        return named | {"contact_info": {"emails": listed}}

    stored = User.objects.create_user(
        "zoe@example.com", type="INDIVIDUAL", first_name="Zoé", last_name="Roy"
    )
    User.objects.create_user("co@example.com", type="COMPANY", company_name="Co")
    people = [
        person("zoe", "Zoe@example.com"),
        person("ben", "Ben@example.com", "b@example.com"),
        person("eva", "both@example.com"),
        person("ida", "both@example.com"),
        person("joe", "co@example.com"),
        person("kim", "no address"),
        person("lea"),
    ]
    names = [one["id"] for one in people]
    output = load(*(issue(f"s-{n}", n, "5") for n in names), people=people)
    emails = {
        user.first_name: user.email for user in User.objects.filter(last_name="Roy")
    }
    assert emails == {
        "Zoé": "zoe@example.com", "Ben": "ben@example.com", "Eva": None, "Ida": None,
        "Joe": None, "Kim": None, "Lea": None,
    }  # fmt: skip
    assert HolderBalance.objects.get(account__user=stored).balance == 5
    assert "1 holders were matched by e-mail address" in output
    assert "2 e-mail addresses omitted: shared by several stakeholders" in output
    assert "1 e-mail addresses omitted: they belong to companies" in output


def test_another_package_of_an_issuer_is_refused(load, capsys):
    load(ROOT)
    with pytest.raises(CommandError, match="1 problem, listed above"):
        load(ROOT, issue("s2", "bob", "5"))
    assert "nova: was already imported as nova-sas" in capsys.readouterr().err
    assert LedgerTransaction.objects.count() == 1


def test_a_taken_slug_gets_a_number_and_is_named(load):
    load(ROOT)
    output = load(ROOT, id="other")
    assert "slug nova-sas is taken: nova-sas-2 assigned" in output
    assert Token.objects.filter(symbol="NOVA-CS.2").count() == 1


def test_a_token_keeps_what_its_class_says(write):
    common, preferred = CLASSES
    preferred = preferred | {
        "class_type": "PREFERRED",
        "votes_per_share": 10,
        "seniority": "2",
        "par_value": {"amount": "0.0001", "currency": "USD"},
    }
    odd = stock_class("odd", "Odd", "O") | {"votes_per_share": 1.5, "par_value": {}}
    said = run(write(files(classes=[common, preferred, odd])))
    facts = Token.objects.order_by("name").values_list(
        "name", "class_type", "votes_per_share", "seniority", "nominal_value",
        "nominal_currency",
    )  # fmt: skip
    assert list(facts) == [
        ("Common", "COMMON", None, None, None, None),
        ("Odd", "COMMON", None, None, None, None),
        ("Preferred", "PREFERRED", 10, 2, Decimal("0.0001"), "USD"),
    ]
    assert "2 class data that cannot be kept" in said
    assert [t.name for t in Token.objects.order_by("created_at")] == [
        "Common", "Preferred", "Odd"
    ]  # fmt: skip


def test_units_of_the_treasury_are_nobodys(write):
    own = stakeholder("own", "Nova SAS", "INSTITUTION")
    own["issuer_assigned_id"] = "TREASURY"
    run(write(files(
        issue("s1", "own", "100"),
        tx("t", "TRANSFER", "2021-02-01", security_id="s1", quantity="30",
           resulting_security_ids=["s2"]),
        issue("s2", "ann", "30", "2021-02-01"),
        people=[*PEOPLE, own],
    )))  # fmt: skip
    assert kinds() == [("MINT", 100), ("ALLOCATE", 30)]
    head = Token.objects.get(name="Common").ledger_head
    assert (head.supply, head.held, head.holder_count) == (100, 30, 1)
    assert User.objects.filter(company_name="Nova SAS").count() == 1
    assert sound()
