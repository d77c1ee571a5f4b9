"""`extensions.cost`: what was charged, field by field, and no point more or less."""

from datetime import timedelta
from typing import Any

import orjson
import pytest
from graphql import get_introspection_query

from issuers.register import ledger
from issuers.register.ledger import Entry
from partnerapi.graphql.documents import Refused, prepare
from partnerapi.graphql.field_costs import field_costs
from partnerapi.schema import schema
from tests.characters import START, Ask, World
from tests.generated.documents import Samples, requests
from tests.issuers.register import people

DEBUG = {"X-Cost-Debug": "1"}
PARTS = ("otherFields", "document", "body", "late", "unread")


def total(cost: dict) -> int:
    fields = sum(field["points"] for field in cost["fields"])
    return fields + sum(cost[part] for part in PARTS)


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("{ viewer { login } }", {"viewer": 1}),
        (
            "{ list: issuers(first: 3) { totalCount nodes { slug tokens { edges { node"
            " { symbol } } } } } }",
            {"list": 20, "list.nodes": 3, "list.nodes.tokens.edges.node": 60},
        ),
        (
            "query ($n: Int = 7) { issuers(first: $n) { edges { cursor } } }",
            {"issuers.edges": 7},
        ),
        (
            '{ node(id: "x") { id ... on Issuer { tokens(first: 2) { nodes { id } } } '
            "... on Token { issuer { id } } } }",
            {"node": 1, "node.tokens.nodes": 2},
        ),
        ("{ __schema { queryType { name } } }", {"__schema": 100}),
    ],
)
def test_tells_what_each_field_costs(
    query: str, fields: dict[str, int], world: World, partner: Ask
):
    answer = partner(query, **DEBUG)
    cost = answer.body["extensions"]["cost"]
    told = {field["path"]: field["points"] for field in cost["fields"]}
    assert total(cost) == cost["price"] == int(answer.headers["X-Query-Cost"])
    assert told == fields


def test_a_long_document_and_a_long_body_are_told_apart(partner: Ask):
    body = orjson.dumps({"query": "{ __typename }" + " " * 4_000, "x": "y" * 4_000})
    cost = partner.post(body, **DEBUG).body["extensions"]["cost"]
    assert (cost["document"], cost["body"], cost["fields"]) == (26, 4, [])
    assert total(cost) == cost["price"]


def test_a_refused_document_has_no_fields(partner: Ask):
    cost = partner("{ nothing }", **DEBUG).body["extensions"]["cost"]
    assert (cost["fields"], cost["document"]) == ([], 10)
    assert total(cost) == cost["price"] == 10


def test_the_fields_of_any_document_add_up_to_its_cost():
    known = Samples({"Issuer": ["Issuer|x"]}, {}, {"issuer.slug": ["x"]})
    counted = 0
    for request in requests(schema, known, 150, 5):
        try:
            prepared = prepare(
                schema, request.text, request.operation_name, request.variables
            )
        except Refused:
            continue
        found = field_costs(prepared.plan.selection, prepared.variables)
        assert found.total() == prepared.cost, request.text
        assert min(found.values(), default=1) > 0, request.text
        counted += 1
    assert counted > 100


def test_a_whole_introspection_is_told(partner: Ask):
    cost = partner(get_introspection_query(), **DEBUG).body["extensions"]["cost"]
    [told] = cost["fields"]
    assert told["path"] == "__schema"
    assert told["points"] > 1_000
    assert total(cost) == cost["price"]


def test_holders_beyond_the_first_are_told(world: World, partner: Ask):
    token = world.public_token.pk
    accounts = ledger.holder_accounts(user.pk for user in people(1_001)).values()
    entries = [Entry(token, "MINT", 1, None, to, at=START) for to in accounts]
    ledger.write_history([token], entries, "import")
    query = '{ issuer(slug: "lumen") { capitalizationTable { holders { userID } } } }'
    answer = partner(query, **DEBUG)
    cost = answer.body["extensions"]["cost"]
    assert cost["holders"] == 1
    assert total(cost) == cost["price"] == int(answer.headers["X-Query-Cost"])


LOOKUPS = (
    "query { issuers(first: 100) { nodes { tokens(first: 100) { nodes { id"
    " issuer { id owner { id } } } } } } }"
)


@pytest.mark.parametrize(
    ("query", "variables", "dearest"),
    [
        ("{ issuers { nodes { id tokens(first: 100) { nodes { id } } } } }", {},
         ("issuers.nodes.tokens.nodes", 10_000)),
        ("query ($n: Int) { all: issuers { nodes { t: tokens(first: $n) { edges"
         " { node { id issuer { id } } } } } } }", {"n": 99},
         ("all.nodes.t.edges.node", 9_900)),
        (LOOKUPS, {}, ("issuers.nodes.tokens.nodes", 10_000)),
        ("{" + " ".join(f"s{n}: __schema {{ __typename }}" for n in range(11)) + "}",
         {}, ("s0", 100)),
    ],
)  # fmt: skip
def test_a_refusal_names_the_fields_that_cost_too_much(
    query: str, variables: dict[str, Any], dearest: tuple[str, int], partner: Ask
):
    answer = partner(query, variables, **DEBUG)
    assert answer.code == "MAX_COST_EXCEEDED"
    fields = answer.errors[0]["extensions"]["fields"]
    assert (fields[0]["path"], fields[0]["points"]) == dearest
    assert answer.body["extensions"]["cost"]["fields"] == fields
    # Without asking for it, too.
    refused = partner(query, variables)
    assert refused.errors[0]["extensions"]["fields"] == fields
    assert "extensions" not in refused.body


def test_what_others_would_wait_for_is_named_and_is_no_cost(partner: Ask):
    wanted = " ".join(f"o{n}: executions(first: 1) {{ totalCount }}" for n in range(3))
    answer = partner(
        "mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) { order { id "
        f"{wanted} }} }} }}",
        {"input": {"accountID": "a", "tokenID": "t", "side": "BUY", "quantity": 1,
                   "limitPrice": 1, "timeInForce": "DAY"}},
    )  # fmt: skip
    assert answer.code == "MAX_COST_EXCEEDED"
    told = answer.errors[0]["extensions"]
    assert (told["lookups"], told["maximum"], "cost" in told) == (7, 4, False)
    assert [field["path"] for field in told["fields"]][:3] == [
        "placeOrder.order",
        "placeOrder.order.o0",
        "placeOrder.order.o0.totalCount",
    ]


@pytest.mark.parametrize(
    ("query", "maximum", "path"),
    [
        ("mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) { order { id"
         " executions(first: 31) { nodes { id } } } } }", 30,
         "placeOrder.order.executions.nodes"),
        ("mutation ($input: PlaceOrderInput!, $n: Int = 40) { placeOrder(input: $input)"
         " { order { id executions(first: $n) { nodes { id } } } } }", 30,
         "placeOrder.order.executions.nodes"),
        ("{ all: __schema { types { " + " ".join(
            f"f{n}: fields {{ name args {{ name }} }}" for n in range(20)
        ) + " } } }", 20_000, "all"),
        ("{ issuers { nodes { tokens(first: 1) { nodes { " + " ".join(
            f"i{n}: issuer {{ o: owner {{ country {{ code }} }} "
            f"p: owner {{ country {{ code }} }} }}" for n in range(30)
        ) + " } } } } }", 10_000, "issuers.nodes.tokens.nodes.i0"),
    ],
)  # fmt: skip
def test_whatever_costs_too_much_is_named(
    query: str, maximum: int, path: str, partner: Ask
):
    order = {"accountID": "a", "tokenID": "t", "side": "BUY", "quantity": 1,
             "limitPrice": 1}  # fmt: skip
    answer = partner(query, {"input": order})
    assert answer.code == "MAX_COST_EXCEEDED"
    told = answer.errors[0]["extensions"]
    assert told["maximum"] == maximum
    paths = [field["path"] for field in told["fields"]]
    assert path in paths
    assert "placeOrder" not in paths
    points = [field["points"] for field in told["fields"]]
    assert points == sorted(points, reverse=True)
    assert points[-1] > 0


def test_fragments_cannot_make_it_long_to_name_the_dearest(partner: Ask):
    """2¹¹ paths, each of lists inside lists: the most costly are found by following."""
    levels = " ".join(
        f"fragment L{n} on Issuer {{ a: tokens {{ nodes {{ issuer {{ ...L{n + 1} }} }} "
        f"}} b: tokens {{ nodes {{ issuer {{ ...L{n + 1} }} }} }} }}"
        for n in range(3)
    )
    text = (
        f"{{ issuers {{ nodes {{ ...L0 }} }} }} {levels} fragment L3 on Issuer {{ id }}"
    )
    answer = partner(text)
    assert answer.code == "MAX_COST_EXCEEDED"
    assert len(answer.errors[0]["extensions"]["fields"]) == 10


def test_holders_that_cost_too_much_are_not_read(
    world: World, partner: Ask, settings: Any
):
    tokens = [world.public_token.pk, world.private_token.pk]
    accounts = ledger.holder_accounts(user.pk for user in people(1_101)).values()
    at = START + timedelta(days=2)
    for token in tokens:
        entries = [Entry(token, "MINT", 1, None, to, at=at) for to in accounts]
        ledger.write_history([token], entries, "import")
    query = (
        '{ issuer(slug: "lumen") { capitalizationTable { '
        "a: holders { userID } b: holders { user { id } } } } }"
    )
    # 302 for 100 of each, the issuer and the table, and 26 for each of the others'
    # four: users count once, however many tokens they hold.
    assert partner(query).headers["X-Query-Cost"] == str(302 + 3 * 26)
    settings.PARTNER_API_MAX_COST = 302 + 3 * 26 - 1
    answer = partner(query)
    assert answer.body["data"] == {"issuer": None}
    assert answer.code == "MAX_COST_EXCEEDED"
    assert answer.errors[0]["extensions"]["cost"] == 302 + 3 * 26
    assert "`createExport`" in answer.errors[0]["message"]
    assert answer.errors[0]["path"] == ["issuer", "capitalizationTable", "b"]
    assert answer.errors[0]["extensions"]["fields"] == [
        {"path": "issuer.capitalizationTable.b", "points": 52}
    ]
    # No bill is above what one request may cost; only the first list was read.
    assert int(answer.headers["X-Query-Cost"]) == 302 + 26
    # At any instant.
    dated = query.replace("{ a:", "{ date a:").replace(
        "capitalizationTable", 'capitalizationTable(date: "2026-01-01")'
    )
    settings.PARTNER_API_MAX_COST = 325
    assert partner(dated).code == "MAX_COST_EXCEEDED"


def test_only_the_costliest_fields_are_told_one_by_one(partner: Ask):
    tokens = "tokens(first: 1) {{ nodes {{ id }} }}"
    each = f"x{{}}: nodes(ids: []) {{{{ ... on Issuer {{{{ {tokens} }}}} }}}}"
    query = "{" + " ".join(map(each.format, range(55))) + "}"
    cost = partner(query, **DEBUG).body["extensions"]["cost"]
    points = [field["points"] for field in cost["fields"]]
    assert len(points) == 100
    assert points == sorted(points, reverse=True)
    assert cost["otherFields"] == 10
    assert total(cost) == cost["price"]
