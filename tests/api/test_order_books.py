from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import Scope
from issuers.models import Issuer, Token
from marketdata.books.log import Deal, Message, record
from marketdata.books.orderbook import ASK, BID, Change
from marketdata.models import OrderBookHead
from partnerapi.core.times import to_rfc3339
from partnerapi.sandbox.data.approvals import approved_key
from tests.characters import START, Ask, World, page_of

BOOK = "sequence at bids { price quantity } asks { price quantity }"
ONE = f"query ($id: ID!, $depth: Int) {{ token(id: $id) {{ orderBook(depth: $depth) {{ {BOOK} }} }} }}"  # noqa: E501
ACTOR = "market@example.com"


def traded(issuer: Issuer, symbol: str) -> Token:
    return Token.objects.create(
        issuer=issuer,
        name="Traded",
        symbol=symbol,
        market_type=Token.MarketType.SECONDARY_MARKET,
        created_at=START + timedelta(days=7),
    )


def levels(best_bid: int, count: int) -> Message:
    """Bids of 1, 2, 3 … units from the best bid down, asks of 1, 2, 3 … above it."""
    return Message(
        [
            change
            for n in range(count)
            for change in (
                Change(ASK, best_bid + 1 + n, n + 1),
                Change(BID, best_bid - n, n + 1),
            )
        ]
    )


def shown(best_bid: int, depth: int) -> dict[str, list[dict[str, int]]]:
    """What `levels` leaves, as the API answers it."""
    return {
        side: [{"price": first + n * step, "quantity": n + 1} for n in range(depth)]
        for side, first, step in (("bids", best_bid, -1), ("asks", best_bid + 1, 1))
    }


@pytest.fixture
def token(world: World) -> Token:
    return traded(world.listed, "TRD")


def ask_one(ask: Ask, token: Token, **variables: int | None) -> dict | None:
    return ask(ONE, {"id": f"Token|{token.pk}", **variables}).data["token"]["orderBook"]


def test_the_best_levels_of_both_sides(token: Token, partner: Ask):
    recorded = record(token.pk, [levels(1000, 12)], ACTOR)
    at = to_rfc3339(recorded.at)
    assert ask_one(partner, token, depth=2) == {
        "sequence": 24,
        "at": at,
        "bids": [{"price": 1000, "quantity": 1}, {"price": 999, "quantity": 2}],
        "asks": [{"price": 1001, "quantity": 1}, {"price": 1002, "quantity": 2}],
    }
    for depth, expected in ((1, 1), (12, 12), (50, 12), (None, 10)):
        book = ask_one(partner, token, depth=depth)
        assert book == {"sequence": 24, "at": at, **shown(1000, expected)}
    asked = f"query ($id: ID!) {{ token(id: $id) {{ orderBook {{ {BOOK} }} }} }}"
    answer = partner(asked, {"id": f"Token|{token.pk}"})
    assert answer.data["token"]["orderBook"] == {
        "sequence": 24,
        "at": at,
        **shown(1000, 10),
    }


def test_follows_changes_and_trades(token: Token, partner: Ask):
    record(token.pk, [levels(1000, 1)], ACTOR)
    taken = Message([Change(ASK, 1001, 0), Change(ASK, 1007, 4)], [Deal(1001, 1)])
    recorded = record(token.pk, [taken], ACTOR)
    assert ask_one(partner, token) == {
        "sequence": 4,
        "at": to_rfc3339(recorded.at),
        "bids": [{"price": 1000, "quantity": 1}],
        "asks": [{"price": 1007, "quantity": 4}],
    }


def test_a_side_may_be_empty(token: Token, partner: Ask):
    record(token.pk, [Message([Change(BID, 5, 2**63 - 1)])], ACTOR)
    book = ask_one(partner, token)
    assert book is not None
    assert book["bids"] == [{"price": 5, "quantity": 2**63 - 1}]
    assert book["asks"] == []


def test_a_book_that_never_moved_is_empty_since_the_token_was_registered(
    token: Token, partner: Ask
):
    assert ask_one(partner, token) == {
        "sequence": 0,
        "at": "2024-01-08T12:00:00Z",
        "bids": [],
        "asks": [],
    }


def test_the_primary_market_has_none(world: World, partner: Ask):
    assert ask_one(partner, world.public_token) is None
    Token.objects.filter(pk=world.public_token.pk).update(
        market_type=Token.MarketType.SECONDARY_MARKET
    )
    book = ask_one(partner, world.public_token)
    assert book is not None
    assert book["sequence"] == 0


@pytest.mark.parametrize("depth", [0, -1, 51, 2**31 - 1])
def test_refuses_other_depths(depth: int, token: Token, partner: Ask):
    answer = partner(ONE, {"id": f"Token|{token.pk}", "depth": depth})
    assert answer.body["data"] == {"token": {"orderBook": None}}
    [error] = answer.errors
    assert error["path"] == ["token", "orderBook"]
    assert error["message"] == f"`depth` is {depth}; pass 1 to 50."
    assert error["extensions"] == {
        "code": "BAD_USER_INPUT",
        "argument": "depth",
        "maximum": 50,
        "docUrl": page_of("BAD_USER_INPUT"),
        "requestId": answer.headers["X-Request-Id"],
    }


def test_needs_a_key_with_the_scope(
    world: World, token: Token, stranger: Ask, observer: Ask
):
    record(token.pk, [levels(1000, 1)], ACTOR)
    variables = {"id": f"Token|{token.pk}"}
    answer = stranger(ONE, variables)
    assert answer.code == "UNAUTHENTICATED"
    assert answer.body["data"] == {"token": {"orderBook": None}}

    answer = observer(ONE, variables)
    assert answer.code == "FORBIDDEN"
    assert answer.errors[0]["extensions"]["requiredScope"] == "marketdata:read"
    assert answer.body["data"] == {"token": {"orderBook": None}}

    only = Ask(approved_key(world.observer, [Scope.MARKETDATA_READ])[1])
    assert only(ONE, variables).data["token"]["orderBook"]["sequence"] == 2


def test_a_private_token_has_its_book_for_those_with_the_grant(
    world: World, token: Token, partner: Ask
):
    Token.objects.filter(pk=token.pk).update(visibility=Token.Visibility.PRIVATE)
    record(token.pk, [levels(1000, 1)], ACTOR)
    book = ask_one(partner, token)
    assert book is not None
    assert book["sequence"] == 2
    blind = Ask(approved_key(world.observer, list(Scope))[1])
    answer = blind(ONE, {"id": f"Token|{token.pk}"})
    assert answer.body == {"data": {"token": None}}


@pytest.mark.parametrize("count", [1, 50])
def test_any_number_of_books_takes_one_statement(
    count: int, world: World, partner: Ask
):
    tokens = [traded(world.listed, f"T{number}") for number in range(count)]
    for number, token in enumerate(tokens, 1):
        record(token.pk, [levels(1000 * number, 3)], ACTOR)
    ids = [f"Token|{token.pk}" for token in tokens]
    asked = f"""
        query ($ids: [ID!]!) {{
          nodes(ids: $ids) {{ ... on Token {{ orderBook(depth: 2) {{ {BOOK} }} }} }}
        }}
    """
    partner(asked, {"ids": ids})
    with CaptureQueriesContext(connection) as queries:
        answer = partner(asked, {"ids": [*ids, ids[0], f"Token|{world.listed.pk}"]})
    assert sum("orderbookhead" in query["sql"] for query in queries) == 1
    *books, again, missing = [
        node and node["orderBook"] for node in answer.data["nodes"]
    ]
    assert missing is None
    assert again == books[0]
    at = dict(OrderBookHead.objects.values_list("token_id", "last_at"))
    assert books == [
        {"sequence": 6, "at": to_rfc3339(at[token.pk]), **shown(1000 * number, 2)}
        for number, token in enumerate(tokens, 1)
    ]


def test_no_token_no_statement(world: World, partner: Ask):
    with CaptureQueriesContext(connection) as queries:
        answer = partner(ONE, {"id": f"Token|{world.listed.pk}"})
    assert answer.data == {"token": None}
    assert not any("orderbookhead" in query["sql"] for query in queries)
