"""Profiles of investors are of the partner whose account it is, or of staff."""

import uuid
from typing import Any

import pytest
from django.db import IntegrityError, ProgrammingError, transaction
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.investors import writer as investors
from accounts.investors.models import (
    InvestorAttestation,
    InvestorChange,
    InvestorProfile,
)
from accounts.people.models import User
from partnerapi.core.database import execute, rows_of
from partnerapi.sandbox.data.approvals import ASKER
from tests.approved import asker, desk
from tests.characters import World

FACTS = investors.Facts("VERIFIED", None, None, "PROFESSIONAL", "file 17")


def client(world: World, name: str) -> Account:
    user = User.objects.create(type="INDIVIDUAL", first_name=name, last_name="Lund")
    return Account.objects.open(world.partner, user, desk(), timezone.now())


@pytest.fixture
def anna(world: World) -> Account:
    return client(world, "Anna")


@pytest.fixture
def members(db: None) -> None:
    """One without the right, and one with it that has left."""
    for email, is_active in (("plain@staff.example", True), ("gone@x.example", False)):
        person = User.objects.create_user(
            email,
            type=User.Type.INDIVIDUAL,
            first_name="A",
            last_name="Z",
            is_staff=True,
            is_active=is_active,
        )
    person.user_permissions.set(User.objects.get(email=asker()).user_permissions.all())


def test_staff_set_a_profile_in_their_own_name(anna: Account):
    first = investors.decide(anna.user, FACTS, asker())
    second = investors.decide(anna.user, FACTS, asker(), None)
    assert (first.number, second.number) == (1, 2)
    assert (second.actor, second.is_staff, second.partner) == (ASKER, True, None)
    profile = InvestorProfile.objects.get()
    assert (profile.changes, profile.updated_at) == (2, second.created_at)
    assert (profile.investor_class, profile.evidence) == ("PROFESSIONAL", "file 17")


@pytest.mark.parametrize(
    "actor",
    ["", "ghost@x.example", "plain@staff.example", "gone@x.example", "broker_one"],
)
def test_a_profile_is_decided_by_staff_with_the_right(
    anna: Account, members: None, actor: str
):
    with (
        pytest.raises(IntegrityError, match=r"the right accounts\.add_investorchange"),
        transaction.atomic(),
    ):
        investors.decide(anna.user, FACTS, actor)
    assert not InvestorProfile.objects.exists()


def test_staff_follow_an_attestation_of_the_same_user(world: World, anna: Account):
    bert = client(world, "Bert")
    attestation = investors.attest(bert, FACTS)
    for wrong in (attestation, InvestorAttestation(id=uuid.uuid4())):
        with (
            pytest.raises(IntegrityError, match="is of another user"),
            transaction.atomic(),
        ):
            investors.decide(anna.user, FACTS, asker(), wrong)
    change = investors.decide(bert.user, FACTS, asker(), attestation)
    assert change.partner == world.partner


def attest(actor: str, account: Account) -> list[Any]:
    said = [uuid.uuid4(), uuid.uuid4(), actor, account.pk, *FACTS.columns()]
    return rows_of(investors.ATTEST, said)


def test_a_partner_attests_of_an_account_of_its_own(world: World, anna: Account):
    for actor in ("", "ghost", world.observer.login):
        with (
            pytest.raises(IntegrityError, match="an account of its own"),
            transaction.atomic(),
        ):
            attest(actor, anna)
    assert len(attest(world.partner.login, anna)) == 1
    # Without the right to attest, it waits for staff.
    assert not InvestorChange.objects.exists()
    world.partner.may_attest = True
    world.partner.save()
    attest(world.partner.login, anna)
    change = InvestorChange.objects.get()
    assert (change.actor, change.is_staff) == (world.partner.login, False)
    assert change.attestation == InvestorAttestation.objects.latest("created_at")


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO accounts_investorattestation"
        " SELECT a.* FROM accounts_investorattestation a",
        "INSERT INTO accounts_investorchange SELECT c.* FROM accounts_investorchange c",
        "UPDATE accounts_investorprofile SET investor_class = 'PROFESSIONAL'",
        "SELECT binds_enter('{0}', 'me', TRUE, '{0}', NULL, NULL, 'VERIFIED', NULL,"
        " NULL, 'PROFESSIONAL', '')",
    ],
)
def test_only_the_writers_write(anna: Account, statement: str):
    investors.decide(anna.user, FACTS, asker(), investors.attest(anna, FACTS))
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
    ):
        execute(statement.format(uuid.uuid4()))
