"""Holders page by page, against the plain table."""

import random
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import Scope
from accounts.keys.models import Partner
from issuers.register import captable_pages, ledger
from issuers.register.ledger import Entry, Price
from issuers.register.models import HolderBalance
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.characters import START, Ask, World
from tests.issuers.register import empty_token, new_issuer, people
from tests.threads import in_threads
from tests.waiting import PATIENCE_SECONDS

HOUR = timedelta(hours=1)
HOLDER = """userID holderName totalValue percentage user { displayName }
  userHolder { name } tokenBalances { tokenID balanceSpecificToken currentPrice
    totalTokenValue }"""
TABLE = f"""
query ($date: Time) {{ issuer(slug: "lumen") {{ capitalizationTable(date: $date) {{
  date holderCount holders {{ {HOLDER} }} }} }} }}
"""
PAGE = f"""
query ($date: Time, $first: Int, $last: Int, $after: String, $before: String) {{
  issuer(slug: "lumen") {{ capitalizationTable(date: $date) {{ date holdersConnection(
    first: $first, last: $last, after: $after, before: $before
  ) {{
    totalCount pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }}
    edges {{ cursor }} nodes {{ {HOLDER} }}
  }} }} }} }}
"""
MANY = """
query ($ids: [ID!]!, $after: String) { nodes(ids: $ids) { ... on Issuer {
  capitalizationTable { date holderCount holdersConnection(first: 2, after: $after) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { userID user { displayName } tokenBalances { token { symbol } } }
  } }
} } }
"""
HOURS = 400


@pytest.fixture
def register(world: World) -> None:
    """Two tokens that 40 people get, sell out of and get again, an entry an hour."""
    dice = random.Random(4)
    users = people(40)
    accounts = [*ledger.holder_accounts(user.pk for user in users).values()]
    own = ledger.treasury(world.listed)
    tokens = [world.public_token.pk, world.private_token.pk]
    held: dict[Any, int] = {}

    def history():
        first = START + timedelta(days=2)
        for token in tokens:
            yield Entry(token, "MINT", 10**6, None, own, at=first)
        for number in range(HOURS):
            at = first + HOUR * number
            token = dice.choice(tokens)
            if number in (100, 200, 300):
                yield Price(token, number, "NAV", at)
                continue
            having = [a for (t, a), units in held.items() if t == token and units]
            if having and dice.random() < 0.6:
                source = dice.choice(having)
                amount = dice.choice([1, held[token, source], held[token, source]])
                target = dice.choice([a for a in [own, *accounts] if a != source])
                kind = "RETURN" if target == own else "TRANSFER"
                held[token, source] -= amount
            else:
                source, target, amount = own, dice.choice(accounts), dice.choice([1, 9])
                kind = "ALLOCATE"
            if target != own:
                held[token, target] = held.get((token, target), 0) + amount
            yield Entry(token, kind, amount, source, target, at=at)

    ledger.write_history(tokens, history(), "me")


def table(ask: Ask, date=None) -> dict[str, Any]:
    answer = ask(TABLE, {"date": date and date.isoformat()})
    return answer.data["issuer"]["capitalizationTable"]


def page(ask: Ask, **variables) -> dict[str, Any]:
    return ask(PAGE, variables).data["issuer"]["capitalizationTable"]


def walk(ask: Ask, size: int, forward: bool, **variables) -> list[dict[str, Any]]:
    """All holders, by pages whose flags and totals are true to the list."""
    walked: list[dict[str, Any]] = []
    cursor = None
    while True:
        if forward:
            given = {"first": size, "after": cursor}
        else:
            given = {"last": size, "before": cursor}
        found = page(ask, **variables, **given)["holdersConnection"]
        nodes, info = found["nodes"], found["pageInfo"]
        assert info["hasPreviousPage" if forward else "hasNextPage"] == bool(walked)
        walked = [*walked, *nodes] if forward else [*nodes, *walked]
        left = found["totalCount"] - len(walked)
        assert info["hasNextPage" if forward else "hasPreviousPage"] == (left > 0)
        assert [e["cursor"] for e in found["edges"]][:1] == [
            c for c in [info["startCursor"]] if c
        ]
        if left <= 0:
            return walked
        cursor = info["endCursor" if forward else "startCursor"]


# Periods without end are read by user, or by class where much was entered since.
@pytest.mark.parametrize("few", [10_000, 50, -1])
@pytest.mark.parametrize("hour", [0, 1, 20, 99, 150, 250, 333, 399, 500])
def test_pages_are_the_table_by_user(
    hour, few, world: World, register, partner: Ask, unlimited_budgets, monkeypatch
):
    monkeypatch.setattr(captable_pages, "FEW", few)
    at = START + timedelta(days=2) + HOUR * hour
    plain = table(partner, at)
    expected = sorted(plain["holders"], key=lambda holder: holder["userID"])
    assert plain["holderCount"] == len(expected)
    for size, forward in [(1, True), (7, True), (7, False), (100, True), (100, False)]:
        assert walk(partner, size, forward, date=at.isoformat()) == expected


def test_a_walk_without_a_date_is_of_its_first_pages_table(
    world: World, register, partner: Ask, unlimited_budgets
):
    before = table(partner)
    expected = sorted(before["holders"], key=lambda holder: holder["userID"])
    first = page(partner, first=3)
    cursor = first["holdersConnection"]["pageInfo"]["endCursor"]
    walked = first["holdersConnection"]["nodes"]
    token = world.public_token.pk
    accounts = ledger.holder_accounts(user.pk for user in people(5))
    ledger.record([Entry(token, "MINT", 1, None, a) for a in accounts.values()], "me")
    ledger.set_price(token, 999, "NAV", "me")
    assert len(table(partner)["holders"]) == len(expected) + 5
    for date in (None, first["date"], "2999-01-01"):
        rest = page(partner, first=100, after=cursor, date=date)["holdersConnection"]
        assert walked + rest["nodes"] == expected
        assert rest["totalCount"] == len(expected)


WHOLE_OBJECT = """
query ($after: String, $before: String, $date: Time) { issuer(slug: "lumen") {
  capitalizationTable(date: $date) {
    date totalValue holderCount tokens { totalBalanceSpecificToken }
    holders { userID totalValue }
    holdersConnection(first: 100, after: $after, before: $before) {
      nodes { userID } } } } }
"""


def test_an_object_answers_the_instant_of_its_cursor(
    world: World, register, partner: Ask
):
    first = page(partner, first=1)
    cursor = first["holdersConnection"]["pageInfo"]["endCursor"]
    then = partner(WHOLE_OBJECT, {"date": first["date"]}).data["issuer"]
    accounts = ledger.holder_accounts(user.pk for user in people(3))
    token = world.public_token.pk
    ledger.record([Entry(token, "MINT", 1, None, a) for a in accounts.values()], "me")
    ledger.set_price(token, 999, "NAV", "me")
    for argument in ("after", "before"):
        for date in (None, "2999-01-01"):
            asked = {argument: cursor, "date": date}
            now = partner(WHOLE_OBJECT, asked).data["issuer"]
            rest = now["capitalizationTable"].pop("holdersConnection")
            expected = dict(then["capitalizationTable"])
            everybody = expected.pop("holdersConnection")["nodes"]
            assert now["capitalizationTable"] == expected
            assert rest["nodes"] == (everybody[1:] if argument == "after" else [])
    # Two pages of an object are of one table, or refused.
    other = page(partner, first=1)["holdersConnection"]["pageInfo"]["endCursor"]
    two = (
        'query ($a: String, $b: String) { issuer(slug: "lumen") { capitalizationTable {'
        " a: holdersConnection(after: $a) { nodes { userID } }"
        " b: holdersConnection(after: $b) { nodes { userID } } } } }"
    )
    assert partner(two, {"a": cursor, "b": cursor}).data
    answer = partner(two, {"a": cursor, "b": other})
    assert {e["extensions"]["code"] for e in answer.errors} == {"INVALID_CURSOR"}


def test_a_cursor_is_of_one_issuers_table(world: World, register, partner: Ask):
    at = START + timedelta(days=10)
    approved_grant(world.partner, world.quiet)
    info = page(partner, first=1, date=at.isoformat())["holdersConnection"]["pageInfo"]
    quiet = TABLE_OF_QUIET % world.quiet.slug
    sent = {"after": info["endCursor"], "date": at.isoformat()}
    assert partner(quiet, sent | {"after": None}).data
    assert partner(quiet, sent).code == "INVALID_CURSOR"


TABLE_OF_QUIET = """
query ($after: String, $date: Time) { issuer(slug: "%s") {
  capitalizationTable(date: $date) { holdersConnection(after: $after) {
    nodes { userID } } } } }
"""


def test_a_cursor_is_refused_for_another_date(world: World, register, partner: Ask):
    at = START + timedelta(days=10)
    info = page(partner, first=1, date=at.isoformat())["holdersConnection"]["pageInfo"]
    other = page(partner, first=1)["holdersConnection"]["pageInfo"]
    for variables, argument in [
        ({"after": info["endCursor"], "date": (at + HOUR).isoformat()}, "after"),
        ({"before": info["endCursor"], "date": (at - HOUR).isoformat()}, "before"),
        ({"after": info["endCursor"], "before": other["endCursor"]}, "before"),
        ({"after": "AAAA"}, "after"),
    ]:
        answer = partner(PAGE, variables)
        assert answer.code == "INVALID_CURSOR"
        assert answer.errors[0]["extensions"]["argument"] == argument


@pytest.mark.usefixtures("one_person")
@pytest.mark.django_db(transaction=True)
def test_a_walk_is_of_one_instant_while_others_write(
    world: World, partner: Ask, unlimited_budgets
):
    token = world.public_token.pk
    accounts = [*ledger.holder_accounts(u.pk for u in people(60)).values()]
    ledger.record([Entry(token, "MINT", 5, None, a) for a in accounts[:30]], "me")
    begun = threading.Barrier(3)
    rounds = 12
    walks: list[tuple[Any, Any]] = []

    def move(number):
        # All that one half has goes to the other, and back.
        mine, others = accounts[number::4], accounts[number + 2 :: 4]
        begun.wait(PATIENCE_SECONDS)
        for _ in range(rounds * 5):
            balances = current(token)
            ledger.record(
                [
                    Entry(token, "TRANSFER", balances[a], a, b)
                    for a, b in zip(mine, others, strict=True)
                    if balances.get(a)
                ],
                "me",
            )
            mine, others = others, mine

    def read():
        begun.wait(PATIENCE_SECONDS)
        for _ in range(rounds):
            first = page(partner, first=4)
            walked = [*first["holdersConnection"]["nodes"]]
            info = first["holdersConnection"]["pageInfo"]
            while info["hasNextPage"]:
                found = page(partner, first=4, after=info["endCursor"])
                walked += found["holdersConnection"]["nodes"]
                info = found["holdersConnection"]["pageInfo"]
            walks.append((first["date"], walked))

    assert in_threads(3, lambda n: read() if n == 2 else move(n)) == []
    for date, walked in walks:
        answer = partner(TABLE, {"date": date})
        plain = answer.data["issuer"]["capitalizationTable"]["holders"]
        assert walked == sorted(plain, key=lambda holder: holder["userID"])
    assert len({str(walked) for _, walked in walks}) > 1


def current(token):
    rows = HolderBalance.objects.filter(token=token).values_list("account", "balance")
    return {account: int(balance) for account, balance in rows}


def test_many_issuers_take_as_many_statements_as_one(
    world: World, register, unlimited_budgets
):
    accounts = [*ledger.holder_accounts(u.pk for u in people(4)).values()]
    for number in range(5):
        issuer = new_issuer()
        for n in range(2):
            token = empty_token(issuer, f"T{number}-{n}", START)
            entries = [Entry(token.pk, "MINT", 5, None, a) for a in accounts[n:]]
            ledger.record(entries, "me")
    everything = Partner.objects.create(login="all", name="All")
    approved_grant(everything)
    ask = Ask(approved_key(everything, list(Scope))[1])
    ids = [f"Issuer|{i.pk}" for i in type(world.listed).objects.order_by("slug")]

    def statements(ids, after=None):
        with CaptureQueriesContext(connection) as captured:
            found = ask(MANY, {"ids": ids, "after": after}).data["nodes"]
        return len(captured), [f["capitalizationTable"] for f in found]

    lumen = [f"Issuer|{world.listed.pk}"]
    statements(lumen)
    one, [first] = statements(lumen)
    all_of_them, found = statements(ids)
    assert one == all_of_them
    assert [len(f["holdersConnection"]["nodes"]) for f in found] == [0, *[2] * 6]
    assert [f["holderCount"] for f in found][1:6] == [4] * 5
    cursor = first["holdersConnection"]["pageInfo"]["endCursor"]
    later, _ = statements(lumen, cursor)
    # It is of one issuer's table: the others refuse it without a statement.
    with CaptureQueriesContext(connection) as captured:
        answer = ask(MANY, {"ids": ids, "after": cursor})
    assert len(captured) == later
    assert {e["extensions"]["code"] for e in answer.errors} == {"INVALID_CURSOR"}
    assert [n is not None for n in answer.body["data"]["nodes"]].count(True) == 1


def test_needs_scope_and_grant(world: World, register, stranger: Ask, observer: Ask):
    other = Partner.objects.create(login="other", name="Other")
    approved_grant(other, world.quiet)
    answer = Ask(approved_key(other, list(Scope))[1])(PAGE)
    assert answer.body["data"] == {"issuer": None}
    assert answer.code == "FORBIDDEN"
    assert stranger(PAGE).code == "UNAUTHENTICATED"
    assert observer(PAGE).errors[0]["extensions"]["requiredScope"] == "captable:read"


def test_has_no_limit_of_holders(world: World, register, partner: Ask, settings):
    settings.PARTNER_API_MAX_HOLDERS = 3
    found = page(partner, first=100)["holdersConnection"]
    assert len(found["nodes"]) == found["totalCount"] > 3


def test_who_sells_out_and_gets_again_in_one_batch_holds(world: World, partner: Ask):
    [first, second] = people(2)
    accounts = ledger.holder_accounts([first.pk, second.pk])
    one, other, token = accounts[first.pk], accounts[second.pk], world.public_token.pk
    ledger.record([Entry(token, "MINT", 5, None, one)], "me")
    ledger.record(
        [
            Entry(token, "TRANSFER", 5, one, other),
            Entry(token, "TRANSFER", 2, other, one),
            Entry(token, "TRANSFER", 2, one, other),
            Entry(token, "TRANSFER", 1, other, one),
        ],
        "me",
    )
    found = page(partner)["holdersConnection"]["nodes"]
    units = {
        node["user"]["displayName"]: node["tokenBalances"][0]["balanceSpecificToken"]
        for node in found
    }
    assert [units[str(user)] for user in (first, second)] == [1, 4]
