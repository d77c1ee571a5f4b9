"""Capitalization tables as partners read them."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import Scope
from accounts.keys.models import Partner
from issuers.register import ledger
from issuers.register.ledger import Entry, Price
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.characters import START, Ask, World, on
from tests.issuers.register import empty_token, people

WHOLE = """
query ($date: Time) { issuer(slug: "lumen") { capitalizationTable(date: $date) {
  date totalValue
  holders { user { id displayName } userID userHolder { id name user { id } }
    totalValue percentage
    tokenBalances { tokenID token { symbol visibility } balanceSpecificToken
      currentPrice totalTokenValue } }
  tokens { tokenID token { symbol } currentPrice totalBalanceSpecificToken
    totalBalancesSupply totalTokenValue totalSupplyValue }
} } }
"""
TOTALS = """
query ($date: Time) { issuer(slug: "lumen") { capitalizationTable(date: $date) {
  date totalValue tokens { totalBalanceSpecificToken totalBalancesSupply }
} } }
"""


@pytest.fixture
def register(world: World):
    """Two tokens, three people and the treasury, over ten days."""
    users = people(3)

    accounts = ledger.holder_accounts(user.pk for user in users)
    a, b, c = (accounts[user.pk] for user in users)
    own = ledger.treasury(world.listed)
    ordinary, founders = world.public_token.pk, world.private_token.pk

    ledger.write_history(
        [ordinary, founders],
        [
            Entry(ordinary, "MINT", 1000, None, own, at=on(1)),
            Entry(ordinary, "ALLOCATE", 300, own, a, at=on(2)),
            Price(ordinary, 50, "ISSUE", at=on(2)),
            Entry(ordinary, "ALLOCATE", 100, own, b, at=on(3)),
            Entry(founders, "MINT", 7, None, b, at=on(4)),
            Price(founders, 3000, "NAV", at=on(5)),
            Entry(ordinary, "TRANSFER", 300, a, c, at=on(6)),
            Price(ordinary, 60, "TRADE", at=on(7)),
            Entry(ordinary, "RETURN", 100, b, own, at=on(8)),
            Entry(ordinary, "BURN", 50, own, None, at=on(9)),
        ],
        "import",
    )
    return users


def table(ask: Ask, date: datetime | str | None, query: str = WHOLE):
    if isinstance(date, datetime):
        date = date.isoformat()
    answer = ask(query, {"date": date})
    return answer.data["issuer"]["capitalizationTable"]


def test_tells_who_holds_what_at_an_instant(world: World, register, partner: Ask):
    a, b, _ = register
    found = table(partner, on(5))
    assert found["date"] == "2024-01-06T12:00:00Z"
    assert found["totalValue"] == 300 * 50 + 100 * 50 + 7 * 3000
    ordinary = f"Token|{world.public_token.pk}"
    founders = f"Token|{world.private_token.pk}"
    assert found["tokens"] == [
        {
            "tokenID": ordinary,
            "token": {"symbol": "LUM"},
            "currentPrice": 50,
            "totalBalanceSpecificToken": 400,
            "totalBalancesSupply": 1000,
            "totalTokenValue": 20_000,
            "totalSupplyValue": 50_000,
        },
        {
            "tokenID": founders,
            "token": {"symbol": "LUMF"},
            "currentPrice": 3000,
            "totalBalanceSpecificToken": 7,
            "totalBalancesSupply": 7,
            "totalTokenValue": 21_000,
            "totalSupplyValue": 21_000,
        },
    ]

    def balance(token, symbol, visibility, units, price):
        return {
            "tokenID": token,
            "token": {"symbol": symbol, "visibility": visibility},
            "balanceSpecificToken": units,
            "currentPrice": price,
            "totalTokenValue": units * price,
        }

    def holder(user, value, *balances):
        profile = {
            "id": f"UserHolder|{user.holder.pk}",
            "name": str(user),
            "user": {"id": f"User|{user.pk}"},
        }
        return {
            "user": {"id": f"User|{user.pk}", "displayName": str(user)},
            "userID": f"User|{user.pk}",
            "userHolder": profile,
            "totalValue": value,
            "percentage": value / 41_000,
            "tokenBalances": list(balances),
        }

    assert found["holders"] == [
        holder(
            b,
            26_000,
            balance(ordinary, "LUM", "PUBLIC", 100, 50),
            balance(founders, "LUMF", "PRIVATE", 7, 3000),
        ),
        holder(a, 15_000, balance(ordinary, "LUM", "PUBLIC", 300, 50)),
    ]


def test_every_instant_keeps_its_answer(
    world: World, register, partner: Ask, unlimited_budgets
):
    instants = [on(n / 2) for n in range(-2, 24)]
    before = [table(partner, at) for at in instants]
    totals = [found["totalValue"] for found in before]
    ordinary = [0] * 6 + [15_000] * 2 + [20_000] * 8 + [24_000] * 2 + [18_000] * 8
    founders = [0] * 12 + [21_000] * 14
    assert totals == [x + y for x, y in zip(ordinary, founders, strict=True)]
    assert len({str(found["holders"]) for found in before}) == 8

    accounts = ledger.holder_accounts(user.pk for user in register)
    a, _, c = (accounts[user.pk] for user in register)
    ledger.record([Entry(world.public_token.pk, "TRANSFER", 300, c, a)], "me")
    ledger.set_price(world.public_token.pk, 1, "MANUAL", "me")
    assert [table(partner, at) for at in instants] == before


def test_now_is_told_as_an_instant_that_answers_again(register, partner: Ask):
    now = table(partner, None)
    assert now["totalValue"] == 300 * 60 + 7 * 3000
    assert table(partner, now["date"]) == now
    future = table(partner, "2999-01-01")
    assert now["date"] < future["date"] < "2999"
    assert {**future, "date": now["date"]} == now


def test_before_everything_there_is_nothing(world: World, register, partner: Ask):
    assert table(partner, "0001-01-01") == {
        "date": "0001-01-01T00:00:00Z",
        "totalValue": 0,
        "holders": [],
        "tokens": [],
    }
    empty = table(partner, START, TOTALS)
    assert empty["totalValue"] == 0
    assert empty["tokens"] == [
        {"totalBalanceSpecificToken": 0, "totalBalancesSupply": 0}
    ]


def test_without_a_price_shares_are_of_units(world: World, partner: Ask):
    a, b = people(2)
    accounts = ledger.holder_accounts([a.pk, b.pk])
    token = world.public_token.pk
    ledger.record(
        [
            Entry(token, "MINT", 1, None, accounts[a.pk]),
            Entry(token, "MINT", 2, None, accounts[b.pk]),
        ],
        "me",
    )
    found = table(partner, None)
    assert found["totalValue"] == 0
    shares = [(h["userID"], h["percentage"]) for h in found["holders"]]
    # By value, which is 0 for both, then by user.
    assert shares == [(f"User|{a.pk}", 1 / 3), (f"User|{b.pk}", 2 / 3)]


def test_pending_legacy_shares_are_not_tokens(world: World, partner: Ask):
    assert world.listed.legacy_shareholders.count() == 7
    assert table(partner, None)["holders"] == []


@pytest.mark.parametrize(
    ("date", "part"),
    [
        ("2024-01-06T12:00:00", "it has no offset"),
        ("yesterday", "expected RFC 3339"),
        ("2024-02-30", "Time cannot represent"),
    ],
)
def test_refuses_what_is_no_instant(date, part, world: World, partner: Ask):
    answer = partner(WHOLE, {"date": date})
    assert answer.code == "BAD_USER_INPUT"
    assert part in answer.errors[0]["message"]
    assert "data" not in answer.body


def test_needs_scope_and_grant(world: World, stranger: Ask, observer: Ask):
    answer = stranger(TOTALS)
    assert (answer.code, answer.body["data"]) == ("UNAUTHENTICATED", {"issuer": None})
    assert observer(TOTALS).errors[0]["extensions"]["requiredScope"] == "captable:read"
    other = Partner.objects.create(login="other", name="Other")
    approved_grant(other, world.quiet)
    answer = Ask(approved_key(other, list(Scope))[1])(TOTALS)
    assert answer.body["data"] == {"issuer": None}
    assert answer.code == "FORBIDDEN"
    required = answer.errors[0]["extensions"]["requiredGrant"]
    assert required == f"Issuer|{world.listed.pk}"


def test_people_of_a_register_are_seen_by_id_with_scope_and_grant(
    world: World, register, partner: Ask, observer: Ask
):
    a, *_ = register
    ids = [f"User|{a.pk}", f"UserHolder|{a.holder.pk}"]
    asked = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    # Whoever has left the register stands in its past.
    assert partner(asked, {"ids": ids}).data["nodes"] == [{"id": id} for id in ids]
    assert observer(asked, {"ids": ids}).data["nodes"] == [None, None]


def test_too_many_holders_are_refused_before_they_are_read(
    world: World, register, partner: Ask, settings
):
    at = on(5)
    settings.PARTNER_API_MAX_HOLDERS = 3
    assert len(table(partner, at)["holders"]) == 2
    settings.PARTNER_API_MAX_HOLDERS = 2
    with CaptureQueriesContext(connection) as captured:
        answer = partner(WHOLE, {"date": at.isoformat()})
    assert not [q for q in captured if "holderbalance" in q["sql"].lower()]
    assert answer.body["data"] == {"issuer": None}
    assert answer.code == "CAPITALIZATION_TABLE_TOO_LARGE"
    assert answer.errors[0]["extensions"]["maximum"] == 2
    assert table(partner, at, TOTALS)["totalValue"] == 41_000


def test_a_value_above_uint64_is_refused_never_wrapped(world: World, partner: Ask):
    [user] = people(1)
    [account] = ledger.holder_accounts([user.pk]).values()
    largest = 2**63 - 1
    for number in range(3):
        token = empty_token(world.listed, f"BIG{number}", START)
        ledger.record([Entry(token.pk, "MINT", largest, None, account)], "me")
        ledger.set_price(token.pk, 1, "NAV", "me")
        answer = partner(TOTALS)
        if number < 2:
            total = answer.data["issuer"]["capitalizationTable"]["totalValue"]
            assert total == largest * (number + 1)
    assert answer.code == "CAPITALIZATION_TABLE_TOO_LARGE"
    assert answer.errors[0]["path"] == ["issuer", "capitalizationTable", "totalValue"]
    asked = WHOLE.replace("date totalValue\n", "date\n")
    answer = partner(asked)
    assert answer.code == "CAPITALIZATION_TABLE_TOO_LARGE"
    assert answer.errors[0]["path"][-1] == "totalValue"
    asked = asked.replace("totalValue percentage", "percentage")
    assert len(partner(asked).data["issuer"]["capitalizationTable"]["tokens"]) == 5


def test_ten_issuers_take_as_many_statements_as_one(
    world: World, register, unlimited_budgets
):
    from issuers.models import Issuer

    users = ledger.holder_accounts(user.pk for user in register)
    for number in range(9):
        issuer = Issuer.objects.create(
            trading_name=f"I{number}",
            slug=f"i-{number}",
            trading_location="Lyon",
            owner=world.owner,
        )
        for n in range(2):
            token = empty_token(issuer, f"T{number}-{n}", START)
            ledger.record(
                [
                    Entry(token.pk, "MINT", 5, None, account)
                    for account in users.values()
                ],
                "me",
            )
    everything = Partner.objects.create(login="all", name="All")
    approved_grant(everything)
    ask = Ask(approved_key(everything, list(Scope))[1])
    asked = (
        WHOLE.replace(
            "query ($date: Time) { issuer(",
            "query ($date: Time, $ids: [ID!]!) { nodes(ids: $ids) { ... on Issuer",
        ).replace('slug: "lumen") ', "")
        + " }"
    )
    ids = [f"Issuer|{issuer.pk}" for issuer in Issuer.objects.order_by("slug")]

    def statements(ids):
        with CaptureQueriesContext(connection) as captured:
            found = ask(asked, {"ids": ids}).data["nodes"]
        return len(captured), found

    lumen = [f"Issuer|{world.listed.pk}"]
    statements(lumen)
    one, _ = statements(lumen)
    eleven, found = statements(ids)
    assert len(ids) == 11
    assert one == eleven
    assert [len(f["capitalizationTable"]["holders"]) for f in found] == [0, *[3] * 9, 2]


def test_holders_cost_their_number(world: World, partner: Ask):
    accounts = ledger.holder_accounts(user.pk for user in people(3)).values()
    entries = [
        Entry(world.public_token.pk, "MINT", 1, None, to, at=on(1)) for to in accounts
    ]
    ledger.write_history([world.public_token.pk], entries, "import")

    def cost(selected, date=""):
        answer = partner(
            f'{{ issuer(slug: "lumen") {{ capitalizationTable{date} {{ {selected} }} '
            "} }"
        )
        assert answer.data
        return int(answer.headers["X-Query-Cost"])

    # The issuer and its table are read, and are objects.
    assert cost("date") == 22
    assert cost("date", '(date: "2024-01-01T00:00:00Z")') == 22
    assert cost("tokens { tokenID }") == 22 + 2
    assert cost("holderCount") == 22 + 10
    assert cost("holders { userID }") == 22 + 10 + 3
    assert cost("holdersConnection { totalCount nodes { userID } }") == 22 + 20 + 3
    assert cost("holders { user { id } tokenBalances { tokenID } }") == 22 + 20 + 9


def test_token_price_and_supply_need_the_scope(
    world: World, register, partner: Ask, stranger: Ask
):
    asked = (
        '{ issuer(slug: "lumen") { tokens { nodes { symbol currentPrice totalSupply } '
        "} } }"
    )
    assert partner(asked).data["issuer"]["tokens"]["nodes"] == [
        {"symbol": "LUM", "currentPrice": 60, "totalSupply": 950},
        {"symbol": "LUMF", "currentPrice": 3000, "totalSupply": 7},
    ]
    answer = stranger(asked)
    assert {error["extensions"]["code"] for error in answer.errors} == {
        "UNAUTHENTICATED"
    }
    empty = empty_token(world.quiet, "NONE", START)
    asked = "query ($id: ID!) { token(id: $id) { currentPrice totalSupply } }"
    answer = partner(asked, {"id": f"Token|{empty.pk}"})
    assert answer.data["token"] == {"currentPrice": None, "totalSupply": 0}


def test_is_ordered_by_value_then_user(world: World, partner: Ask):
    users = people(60)
    accounts = ledger.holder_accounts(user.pk for user in users)
    token = world.public_token.pk
    ledger.record(
        [
            Entry(token, "MINT", 1 + n % 7, None, accounts[user.pk])
            for n, user in enumerate(users)
        ],
        "me",
    )
    ledger.set_price(token, 12, "MANUAL", "me")
    holders = table(partner, None)["holders"]
    keys = [(-holder["totalValue"], holder["userID"]) for holder in holders]
    assert all(one < other for one, other in pairwise(keys))
    assert len(keys) == 60
    assert abs(sum(holder["percentage"] for holder in holders) - 1) < 1e-9
    assert datetime.now(UTC) > START
