"""Holders and tokens are bound by staff with the right, who asked or who decided."""

from collections.abc import Callable

import pytest
from django.db import IntegrityError, ProgrammingError, transaction

from accounts.people.models import User
from issuers.compliance import restrictions, rules
from issuers.compliance.holders import approve_holder, end_approval
from issuers.compliance.models import ApprovedHolder, Restriction, TokenRule
from issuers.compliance.restrictions import Terms
from issuers.models import Token
from partnerapi.core.database import execute
from partnerapi.sandbox.data.approvals import (
    ASKER,
    DECIDER,
    carry_out_requests,
    colleague,
    file_and_approve,
)
from tests.approved import approved_rule, asker
from tests.characters import World
from tests.issuers.register import people
from tests.owner import as_committed, tamper

WITHOUT_RIGHT = "operations@staff.example"
GONE = "gone@staff.example"


@pytest.fixture
def holder(world: World) -> User:
    for email, is_active in ((WITHOUT_RIGHT, True), (GONE, False)):
        User.objects.create_user(
            email,
            type=User.Type.INDIVIDUAL,
            first_name="A",
            last_name="Z",
            is_staff=True,
            is_active=is_active,
        )
    person = User.objects.get(email=GONE)
    person.user_permissions.set(colleague(ASKER).user_permissions.all())
    as_committed()
    return people(1)[0]


Act = Callable[[Token, User, str], object]
BY_ONE: dict[str, Act] = {
    "freeze": lambda token, user, actor: restrictions.restrict(
        user, Terms("FREEZE", "a court"), actor
    ),
    "approval": lambda token, user, actor: approve_holder(token, user, None, actor),
    "end of an approval": lambda token, user, actor: end_approval(
        approve_holder(token, user, None, asker()), user, actor
    ),
}


@pytest.mark.parametrize("actor", ["", "ghost@staff.example", WITHOUT_RIGHT, GONE])
@pytest.mark.parametrize("act", BY_ONE.values(), ids=BY_ONE)
def test_who_binds_a_holder_has_the_right(
    world: World, holder: User, act: Act, actor: str
):
    with (
        pytest.raises(IntegrityError, match="of staff with the right issuers"),
        transaction.atomic(),
    ):
        act(world.public_token, holder, actor)
    act(world.public_token, holder, asker())


def test_a_freeze_is_lifted_by_those_who_asked(world: World, holder: User):
    made = restrictions.restrict(holder, Terms("FREEZE", "a court"), asker())
    content = restrictions.lifting_content(made)
    with (
        pytest.raises(IntegrityError, match="needs an approval"),
        transaction.atomic(),
    ):
        restrictions.end(made, ASKER)
    requests = file_and_approve("LIFTING", content)
    for actor in ("", "ghost@staff.example", WITHOUT_RIGHT):
        with (
            pytest.raises(Exception, match="filed its approval"),
            carry_out_requests(requests),
        ):
            restrictions.end(made, actor)
    with carry_out_requests(requests):
        restrictions.end(made, DECIDER)
    with (
        pytest.raises(IntegrityError, match="is ended once"),
        transaction.atomic(),
    ):
        restrictions.end(made, ASKER)
    kept = Restriction.objects.get()
    assert (kept.ended_by, kept.ended_at) == (DECIDER, made.ended_at)


def test_a_rule_is_of_those_who_asked_and_replaces_what_it_names(world: World):
    token = world.public_token
    content = rules.rule_content(token, "MAX_HOLDERS", {"holders": 2}, "why")
    requests = file_and_approve("RULE", content, content)
    with (
        pytest.raises(Exception, match="filed its approval"),
        carry_out_requests(requests),
    ):
        rules.set_rule(token, "MAX_HOLDERS", {"holders": 2}, "why", "ghost@x.example")
    for parameters, reason in (({"holders": 3}, "why"), ({"holders": 2}, "because")):
        with (
            pytest.raises(Exception, match="needs an approval"),
            carry_out_requests(requests),
        ):
            rules.set_rule(token, "MAX_HOLDERS", parameters, reason, ASKER)
    with carry_out_requests(requests[:1]):
        rules.set_rule(token, "MAX_HOLDERS", {"holders": 2}, "why", ASKER)
    # The other one would replace no rule.
    with (
        pytest.raises(Exception, match="needs an approval"),
        carry_out_requests(requests[1:]),
    ):
        rules.set_rule(token, "MAX_HOLDERS", {"holders": 2}, "why", ASKER)
    made = TokenRule.objects.get()
    assert (made.created_by, made.approved_by) == (ASKER, DECIDER)


def test_where_one_person_may_a_rule_is_of_staff_that_may_ask(
    world: World, holder: User
):
    tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
    for actor in ("", WITHOUT_RIGHT, GONE):
        with (
            pytest.raises(IntegrityError, match="filed its approval"),
            transaction.atomic(),
        ):
            rules.set_rule(world.public_token, "TRANSFERS_PAUSED", {}, "why", actor)
    made = rules.set_rule(world.public_token, "TRANSFERS_PAUSED", {}, "why", asker())
    assert made is not None
    assert made.approved_by == ""


def test_a_renewed_approval_ends_the_one_before(world: World, holder: User):
    first = approve_holder(world.public_token, holder, None, asker())
    second = approve_holder(world.public_token, holder, None, asker())
    first.refresh_from_db()
    assert (first.ended_by, first.ended_at) == (ASKER, second.created_at)
    assert ApprovedHolder.objects.get(ended_at=None) == second


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO issuers_restriction SELECT r.* FROM issuers_restriction r",
        "INSERT INTO issuers_tokenrule SELECT r.* FROM issuers_tokenrule r",
        "INSERT INTO issuers_approvedholder SELECT h.* FROM issuers_approvedholder h",
        "UPDATE issuers_approvedholder SET ended_by = 'me'",
    ],
)
def test_only_the_writers_write(world: World, holder: User, statement: str):
    restrictions.restrict(holder, Terms("FREEZE", "a court"), asker())
    approve_holder(world.public_token, holder, None, asker())
    approved_rule(world.public_token, "TRANSFERS_PAUSED", {})
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
    ):
        execute(statement)
