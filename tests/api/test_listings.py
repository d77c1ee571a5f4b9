"""The root lists of tokens and of markets, and what narrows them."""

import pytest

from accounts.access import Forbidden, Scope
from accounts.accounts.models import Account
from issuers.models import Token
from marketdata.trading import phases
from marketdata.trading.models import Phase
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.approved import asker
from tests.characters import Ask, World
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    placed,
    sell,
)
from tests.owner import as_committed, tamper

TOKENS = """
query ($symbols: [String!], $isins: [String!], $tradable: Boolean,
       $marketType: IssuerMarketType, $first: Int, $after: String) {
  tokens(symbols: $symbols, isins: $isins, tradable: $tradable,
         marketType: $marketType, first: $first, after: $after) {
    totalCount nodes { symbol } pageInfo { hasNextPage endCursor }
  }
}
"""
MARKETS = """
query ($phase: MarketPhase, $first: Int, $after: String) {
  markets(phase: $phase, first: $first, after: $after) {
    totalCount nodes { phase token { symbol } } pageInfo { hasNextPage endCursor }
  }
}
"""


def symbols(ask: Ask, **arguments) -> list[str]:
    page = ask(TOKENS, arguments).data["tokens"]
    found = [node["symbol"] for node in page["nodes"]]
    if "first" not in arguments:
        assert page["totalCount"] == len(found)
    return found


def in_phase(ask: Ask, phase: str | None = None) -> dict[str, str]:
    page = ask(MARKETS, {"phase": phase}).data["markets"]
    assert page["totalCount"] == len(page["nodes"])
    return {node["token"]["symbol"]: node["phase"] for node in page["nodes"]}


@pytest.fixture
def tokens(world: World) -> dict[str, Token]:
    """One by what it is: its market's phase, `past` its session, none, `private`."""
    found = {name: new_market() for name in ("open", "past", "halted", "private")}
    phases.change_phase(found["halted"].pk, Phase.HALTED, asker(), reason="news")
    tamper(
        "UPDATE trading_market SET next_phase_at = clock_timestamp(), session_closes ="
        " (clock_timestamp() AT TIME ZONE market_time_zone())::time, session_opens ="
        " (clock_timestamp() AT TIME ZONE market_time_zone() - interval '1 s')::time"
        f" WHERE token_id = '{found['past'].pk}'"
    )
    Token.objects.filter(pk=found["private"].pk).update(visibility="PRIVATE")
    found["none"] = Token.objects.create(
        issuer=world.listed, name="N", symbol="A.NONE", isin="FR0000120271"
    )
    as_committed()
    return found


def test_tokens_are_listed_by_symbol(tokens, stranger: Ask):
    found = symbols(stranger)
    assert found == sorted(found)
    assert {t.symbol for n, t in tokens.items() if n != "private"} <= {*found}
    assert tokens["private"].symbol not in found


def test_a_walk_meets_each_token_once(tokens, stranger: Ask):
    walked, after = [], None
    while True:
        page = stranger(TOKENS, {"first": 2, "after": after}).data["tokens"]
        walked += [node["symbol"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert walked == symbols(stranger)


def test_codes_narrow_tokens(tokens, stranger: Ask):
    asked = [tokens["open"].symbol.lower(), "a.none", "UNKNOWN", "é"]
    assert set(symbols(stranger, symbols=asked)) == {tokens["open"].symbol, "A.NONE"}
    assert symbols(stranger, isins=["fr0000120271"]) == ["A.NONE"]
    assert symbols(stranger, symbols=[]) == []
    assert symbols(stranger, symbols=[tokens["private"].symbol]) == []
    answer = stranger(TOKENS, {"symbols": ["A"] * 101})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["argument"] == "symbols"


def test_tokens_are_tradable_while_their_market_is_continuous(tokens, stranger: Ask):
    tradable = symbols(stranger, tradable=True)
    others = symbols(stranger, tradable=False)
    assert tokens["open"].symbol in tradable
    for name in ("past", "halted", "none"):
        assert tokens[name].symbol in others
    assert sorted(tradable + others) == symbols(stranger)


def test_tokens_are_listed_by_their_market_type(tokens, stranger: Ask):
    assert "A.NONE" in symbols(stranger, marketType="PRIMARY_MARKET")
    secondary = symbols(stranger, marketType="SECONDARY_MARKET")
    assert tokens["open"].symbol in secondary
    assert "A.NONE" not in secondary


def test_markets_are_listed_in_the_phase_that_they_show(tokens, partner: Ask):
    found = in_phase(partner)
    assert found[tokens["open"].symbol] == "CONTINUOUS"
    assert found[tokens["past"].symbol] == "CLOSED"
    assert found[tokens["halted"].symbol] == "HALTED"
    assert tokens["private"].symbol not in found
    by_phase = [
        in_phase(partner, phase) for phase in ("CLOSED", "CONTINUOUS", "HALTED")
    ]
    assert {**by_phase[0], **by_phase[1], **by_phase[2]} == found
    assert sum(map(len, by_phase)) == len(found)


def test_a_grant_shows_a_private_token_and_its_market(tokens, world: World):
    issuer = tokens["private"].issuer
    approved_grant(world.partner, issuer)
    ask = Ask(approved_key(world.partner, [Scope.MARKETDATA_READ])[1])
    assert tokens["private"].symbol in symbols(ask)
    assert tokens["private"].symbol in in_phase(ask)


def test_markets_need_a_scope(tokens, observer: Ask, stranger: Ask):
    assert observer(MARKETS).code == Forbidden.code
    assert stranger(MARKETS).code == "UNAUTHENTICATED"


CLIENTS = """
query ($since: Time, $first: Int, $after: String) {
  executions(since: $since, first: $first, after: $after) {
    totalCount nodes { id side quantity order { id account { id } } at }
    pageInfo { hasNextPage endCursor }
  }
  positions(first: 100) {
    totalCount nodes { account { id } token { symbol } quantity reserved available }
  }
}
"""


@pytest.fixture
def traded(world: World) -> tuple[Token, list[Account]]:
    """Two clients of the partner trade with each other, and one with a stranger's."""
    token = new_market()
    seller, buyer = new_clients(2, world.partner)
    [other] = new_clients(1)
    for account in (buyer, other):
        deposit(account, 10_000)
    give(token, {seller: 10})
    placed(token, sell(seller, 8, 100))
    placed(token, buy(buyer, 5, 100))
    placed(token, buy(other, 2, 100))
    as_committed()
    return token, [seller, buyer, other]


def test_executions_of_all_clients_are_listed_by_time(traded, partner: Ask):
    _, [seller, buyer, _] = traded
    found = partner(CLIENTS).data["executions"]
    ids = {f"Account|{account.pk}" for account in (seller, buyer)}
    sides = [(n["order"]["account"]["id"], n["quantity"]) for n in found["nodes"]]
    assert found["totalCount"] == 3
    assert sorted(sides[:2]) == sorted((id, 5) for id in ids)
    assert sides[2] == (f"Account|{seller.pk}", 2)
    last = found["nodes"][-1]["at"]
    since = partner(CLIENTS, {"since": last}).data["executions"]
    assert [n["id"] for n in since["nodes"]] == [found["nodes"][2]["id"]]


def test_a_walk_meets_both_sides_of_a_trade_of_two_clients(traded, partner: Ask):
    walked, after = [], None
    for _ in range(3):
        page = partner(CLIENTS, {"first": 1, "after": after}).data["executions"]
        walked += [node["id"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
    assert not page["pageInfo"]["hasNextPage"]
    assert walked == [n["id"] for n in partner(CLIENTS).data["executions"]["nodes"]]


def test_positions_of_all_clients_are_listed(traded, partner: Ask):
    token, [seller, buyer, _] = traded
    found = partner(CLIENTS).data["positions"]
    held = {
        n["account"]["id"]: (n["quantity"], n["reserved"], n["available"])
        for n in found["nodes"]
        if n["token"]["symbol"] == token.symbol
    }
    assert found["totalCount"] == len(found["nodes"])
    assert held == {
        f"Account|{seller.pk}": (3, 1, 2),
        f"Account|{buyer.pk}": (5, 0, 5),
    }


def test_another_partner_sees_neither(traded, world: World):
    own = Ask(approved_key(world.observer, [Scope.TRADING_READ])[1])
    assert own(CLIENTS).data == {
        "executions": {
            "totalCount": 0, "nodes": [],
            "pageInfo": {"hasNextPage": False, "endCursor": None},
        },
        "positions": {"totalCount": 0, "nodes": []},
    }  # fmt: skip
