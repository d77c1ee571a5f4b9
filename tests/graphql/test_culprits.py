"""Every refused value is named: the argument, the variable, the place inside it."""

from typing import Any

import pytest

from tests.characters import Ask, World

UPDATE = """
mutation ($input: UpdateAccountStatusInput!) {
  updateAccountStatus(input: $input) { changedAt }
}
"""


PLACE = """
mutation ($input: PlaceOrdersInput!) { placeOrders(input: $input) { results { code } } }
"""
LIMIT = {"quantity": 1, "limitPrice": 1}
ORDER = {"side": "BUY", "accountID": "x"} | LIMIT


@pytest.mark.parametrize(
    ("query", "variables", "named"),
    [
        (
            "query ($n: Int) { issuers(first: $n) { totalCount } }",
            {"n": "1"},
            {"variable": "n", "argument": "first"},
        ),
        (
            "query ($n: Int!) { issuers(first: $n) { totalCount } }",
            {},
            {"variable": "n", "argument": "first"},
        ),
        (
            "query ($n: Int!) { ...F } "
            "fragment F on Query { issuers(last: $n) { totalCount } }",
            {"n": None},
            {"variable": "n", "argument": "last"},
        ),
        (
            "query ($codes: [String!]) { issuers(symbol: $codes) { totalCount } }",
            {"codes": ["A", 1]},
            {"variable": "codes.1", "argument": "symbol.1"},
        ),
        (
            'query ($code: String!) { issuers(symbol: ["A", $code]) { totalCount } }',
            {"code": 1},
            {"variable": "code", "argument": "symbol.1"},
        ),
        (
            UPDATE,
            {"input": {"accountID": "x", "status": "GONE"}},
            {"variable": "input.status", "argument": "input.status"},
        ),
        (
            UPDATE,
            {"input": {"status": "CLOSED"}},
            {"variable": "input.accountID", "argument": "input.accountID"},
        ),
        (
            UPDATE,
            {
                "input": {
                    "accountID": "x",
                    "status": "CLOSED",
                    "why": "; Field 'q' of required type 'ID!' was not provided.",
                }
            },
            {"variable": "input.why", "argument": "input.why"},
        ),
        (
            PLACE,
            {"input": {"tokenID": "x", "orders": [ORDER, ORDER | {"side": None}]}},
            {"variable": "input.orders.1.side", "argument": "input.orders.1.side"},
        ),
        (
            PLACE,
            {"input": {"tokenID": "x", "orders": [ORDER, {"side": "BUY"} | LIMIT]}},
            {
                "variable": "input.orders.1.accountID",
                "argument": "input.orders.1.accountID",
            },
        ),
        (
            PLACE.replace(
                "$input: PlaceOrdersInput!", "$o: [OrderOfListInput!]!"
            ).replace("$input", '{tokenID: "x", orders: $o}'),
            {"o": [{"side": "BUY", "accountID": "x", "limitPrice": 1}]},
            {"variable": "o.0.quantity", "argument": "input.orders.0.quantity"},
        ),
        (
            'query ($at: Time) { issuer(slug: "lumen") '
            "{ capitalizationTable(date: $at) { date } } }",
            {"at": "2016-12-31T23:59:60Z"},
            {"variable": "at", "argument": "date"},
        ),
        (
            "query ($v: Boolean = true) { __typename @skip(if: $v) }",
            {"v": None},
            {"argument": "if"},
        ),
        (
            "query ($ids: [ID!] = []) { nodes(ids: $ids) { id } }",
            {"ids": None},
            {"argument": "ids"},
        ),
        ("{ issuers(first: 101) { totalCount } }", {}, {"argument": "first"}),
        ('{ issuers(country: "FRA") { totalCount } }', {}, {"argument": "country"}),
        ("{ issuers(search: $s) { totalCount } }", {"s": "x" * 101}, "search"),
    ],
)
def test_what_is_refused_is_named(
    query: str, variables: dict[str, Any], named: Any, world: World, partner: Ask
):
    if named == "search":
        query, named = f"query ($s: String) {query}", {"argument": "search"}
    key = {"Idempotency-Key": "3f0c1d52-8a44-4d7e-9b1a-6c2e5f7a8b90"}
    answer = partner(query, variables, **key)
    assert answer.code == "BAD_USER_INPUT"
    extensions = answer.errors[0]["extensions"]
    found = {k: v for k, v in extensions.items() if k in ("argument", "variable")}
    assert found == named


@pytest.mark.parametrize("argument", ["after", "before"])
def test_a_refused_cursor_is_named(argument: str, world: World, stranger: Ask):
    for search in ("", ', search: "lum"'):
        query = (
            f"query ($c: String) {{ issuers({argument}: $c{search}) {{ totalCount }} }}"
        )
        answer = stranger(query, {"c": "x"})
        assert answer.code == "INVALID_CURSOR"
        assert answer.errors[0]["extensions"]["argument"] == argument
