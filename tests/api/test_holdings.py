"""What users held of all tokens, for profiles and for accounts."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models import Issuer
from issuers.register import holdings, ledger
from issuers.register.ledger import Entry, Price
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.approved import desk
from tests.characters import START, Ask, World, on
from tests.issuers.register import empty_token, people

BALANCES = """
query ($ids: [ID!]!, $date: Time) { nodes(ids: $ids) { ... on UserHolder {
  balances(date: $date) {
    issuer { slug } token { symbol } balance price value } } } }
"""
HOLDINGS = """
query ($date: Time) { accounts { nodes { user { id }
  holdings(date: $date) { issuer { slug } token { symbol } balance price value } } } }
"""


@pytest.fixture
def users(world: World) -> list[User]:
    """Three users with accounts; units of two tokens of one issuer and one of another.

    The third user never has any.
    """
    a, b, c = people(3)
    first, second = (
        ledger.holder_accounts([a.pk, b.pk, c.pk])[a.pk],
        b.ledger_account.pk,
    )
    public, private = world.public_token.pk, world.private_token.pk
    other = empty_token(world.quiet, "ARB", START).pk

    ledger.write_history(
        [public, private],
        [
            Entry(public, "MINT", 100, None, first, at=on(2)),
            Entry(private, "MINT", 7, None, first, at=on(3)),
            Price(public, 50, "ISSUE", at=on(3)),
            Entry(public, "TRANSFER", 40, first, second, at=on(4)),
            Price(public, 60, "NAV", at=on(5)),
            Entry(private, "TRANSFER", 7, first, second, at=on(6)),
        ],
        "import",
    )
    ledger.write_history(
        [other], [Entry(other, "MINT", 3, None, first, at=on(5))], "import"
    )
    for user in (a, b, c):
        Account.objects.open(world.partner, user, desk(), START)
    return [a, b, c]


def lumen(symbol, balance, price):
    return {
        "issuer": {"slug": "lumen"},
        "token": {"symbol": symbol},
        "balance": balance,
        "price": price,
        "value": balance * price,
    }


ARBOR = {
    "issuer": {"slug": "arbor"},
    "token": {"symbol": "ARB"},
    "balance": 3,
    "price": 0,
    "value": 0,
}


def balances(ask: Ask, users, date=None):
    ids = [f"UserHolder|{user.holder.pk}" for user in users]
    answer = ask(BALANCES, {"ids": ids, "date": date and date.isoformat()})
    return [node and node["balances"] for node in answer.data["nodes"]]


EXPECTED = {
    1: [[], []],
    2: [[lumen("LUM", 100, 0)], []],
    3: [[lumen("LUM", 100, 50), lumen("LUMF", 7, 0)], []],
    4: [[lumen("LUM", 60, 50), lumen("LUMF", 7, 0)], [lumen("LUM", 40, 50)]],
    7: [[lumen("LUM", 60, 60)], [lumen("LUM", 40, 60), lumen("LUMF", 7, 0)]],
}


@pytest.mark.parametrize("day", EXPECTED)
def test_tells_what_was_held_at_an_instant(day, world: World, users, partner: Ask):
    # The partner has a grant for one of the two issuers.
    found = balances(partner, users[:2], on(day))
    assert found == EXPECTED[day]
    answer = partner(HOLDINGS, {"date": (on(day)).isoformat()})
    nodes = answer.data["accounts"]["nodes"]
    by_user = {node["user"]["id"]: node["holdings"] for node in nodes}
    ids = [f"User|{user.pk}" for user in users]
    assert [by_user[id] for id in ids] == [*found, []]


def test_now_is_after_everything(world: World, users, partner: Ask):
    assert balances(partner, users[:2]) == EXPECTED[7]
    accounts = ledger.holder_accounts(user.pk for user in users)
    a, _, c = (accounts[user.pk] for user in users)
    token = world.public_token.pk
    ledger.record([Entry(token, "TRANSFER", 60, a, c)], "me")
    assert balances(partner, users)[0] == []
    assert balances(partner, users)[2] == [lumen("LUM", 60, 60)]
    assert balances(partner, users[:2], on(7)) == EXPECTED[7]


def test_a_grant_for_every_issuer_shows_all(world: World, users):
    approved_grant(world.partner)
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    [found] = balances(ask, users[:1])
    assert found == [lumen("LUM", 60, 60), ARBOR]
    without = Partner.objects.create(login="other", name="Other")
    Account.objects.open(without, users[0], desk(), START)
    ask = Ask(approved_key(without, list(Scope))[1])
    assert balances(ask, users) == [[], None, None]


def test_needs_the_scope(world: World, users):
    scopes = [scope for scope in Scope if scope != Scope.CAPTABLE_READ]
    ask = Ask(approved_key(world.partner, scopes)[1])
    answer = ask(HOLDINGS)
    assert answer.code == "FORBIDDEN"
    assert answer.errors[0]["extensions"]["requiredScope"] == "captable:read"


def test_more_balances_than_are_listed_are_refused(
    world: World, users, partner: Ask, monkeypatch
):
    monkeypatch.setattr(holdings, "MOST_BALANCES", 1)
    ids = [f"UserHolder|{user.holder.pk}" for user in users]
    answer = partner(BALANCES, {"ids": ids})
    assert answer.code == "CAPITALIZATION_TABLE_TOO_LARGE"
    assert answer.errors[0]["extensions"]["maximum"] == 1
    found = [node and len(node["balances"]) for node in answer.body["data"]["nodes"]]
    assert found == [1, None, 0]


def test_many_users_take_as_many_statements_as_one(world: World, users, partner: Ask):
    for number in range(5):
        issuer = Issuer.objects.create(
            trading_name=f"I{number}",
            slug=f"i-{number}",
            trading_location="Lyon",
            owner=world.owner,
        )
        approved_grant(world.partner, issuer)
        token = empty_token(issuer, f"T{number}", START)
        accounts = ledger.holder_accounts(user.pk for user in users)
        entries = [Entry(token.pk, "MINT", 5, None, a) for a in accounts.values()]
        ledger.record(entries, "me")

    def statements(users):
        with CaptureQueriesContext(connection) as captured:
            found = balances(partner, users)
        return len(captured), [len(held) for held in found]

    statements(users)
    one, [count] = statements(users[:1])
    assert count == 6
    assert statements(users) == (one, [6, 7, 5])


def test_costs_the_balances_that_there_are(world: World, users, partner: Ask):
    asked = "{ accounts(first: 4) { nodes { holdings { balance %s } } } }"

    def cost(more):
        answer = partner(asked % more)
        accounts = answer.data["accounts"]["nodes"]
        balances = sum(len(account["holdings"]) for account in accounts)
        return int(answer.headers["X-Query-Cost"]), len(accounts), balances

    points, accounts, balances = cost("")
    assert points == 20 + accounts + balances
    assert cost("token { symbol }") == (points + 10 + balances, accounts, balances)
