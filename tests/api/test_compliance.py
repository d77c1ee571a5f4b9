"""Investors, rules of tokens and checks of transfers, as partners ask for them."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.investors import writer as investors
from accounts.investors.models import (
    InvestorAttestation,
    InvestorChange,
    InvestorProfile,
)
from accounts.keys.models import Partner
from accounts.people.models import Country, User
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from partnerapi.sandbox.data.approvals import ASKER, approved_key, colleague
from tests.approved import approved_record, approved_rule, desk
from tests.characters import Ask, World
from tests.owner import as_committed

ATTEST = """
mutation ($input: AttestInvestorInput!) {
  attestInvestor(input: $input) {
    account { id investor { pending verification verifiedUntil country { code }
      investorClass frozen } }
  }
}
"""
CHECK = """
query ($input: CheckTransferInput!) {
  checkTransfer(input: $input) {
    allowed refusals { code message available maximum until country { code } }
  }
}
"""
RULES = """
query ($id: ID!) {
  token(id: $id) { transferRules { kind text countries { code } classes maximum } }
}
"""
NOTHING = {
    "pending": False,
    "verification": "NONE",
    "verifiedUntil": None,
    "country": None,
    "investorClass": "RETAIL",
    "frozen": False,
}


def new_account(partner: Partner, name: str) -> Account:
    user = User.objects.create(type="INDIVIDUAL", first_name=name, last_name="Lund")
    return Account.objects.open(partner, user, desk(), timezone.now())


@pytest.fixture
def anna(world: World) -> Account:
    return new_account(world.partner, "Anna")


@pytest.fixture
def bert(world: World) -> Account:
    return new_account(world.partner, "Bert")


def attest(ask: Ask, account: Account, **said: Any) -> Any:
    input = {
        "accountID": f"Account|{account.pk}",
        "verification": "VERIFIED",
        "countryCode": "FR",
        "investorClass": "INFORMED",
    } | said
    return ask(ATTEST, {"input": input}, **{"Idempotency-Key": str(uuid.uuid4())})


def investor(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.data["attestInvestor"]["account"]["investor"]
    return found


def trust(partner: Partner) -> None:
    partner.may_attest = True
    partner.save()


def test_an_attestation_waits_for_staff(partner: Ask, anna: Account):
    told = investor(attest(partner, anna, evidence="file 17"))
    assert told == NOTHING | {"pending": True}
    attestation = InvestorAttestation.objects.get()
    assert attestation.evidence == "file 17"
    colleague(ASKER)
    facts = investors.Facts(
        "VERIFIED", None, Country.objects.get(code="FR"), "PROFESSIONAL"
    )
    investors.decide(anna.user, facts, ASKER, attestation)
    told = investor(attest(partner, anna, investorClass="RETAIL"))
    assert told == NOTHING | {
        "pending": True,
        "verification": "VERIFIED",
        "country": {"code": "FR"},
        "investorClass": "PROFESSIONAL",
    }
    assert InvestorProfile.objects.get().partner == anna.partner


def test_a_trusted_partner_raises_and_lowers_its_own(
    partner: Ask, anna: Account, world: World
):
    trust(world.partner)
    until = (timezone.now() + timedelta(days=30)).replace(microsecond=0)
    told = investor(attest(partner, anna, verifiedUntil=until.isoformat()))
    assert told["verification"] == "VERIFIED"
    assert told["pending"] is False
    assert told["verifiedUntil"] == until.strftime("%Y-%m-%dT%H:%M:%SZ")
    told = investor(attest(partner, anna, verification="REFUSED"))
    assert (told["verification"], told["pending"]) == ("REFUSED", False)
    assert InvestorChange.objects.count() == 2


def test_nobody_weakens_what_another_attested(
    partner: Ask, anna: Account, world: World
):
    trust(world.partner)
    colleague(ASKER)
    facts = investors.Facts(
        "VERIFIED", None, Country.objects.get(code="DE"), "PROFESSIONAL"
    )
    investors.decide(anna.user, facts, ASKER)
    for weaker in (
        {"investorClass": "RETAIL", "countryCode": "DE"},
        {"investorClass": "PROFESSIONAL", "countryCode": "FR"},
        {"verification": "PENDING", "countryCode": "DE"},
        {"investorClass": "PROFESSIONAL", "countryCode": "DE",
         "verifiedUntil": "2099-01-01"},
    ):  # fmt: skip
        told = investor(attest(partner, anna, **weaker))
        assert (told["country"], told["pending"]) == ({"code": "DE"}, True), weaker
    stronger = {"investorClass": "ELIGIBLE_COUNTERPARTY", "countryCode": "DE"}
    told = investor(attest(partner, anna, **stronger))
    assert told["investorClass"] == "ELIGIBLE_COUNTERPARTY"
    assert told["pending"] is False


@pytest.mark.parametrize(
    ("said", "argument"),
    [
        ({"countryCode": "XX"}, "input.countryCode"),
        ({"countryCode": "\0"}, "input.countryCode"),
        ({"verifiedUntil": "2020-01-01"}, "input.verifiedUntil"),
        ({"verification": "REFUSED", "verifiedUntil": "2099-01-01"},
         "input.verifiedUntil"),
        ({"evidence": "x" * 201}, "input.evidence"),
    ],
)  # fmt: skip
def test_what_can_not_be_attested_is_told(
    partner: Ask, anna: Account, said: dict[str, str], argument: str
):
    answer = attest(partner, anna, **said)
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["argument"] == argument
    assert not InvestorAttestation.objects.exists()


def test_accounts_of_others_and_closed_ones_are_not_attested(
    partner: Ask, world: World
):
    other = new_account(world.observer, "Olga")
    assert attest(partner, other).code == "NOT_FOUND"
    ended = new_account(world.partner, "Ende")
    ended.change_status("REJECTED", desk(), None)
    assert attest(partner, ended).code == "ACCOUNT_NOT_ACTIVE"
    key = approved_key(world.partner, [Scope.COMPLIANCE_READ])[1]
    assert attest(Ask(key), other).code == "FORBIDDEN"


def give(token: Token, account: Account, units: int) -> int:
    held = ledger.holder_accounts([account.user_id])[account.user_id]
    approved_record([Entry(token.pk, Kind.MINT, units, None, held)], "me")
    return held


def check(ask: Ask, token: Token, **said: Any) -> Any:
    input = {"tokenID": f"Token|{token.pk}", "quantity": 10} | {
        name: f"Account|{value.pk}" if isinstance(value, Account) else value
        for name, value in said.items()
    }
    return ask(CHECK, {"input": input})


def codes(answer: Any) -> list[str]:
    told = answer.data["checkTransfer"]
    found = [refusal["code"] for refusal in told["refusals"]]
    assert told["allowed"] is (found == [])
    return found


def test_a_transfer_is_checked_against_all_rules(
    partner: Ask, world: World, anna: Account, bert: Account
):
    token = world.public_token
    give(token, anna, 100)
    both = {"fromAccountID": anna, "toAccountID": bert}
    assert codes(check(partner, token, **both)) == []
    assert codes(check(partner, token, **both, quantity=101)) == ["INSUFFICIENT_UNITS"]
    for kind, parameters in (
        ("VERIFIED_HOLDERS", {}),
        ("COUNTRIES", {"allowed": ["FR", "DE"]}),
        ("MAX_BALANCE", {"units": 9}),
        ("MAX_HOLDERS", {"holders": 1}),
    ):
        approved_rule(token, kind, parameters)
    until = timezone.now() + timedelta(days=10)
    terms = Terms("LOCK_UP", "founders", token, 95, until)
    restrictions.restrict(anna.user, terms, ASKER)
    answer = check(partner, token, **both)
    assert codes(answer) == [
        "UNITS_LOCKED",
        "RECEIVER_NOT_VERIFIED",
        "COUNTRY_NOT_ALLOWED",
        "MAX_HOLDERS_EXCEEDED",
        "MAX_BALANCE_EXCEEDED",
    ]
    told = {r["code"]: r for r in answer.data["checkTransfer"]["refusals"]}
    assert told["UNITS_LOCKED"]["available"] == 5
    assert told["UNITS_LOCKED"]["until"].startswith(until.strftime("%Y-%m-%dT%H:%M:%S"))
    assert told["MAX_HOLDERS_EXCEEDED"]["maximum"] == 1
    assert told["MAX_BALANCE_EXCEEDED"]["maximum"] == 9
    assert codes(check(partner, token, fromAccountID=anna, quantity=5)) == []
    assert "RECEIVER_NOT_VERIFIED" in codes(check(partner, token, toAccountID=bert))
    assert not ledger.LedgerAccount.objects.filter(user=bert.user).exists()


def test_a_check_shows_nothing_of_others(partner: Ask, world: World, anna: Account):
    other = new_account(world.observer, "Olga")
    token = world.public_token
    assert check(partner, token, toAccountID=other).code == "NOT_FOUND"
    assert check(partner, token).code == "BAD_USER_INPUT"
    assert check(partner, token, toAccountID=anna, quantity=0).code == "BAD_USER_INPUT"
    reader = Ask(approved_key(world.observer, [Scope.COMPLIANCE_READ])[1])
    private = check(reader, world.private_token, toAccountID=other)
    assert private.code == "NOT_FOUND"


def test_rules_of_a_public_token_are_public(stranger: Ask, world: World):
    token = world.public_token
    for kind, parameters in (
        ("COUNTRIES", {"refused": ["US", "FR"]}),
        ("INVESTOR_CLASSES", {"classes": ["INFORMED"]}),
        ("MAX_BALANCE", {"bps": 250}),
        ("MAX_HOLDERS", {"holders": 2000}),
        ("TRANSFERS_PAUSED", {}),
    ):
        approved_rule(token, kind, parameters)
    approved_rule(token, "TRANSFERS_PAUSED", None)
    told = stranger(RULES, {"id": f"Token|{token.pk}"}).data["token"]["transferRules"]
    assert [rule["kind"] for rule in told] == [
        "COUNTRIES_REFUSED",
        "INVESTOR_CLASSES",
        "MAX_BALANCE",
        "MAX_HOLDERS",
    ]
    assert [country["code"] for country in told[0]["countries"]] == ["US", "FR"]
    assert told[1]["classes"] == ["INFORMED"]
    assert told[2]["text"] == "At most 2.5 % of the supply per holder."
    assert told[3]["maximum"] == 2000


def test_investors_of_a_page_take_as_many_statements_as_of_one(
    partner: Ask, world: World
):
    query = "{ accounts(first: %d) { nodes { investor { frozen country { code } } } } }"
    for number in range(3):
        account = new_account(world.partner, f"A{number}")
        restrictions.restrict(account.user, Terms("FREEZE", "a court"), ASKER)
        attest(partner, account)
    as_committed()
    counts = []
    for first in (1, 3):
        with CaptureQueriesContext(connection) as captured:
            nodes = partner(query % first).data["accounts"]["nodes"]
        assert [node["investor"]["frozen"] for node in nodes] == [True] * first
        counts.append(len(captured))
    assert counts[0] == counts[1]
