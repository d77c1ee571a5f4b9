"""Each field that needs a scope, by each key: descriptions say who may read it."""

import pytest
from graphql import GraphQLObjectType, get_named_type, is_leaf_type

from accounts.access import OF_ACCOUNTS, Scope
from issuers.models import Token
from partnerapi.graphql.cost import is_connection
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from partnerapi.schema import schema
from partnerapi.site.docs_tables import fields_with
from tests.characters import Ask, World
from tests.issuers.offerings.offerings import opened
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    placed,
    sell,
)

NEEDED: dict[str, set[Scope]] = {}
for scope in Scope:
    for name in fields_with(scope):
        NEEDED.setdefault(name, set()).add(scope)
QUERIED = sorted(name for name in NEEDED if not name.startswith("Mutation."))
# How to reach a type, and the scopes that the way needs.
WAYS: dict[str, tuple[str, set[Scope]]] = {
    "Query": ("{ %s }", set()),
    "Account": ('{ account(id: "Account|ACCOUNT") { %s } }', set(OF_ACCOUNTS)),
    "CashEntry": (
        '{ account(id: "Account|ACCOUNT") { cashEntries(first: 1) { nodes { %s } } } }',
        {Scope.CASH_READ},
    ),
    "Issuer": ('{ issuer(id: "Issuer|ISSUER") { %s } }', set()),
    "Market": (
        '{ token(id: "Token|TOKEN") { market { %s } } }',
        {Scope.MARKETDATA_READ},
    ),
    "CheckpointGroup": (
        "{ viewer { checkpoint { groups { %s } } } }",
        set(OF_ACCOUNTS),
    ),
    "Viewer": ("{ viewer { %s } }", set()),
    "Token": ('{ token(id: "Token|TOKEN") { %s } }', set()),
    "UserHolder": (
        '{ issuer(id: "Issuer|ISSUER") { capitalizationTable { holders {'
        " userHolder { %s } } } } }",
        {Scope.CAPTABLE_READ},
    ),
}
ORDER = (
    '{accountID: "Account|ACCOUNT", tokenID: "Token|TOKEN", side: BUY, quantity: 1,'
    " limitPrice: 100}"
)
ARGUMENTS = {
    "Query.account": 'id: "Account|ACCOUNT"',
    "Query.checkOrder": f"input: {ORDER}",
    "Query.checkSubscription": 'input: {offeringID: "Offering|OFFERED",'
    ' accountID: "Account|ACCOUNT", quantity: 1}',
    "Query.checkTransfer": 'input: {tokenID: "Token|TOKEN", quantity: 1,'
    ' fromAccountID: "Account|ACCOUNT"}',
    "Query.holdingProof": 'tokenID: "Token|TOKEN", accountID: "Account|ACCOUNT"',
    "Query.order": 'id: "Order|ORDER"',
}


@pytest.fixture
def ids(world: World) -> dict[str, str]:
    token: Token = new_market()
    client, other = new_clients(2, world.partner)
    deposit(client, 10_000)
    give(token, {other: 10})
    placed(token, sell(other, 5, 100))
    order = placed(token, buy(client, 5, 100))
    as_committed()
    approved_grant(world.partner)
    return {
        "ACCOUNT": str(client.pk),
        "ISSUER": str(token.issuer_id),
        "TOKEN": str(token.pk),
        "ORDER": str(order.pk),
        "OFFERED": str(opened().pk),
    }


def document(name: str, ids: dict[str, str]) -> str:
    type_, field = name.split(".")
    of = schema.type_map[type_]
    assert isinstance(of, GraphQLObjectType)
    named = get_named_type(of.fields[field].type)
    selected = f"({ARGUMENTS[name]})" if name in ARGUMENTS else ""
    if is_connection(named):
        selected += " { totalCount }"
    elif not is_leaf_type(named):
        selected += " { __typename }"
    text = WAYS[type_][0] % (field + selected)
    for word, pk in ids.items():
        text = text.replace(word, pk)
    return text


def codes(ask: Ask, text: str) -> list[tuple[str, str | None]]:
    errors = ask(text).body.get("errors", [])
    told = [error["extensions"] for error in errors]
    return [(each["code"], each.get("requiredScope")) for each in told]


@pytest.mark.parametrize("name", QUERIED)
def test_a_field_needs_what_its_description_says(
    name: str, ids: dict[str, str], world: World
):
    text, needed = document(name, ids), NEEDED[name]
    way = WAYS[name.split(".")[0]][1]

    def key(scopes: set[Scope]) -> Ask:
        return Ask(approved_key(world.partner, sorted(scopes))[1])

    assert codes(key(set(Scope)), text) == []
    # All others are no help, nor is the way alone; what is missing is named.
    for scopes in (set(Scope) - needed, way - needed):
        [(code, missing)] = codes(key(scopes), text)
        assert (code, missing in needed) == ("FORBIDDEN", True)
    # Each that is named is enough, with one that opens the way.
    for scope in needed:
        opening = set() if scope in way else set(sorted(way)[:1])
        assert codes(key({scope} | opening), text) == []
