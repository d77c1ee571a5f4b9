"""`extensions.cost`: what was held back, what was charged, which fields cost it."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from accounts.accounts.models import Account
from issuers.register import ledger
from issuers.register.ledger import Entry
from partnerapi.graphql.documents import Refused, prepare
from partnerapi.schema import schema
from tests.characters import START, Ask, World
from tests.generated.documents import Samples, requests
from tests.issuers.register import people
from tests.marketdata.trading.trading import as_committed, new_clients

DEBUG = {"X-Cost-Debug": "1"}
ONLY = {"X-Cost-Only": "1"}
ORDER = {
    "accountID": "a", "tokenID": "t", "side": "BUY", "quantity": 1, "limitPrice": 1,
}  # fmt: skip
STATUS = """
mutation ($input: UpdateAccountStatusInput!) {
  updateAccountStatus(input: $input) { previousStatus account { id } }
}
"""


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("{ viewer { login } }", {"viewer": 1}),
        (
            "{ list: issuers(first: 3) { totalCount nodes { slug tokens { edges { node"
            " { symbol } } } } } }",
            {"list": 10, "list.totalCount": 10, "list.nodes": 3,
             "list.nodes.tokens": 10, "list.nodes.tokens.edges.node": 60},
        ),
        (
            '{ node(id: "x") { id ... on Issuer { tokens(first: 2) { nodes { id } } } '
            "... on Token { issuer { id } } } }",
            {"node": 11, "node.tokens": 10, "node.tokens.nodes": 2, "node.issuer": 11},
        ),
        ("{ __schema { queryType { name } } }", {"__schema": 10}),
    ],
)  # fmt: skip
def test_tells_what_each_field_costs(
    query: str, fields: dict[str, int], world: World, partner: Ask
):
    answer = partner(query, **DEBUG)
    cost = answer.body["extensions"]["cost"]
    told = {field["path"]: field["points"] for field in cost["fields"]}
    assert told == fields
    assert cost["price"] == int(answer.headers["X-Query-Cost"]) <= cost["held"]


def test_a_long_body_is_told(partner: Ask):
    body = b'{"query": "{ __typename }"}'.ljust(6_000)
    cost = partner.post(body, **DEBUG).body["extensions"]["cost"]
    assert (cost["price"], cost["held"], cost["body"]) == (14, 14, 4)
    assert cost["fields"] == []


def test_a_refused_document_has_no_fields(partner: Ask):
    cost = partner("{ nothing }", **DEBUG).body["extensions"]["cost"]
    assert (cost["fields"], cost["price"], cost["held"]) == ([], 10, 10)


def test_no_answer_costs_more_than_its_bound(world: World, partner: Ask):
    known = Samples(
        {
            "Issuer": [f"Issuer|{world.listed.pk}"],
            "Token": [f"Token|{world.public_token.pk}"],
        },
        {},
        {"issuer.slug": [world.listed.slug]},
    )
    answered = 0
    for request in requests(schema, known, 100, 5):
        body = orjson.dumps(
            {
                "query": request.text,
                "operationName": request.operation_name,
                "variables": request.variables,
            }
        )
        try:
            prepared = prepare(
                schema, request.text, request.operation_name, request.variables
            )
        except Refused:
            continue
        priced = partner.post(body, **ONLY)
        most = priced.body["extensions"]["cost"]["most"]
        told = partner.post(body, **DEBUG).body["extensions"]["cost"]
        assert told["price"] <= most <= 10_000, request.text
        assert prepared.price <= most, request.text
        answered += 1
    assert answered > 60


def test_a_request_can_be_priced_without_running(world: World, partner: Ask):
    priced = partner("{ issuers(first: 50) { nodes { slug } } }", **ONLY)
    assert priced.body["data"] is None
    cost = priced.body["extensions"]["cost"]
    assert (cost["most"], cost["price"]) == (60, 10)
    assert cost["fields"][0] == {"path": "issuers.nodes", "points": 50}
    assert priced.headers["X-Query-Cost"] == "10"


def test_a_mutation_can_be_priced_and_does_not_happen(world: World, partner: Ask):
    [client] = new_clients(1, world.partner)
    as_committed()
    values = {"accountID": f"Account|{client.pk}", "status": "SUSPENDED"}
    priced = partner(STATUS, {"input": values}, **ONLY)
    assert priced.body["extensions"]["cost"]["most"] == 150 + 1 + 10 + 1
    assert Account.objects.get(pk=client.pk).status == "ACTIVE"


def test_a_word_that_is_not_understood_is_refused(world: World, partner: Ask):
    answer = partner("{ viewer { login } }", **{"X-Cost-Only": "yes"})
    assert (answer.status, answer.code) == (400, "BAD_REQUEST")
    assert answer.headers["X-Query-Cost"] == "10"


def test_holders_are_counted(world: World, partner: Ask):
    token = world.public_token.pk
    accounts = ledger.holder_accounts(user.pk for user in people(1_001)).values()
    entries = [Entry(token, "MINT", 1, None, to, at=START) for to in accounts]
    ledger.write_history([token], entries, "import")
    query = '{ issuer(slug: "lumen") { capitalizationTable { holders { userID } } } }'
    # Three fields read; the issuer, its table and the holders are objects.
    assert partner(query).headers["X-Query-Cost"] == str(30 + 2 + 1_001)


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
         ("all.nodes.t.edges.node.issuer", 9_910)),
        (LOOKUPS, {}, ("issuers.nodes.tokens.nodes.issuer", 10_010)),
    ],
)  # fmt: skip
def test_a_refusal_names_the_fields_that_cost_too_much(
    query: str, variables: dict[str, Any], dearest: tuple[str, int], partner: Ask
):
    answer = partner(query, variables)
    assert answer.code == "MAX_COST_EXCEEDED"
    fields = answer.errors[0]["extensions"]["fields"]
    assert (fields[0]["path"], fields[0]["points"]) == dearest


@pytest.mark.parametrize(
    ("query", "maximum", "path"),
    [
        ("mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) { order { id"
         " executions(first: 61) { nodes { id } } } } }", 70,
         "placeOrder.order.executions.nodes"),
        ("mutation ($input: PlaceOrderInput!, $n: Int = 80) { placeOrder(input: $input)"
         " { order { id executions(first: $n) { nodes { id } } } } }", 70,
         "placeOrder.order.executions.nodes"),
        ("{ issuers { nodes { tokens(first: 1) { nodes { " + " ".join(
            f"i{n}: issuer {{ o: owner {{ country {{ code }} }} "
            f"p: owner {{ country {{ code }} }} }}" for n in range(30)
        ) + " } } } } }", 10_000, "issuers.nodes.tokens.nodes.i0"),
    ],
)  # fmt: skip
def test_whatever_costs_too_much_is_named(
    query: str, maximum: int, path: str, partner: Ask
):
    answer = partner(query, {"input": ORDER})
    assert answer.code == "MAX_COST_EXCEEDED"
    told = answer.errors[0]["extensions"]
    assert told["maximum"] == maximum
    assert path in [field["path"] for field in told["fields"]]
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
    # Two fields, two lists and their users read; users count once as holders,
    # however many tokens they hold.
    points = 50 + 2 + 1_101 + 2 * 1_101
    assert partner(query).headers["X-Query-Cost"] == str(points)
    settings.PARTNER_API_MAX_COST = points - 1
    answer = partner(query)
    assert answer.body["data"] == {"issuer": None}
    assert answer.code == "MAX_COST_EXCEEDED"
    assert answer.errors[0]["extensions"]["cost"] == points
    assert "`createExport`" in answer.errors[0]["message"]
    assert answer.errors[0]["path"] == ["issuer", "capitalizationTable", "b"]
    assert answer.errors[0]["extensions"]["fields"] == [
        {"path": "issuer.capitalizationTable.b", "points": 2_200}
    ]
    # Only the first list was read.
    assert int(answer.headers["X-Query-Cost"]) == 50 + 2 + 1_101
    # At any instant.
    dated = query.replace("{ a:", "{ date a:").replace(
        "capitalizationTable", 'capitalizationTable(date: "2026-01-01")'
    )
    assert partner(dated).code == "MAX_COST_EXCEEDED"
