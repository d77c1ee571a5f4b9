"""Followers of a list pay for its changes, and not for the requested page."""

from typing import Any

import pytest

from accounts.keys.models import Partner
from partnerapi.gateway import throttling
from tests.characters import Ask, World
from tests.marketdata.trading.trading import as_committed, new_clients

DEBUG = {"X-Cost-Debug": "1"}
LATER = "2099-01-01T00:00:00Z"
FIELDS = "nodes { id status createdAt } pageInfo { endCursor }"
ACCOUNTS = f"query ($since: Time) {{ accounts(updatedSince: $since) {{ {FIELDS} }} }}"
EVENTS = """
query ($after: String) {
  events(first: 100, after: $after) {
    nodes { sequence account { id } } pageInfo { endCursor }
  }
}
"""
SHAREHOLDERS = """
query ($since: Time) {
  issuer(slug: "lumen") {
    legacyShareholders(first: 100, updatedSince: $since) { nodes { id } }
  }
}
"""


@pytest.fixture
def clients(world: World) -> None:
    new_clients(3, world.partner)
    as_committed()


def price(ask: Ask, query: str, **variables: Any) -> int:
    """What was charged; the answer and the budget agree."""
    answer = ask(query, variables, **DEBUG)
    assert "errors" not in answer.body
    cost = answer.body["extensions"]["cost"]
    assert cost["price"] == int(answer.headers["X-Query-Cost"])
    assert cost["remaining"] == int(answer.headers["X-RateLimit-Remaining"])
    return int(answer.headers["X-Query-Cost"])


def level(partner: Partner) -> int:
    """What the partner's budget, which does not grow here, holds."""
    return throttling.take(f"partner:{partner.pk}", 40_000, 1, 0).remaining


@pytest.mark.usefixtures("clients")
def test_an_empty_poll_costs_a_point(world: World, partner: Ask):
    assert price(partner, ACCOUNTS) == 10 + 3
    assert price(partner, ACCOUNTS, since=LATER) == 1
    assert price(partner, EVENTS, after="999999999") == 1
    # A nested page is no poll: its issuer was read.
    assert price(partner, SHAREHOLDERS, since=LATER) == 20 + 1
    poll = f'accounts(updatedSince: "{LATER}") {{ {FIELDS} }}'
    # Each page is one.
    assert price(partner, f"{{ a: {poll} b: {poll} c: {poll} }}") == 3
    assert price(partner, f"{{ a: {poll} b: accounts {{ {FIELDS} }} }}") == 20 + 3
    counted = f'{{ accounts(updatedSince: "{LATER}") {{ totalCount }} }}'
    assert price(partner, counted) == 20


def test_what_has_changed_is_paid_for(world: World, partner: Ask):
    new_clients(40, world.partner)
    as_committed()
    query = """
    query ($first: Int, $since: Time) {
      accounts(first: $first, updatedSince: $since) {
        nodes { user { displayName } }
      }
    }
    """
    # An account and its user; both fields read.
    for since in (None, "2020-01-01"):
        assert price(partner, query, first=100, since=since) == 20 + 80
        assert price(partner, query, first=40, since=since) == 20 + 80
        assert price(partner, query, first=7, since=since) == 20 + 14


@pytest.mark.usefixtures("clients")
def test_the_budget_gets_it_back(world: World, partner: Ask):
    Partner.objects.filter(pk=world.partner.pk).update(budget_refill=1)
    before = level(world.partner)
    charged = price(partner, ACCOUNTS, since=LATER)
    assert abs(before - charged - level(world.partner)) <= 1


@pytest.mark.usefixtures("clients")
def test_a_budget_is_never_fuller_than_full(world: World):
    name = f"partner:{world.partner.pk}"
    budget = throttling.take(name, 100, 1, 10)
    assert throttling.settle(name, 100, 1, -50, budget).level == 100
    assert throttling.take(name, 100, 1, 0).level == 100


@pytest.mark.usefixtures("clients")
def test_the_budget_must_hold_the_page_that_is_asked(world: World, partner: Ask):
    Partner.objects.filter(pk=world.partner.pk).update(
        budget_points=99, budget_refill=1
    )
    answer = partner(ACCOUNTS, {"since": LATER})
    assert (answer.status, answer.code) == (429, "THROTTLED")
