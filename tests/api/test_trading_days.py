"""A token's trading days as partners read them."""

import pytest

from issuers.models import Token
from tests.characters import Ask, World
from tests.marketdata.books.tapes import over_the_tape, tape

DAYS = """
query ($id: ID!, $first: Int, $last: Int, $before: String) { token(id: $id) {
  day { date close }
  days(first: $first, last: $last, before: $before) {
    totalCount pageInfo { hasPreviousPage startCursor }
    nodes { date open high low close volume value vwap trades }
  }
} }
"""


@pytest.fixture
def acme(world: World) -> Token:
    return Token.objects.create(
        issuer=world.listed,
        name="Traded",
        symbol="ACME",
        market_type=Token.MarketType.SECONDARY_MARKET,
    )


def test_days_are_read_over_graphql(acme: Token, partner: Ask):
    tape(acme, 60)
    wanted = [
        {
            "date": one.day.isoformat(),
            "open": one.open,
            "high": one.high,
            "low": one.low,
            "close": one.close,
            "volume": one.volume,
            "value": one.value,
            "vwap": (2 * one.value + one.volume) // (2 * one.volume),
            "trades": one.trades,
        }
        for one in over_the_tape(acme)
    ]
    token = {"id": f"Token|{acme.pk}"}
    answer = partner(DAYS, token | {"first": 99})
    found = answer.data["token"]
    assert found["days"]["nodes"] == wanted
    assert found["days"]["totalCount"] == len(wanted)
    assert found["day"] == {key: wanted[-1][key] for key in ("date", "close")}
    last = partner(DAYS, token | {"last": 1}).data["token"]["days"]
    assert last["nodes"] == wanted[-1:]
    before = {"last": 2, "before": last["pageInfo"]["startCursor"]}
    assert partner(DAYS, token | before).data["token"]["days"]["nodes"] == wanted[-3:-1]


def test_a_token_without_a_trade_has_no_day(acme: Token, partner: Ask):
    found = partner(DAYS, {"id": f"Token|{acme.pk}", "first": 3}).data["token"]
    assert (found["day"], found["days"]["nodes"]) == (None, [])


def test_needs_the_scope(acme: Token, stranger: Ask):
    answer = stranger(DAYS, {"id": f"Token|{acme.pk}", "first": 3})
    assert {error["extensions"]["code"] for error in answer.errors} == {
        "UNAUTHENTICATED"
    }
