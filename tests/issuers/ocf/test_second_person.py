"""A register that an OCF package brings takes two people, and is that package's."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError
from django.test import Client

from accounts.approvals.models import ApprovalRequest
from accounts.people.models import User
from issuers.models import Issuer
from issuers.register.models import HolderBalance
from partnerapi.staff.lookup import link
from tests.issuers.ocf.packages import ROOT, files, issue, run
from tests.typing_in import give_password, typing

pytestmark = pytest.mark.django_db(transaction=True)


def member(name: str, role: str) -> User:
    user = User.objects.create_user(
        f"{name}@staff.example", type="INDIVIDUAL", first_name=name, is_staff=True
    )
    user.groups.add(Group.objects.get(name=role))
    give_password(user)
    return user


@pytest.fixture
def oskar() -> User:
    return member("oskar", "Operations")


@pytest.fixture
def ilse() -> User:
    return member("ilse", "Compliance")


def decided(by: User, asked: ApprovalRequest) -> str:
    client = Client()
    client.force_login(by)
    return client.post(link(asked), {"do": "approve"}, follow=True).content.decode()


def requested(package: Path, by: User) -> ApprovalRequest:
    with typing():
        said = run(package, request=True, staff=by.email)
    assert not Issuer.objects.exists()
    asked = ApprovalRequest.objects.latest("filed_at")
    assert str(asked.pk) in said
    return asked


def refused(package: Path, why: str, **options: Any) -> None:
    with typing(), pytest.raises(CommandError, match=why):
        run(package, **options)
    assert not Issuer.objects.exists()


def test_two_people_import_a_register(write, oskar: User, ilse: User):
    package = write(files(ROOT))
    refused(package, "needs an approval.*use --request to request approval")
    refused(package, "--request needs --staff", request=True)
    asked = requested(package, oskar)
    assert asked.title == "Register of Nova SAS with 2 tokens, from package"
    client = Client()
    client.force_login(ilse)
    shown = client.get(link(asked)).content.decode()
    assert re.search(r"Units of NOVA-CS.*?<bdi>0</bdi>.*?<bdi>100</bdi>", shown, re.S)
    refused(package, "approval", approval=asked.pk)
    assert "cannot approve your own request" in decided(oskar, asked)
    assert "imports it with manage.py import ocf" in decided(ilse, asked)
    assert not Issuer.objects.exists()
    other = write(files(issue("s1", "ann", "101")))
    refused(other, "needs an approval", approval=asked.pk)
    package = write(files(ROOT))
    run(package, approval=asked.pk)
    assert HolderBalance.objects.get().balance == 100
    assert asked.outcome.is_executed
    assert "0 changes" in run(package)


def test_support_requests_no_register(write, ilse: User):
    package = write(files(ROOT))
    ana = member("ana", "Support")
    refused(package, "may not|not ask|right", request=True, staff=ana.email)
    assert not ApprovalRequest.objects.exists()


def test_a_rejected_register_stays_out(write, oskar: User, ilse: User):
    package = write(files(ROOT))
    asked = requested(package, oskar)
    client = Client()
    client.force_login(ilse)
    client.post(link(asked), {"do": "refuse", "reason": "No such company"})
    refused(package, "needs an approval", approval=asked.pk)
