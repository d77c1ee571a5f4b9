"""Accounts that partners open: once for a reference, and no one learns who is known."""

import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client

from accounts.accounts.models import Account, InvalidStatusTransition
from accounts.applicants.models import Applicant
from accounts.people.models import User
from issuers.models import Event
from tests.approved import desk
from tests.characters import Ask, World
from tests.staff.conftest import staff

__all__ = ["staff"]

OPEN = """
mutation ($input: OpenAccountInput!) {
  openAccount(input: $input) {
    account { id status reference user { displayName type lei country { code } } }
  }
}
"""
PERSON = {
    "type": "INDIVIDUAL",
    "name": "Anna Maria Lund",
    "email": "Anna@Client.example",
    "countryCode": "FR",
    "reference": "client-1",
}
LEI = "529900T8BM49AURSDO55"
COMPANY = {
    "type": "COMPANY",
    "companyName": "Lumen Optique SA",
    "email": "hello@lumen.example",
    "lei": LEI,
    "countryCode": "FR",
    "reference": "client-2",
}


def open_account(ask: Ask, **input: Any) -> Any:
    return ask(OPEN, {"input": input}, **{"Idempotency-Key": str(uuid.uuid4())})


def test_opens_a_pending_account_of_a_new_user_and_tells_it_in_the_feed(
    partner: Ask, world: World
):
    account = open_account(partner, **PERSON).data["openAccount"]["account"]
    assert account.pop("id").startswith("Account|")
    assert account == {
        "status": "PENDING",
        "reference": "client-1",
        "user": {
            "displayName": "Anna Maria Lund",
            "type": "INDIVIDUAL",
            "lei": None,
            "country": {"code": "FR"},
        },
    }
    opened = Account.objects.get(applicant__reference="client-1")
    assert (opened.user.first_name, opened.user.email) == ("Anna Maria", None)
    assert opened.history.get().actor == "broker_one"
    opened.change_status("ACTIVE", desk(), None)
    opened.user.refresh_from_db()
    assert opened.user.email == "anna@client.example"


def test_a_reference_opens_one_account(partner: Ask):
    first = open_account(partner, **PERSON).data["openAccount"]["account"]["id"]
    again = open_account(partner, **COMPANY | {"reference": "client-1"})
    assert again.code == "DUPLICATE_REFERENCE"
    assert again.errors[0]["extensions"]["accountID"] == first
    assert Account.objects.count() == 1
    assert not User.objects.filter(company_name=COMPANY["companyName"]).exclude(lei=LEI)


def test_who_is_known_is_not_told(partner: Ask, world: World, staff: Client):
    unknown = open_account(partner, **COMPANY | {"lei": None, "email": "x@y.example"})
    known = open_account(partner, **COMPANY | {"reference": "client-3"})
    told = [answer.data["openAccount"]["account"] for answer in (unknown, known)]
    for account in told:
        account.pop("id"), account.pop("reference")
    assert told[0] == told[1]

    account = Account.objects.get(applicant__reference="client-3")
    with pytest.raises(InvalidStatusTransition, match="Another user has"):
        account.change_status("ACTIVE", desk(), None)
    page = f"/admin/account/{account.pk}/"
    assert staff.get(page).context["known"] == [world.owner]
    assert staff.post(page, {"join": str(uuid.uuid4())}).status_code == 400
    assert staff.post(page, {"join": str(world.owner.pk)}).status_code == 302
    account.refresh_from_db()
    assert account.user == world.owner
    account.change_status("ACTIVE", desk(), None)
    world.owner.refresh_from_db()
    assert (world.owner.email, world.owner.lei) == (None, LEI)
    assert staff.get(page).context["known"] == []


def join(account: uuid.UUID, user: uuid.UUID) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT accounts_join(%s, %s)", [account, user])


def test_only_sql_that_the_rules_allow_joins(partner: Ask, world: World):
    open_account(partner, **COMPANY)
    [applicant] = Applicant.objects.all()
    other = User.objects.create(type="COMPANY", company_name="Other SA")
    for account, user in ((applicant.pk, other.pk), (applicant.pk, applicant.user_id)):
        with pytest.raises(IntegrityError):
            join(account, user)
    Account.objects.get().change_status("REJECTED", desk(), None)
    with pytest.raises(IntegrityError, match="PENDING"):
        join(applicant.pk, world.owner.pk)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"name": None}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"companyName": "Lumen"}, "companyName"),
        ({"lei": LEI}, "lei"),
        ({"email": "nobody"}, "email"),
        ({"countryCode": "ZZ"}, "countryCode"),
        ({"reference": ""}, "reference"),
        ({"reference": "a b"}, "reference"),
        ({"reference": "é"}, "reference"),
        ({"name": "A\0B"}, "name"),
    ],
)
def test_refuses_what_is_no_client(partner: Ask, change: dict[str, Any], argument: str):
    answer = open_account(partner, **PERSON | change)
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["argument"] == f"input.{argument}"
    assert not Account.objects.exists()


def test_a_company_needs_a_right_lei(partner: Ask):
    answer = open_account(partner, **COMPANY | {"lei": LEI[:-1] + "6"})
    assert answer.errors[0]["extensions"]["argument"] == "input.lei"


@pytest.mark.usefixtures("transactional_db")
def test_the_feed_tells_of_the_opening(partner: Ask, world: World):
    account = open_account(partner, **PERSON).data["openAccount"]["account"]["id"]
    told = Event.objects.filter(type="ACCOUNT_STATUS_CHANGED", partner=world.partner)
    assert [f"Account|{event.account_id}" for event in told] == [account]
