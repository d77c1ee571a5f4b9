"""The commands of compliance, as an operator types them."""

import io
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.approvals.four_eyes import decide
from accounts.approvals.models import ApprovalRequest
from accounts.people.models import User
from issuers.compliance.models import Restriction, TokenRule
from issuers.register import ledger
from issuers.register.ledger import Entry
from partnerapi.sandbox.data.approvals import ASKER, DECIDER, colleague
from tests.approved import approved_record
from tests.characters import World
from tests.typing_in import give_password, typing

WHY = ("--reason", "Because")


def run(name: str, *arguments: Any) -> str:
    output = io.StringIO()
    with typing():
        call_command(name, *map(str, arguments), *WHY, "--staff", ASKER, stdout=output)
    return output.getvalue().strip()


def approved_in(said: str) -> str:
    """Approve, as a second person, the request that a command has filed."""
    found = re.match(r"Request (\S+):", said)
    assert found, said
    request = ApprovalRequest.objects.get(pk=found[1])
    decide(request, colleague(DECIDER), is_approved=True)
    return found[1]


@pytest.fixture
def bo(world: World) -> User:
    give_password(colleague(ASKER))
    user = User.objects.create(
        type="INDIVIDUAL", first_name="Bo", last_name="Berg", email="bo@example.com"
    )
    account = ledger.holder_accounts([user.pk])[user.pk]
    token = world.public_token.pk
    approved_record([Entry(token, "MINT", 100, None, account)], "me")
    return user


def test_a_rule_is_asked_for_approved_and_ended(world: World, bo: User):
    rule = ("restrict", "rule", "LUM", "COUNTRIES", "--refused", "us,ca")
    expected = (
        "LUM COUNTRIES: Not for tax residents of US, CA. Holders who would not "
        "comply: 1 of 1: Bo Berg."
    )
    assert run(*rule, "--dry-run").startswith(expected)
    assert not TokenRule.objects.exists()
    approval = approved_in(run(*rule, "--request"))
    assert run(*rule, "--approval", approval) == expected
    made = TokenRule.objects.get()
    assert (made.created_by, made.approved_by) == (ASKER, DECIDER)
    assert made.parameters == {"refused": ["US", "CA"]}
    end = ("restrict", "rule", "LUM", "COUNTRIES", "--end")
    approval = approved_in(run(*end, "--request"))
    assert run(*end, "--approval", approval) == "LUM COUNTRIES: The rule ends."
    made.refresh_from_db()
    assert made.ended_by == ASKER
    for wrong in (
        end,
        ("restrict", "rule", "LUM", "MAX_HOLDERS"),
        ("restrict", "rule", "LUM", "MAX_HOLDERS", "--units", "5"),
        ("restrict", "rule", "LUM", "MAX_HOLDERS", "--holders", "0"),
    ):
        with pytest.raises(CommandError):
            run(*wrong)


def test_a_holder_is_frozen_by_one_and_freed_by_two(bo: User):
    assert "dry run" in run("restrict", "freeze", "bo@example.com", "--dry-run")
    assert not Restriction.objects.exists()
    said = run("restrict", "freeze", "bo@example.com", "--token", "LUM")
    assert said.startswith("Freeze of Bo Berg, all units of LUM: restriction ")
    frozen = Restriction.objects.get()
    with pytest.raises(CommandError, match=r"SENDER_FROZEN.*Nothing was written"):
        run(
            "ledger",
            "transfer",
            "LUM",
            1,
            "--from",
            "bo@example.com",
            "--to",
            "treasury",
        )
    approval = approved_in(run("restrict", "lift", frozen.pk, "--request"))
    lifted = run("restrict", "lift", frozen.pk, "--approval", approval)
    assert lifted.startswith("Lifted: Freeze of Bo Berg")
    run("ledger", "transfer", "LUM", 1, "--from", "bo@example.com", "--to", "treasury")
    with pytest.raises(CommandError, match="is no active restriction"):
        run("restrict", "lift", frozen.pk)


def test_units_are_locked_and_pledged(bo: User):
    run("restrict", "lock", "LUM", "bo@example.com", "60", "--until", "2099-01-01")
    run(
        "restrict",
        "lock",
        "LUM",
        "bo@example.com",
        "30",
        "--pledged-to",
        "Bank of Lyon",
    )
    with pytest.raises(CommandError, match=r"10 can be moved. \(UNITS_LOCKED\)"):
        run(
            "ledger",
            "transfer",
            "LUM",
            11,
            "--from",
            "bo@example.com",
            "--to",
            "treasury",
        )
    run("ledger", "transfer", "LUM", 10, "--from", "bo@example.com", "--to", "treasury")
    with pytest.raises(CommandError, match="has passed"):
        run("restrict", "lock", "LUM", "bo@example.com", "all", "--until", "2020-01-01")
