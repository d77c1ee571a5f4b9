"""Every connection can be exported, and its file is what its pages hold."""

from datetime import date
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from graphql import GraphQLObjectType, get_named_type

from accounts.access import Scope
from issuers import grants
from issuers.legacy.models import LegacyShareholder
from issuers.models import (
    Article,
    IndustryClassificationBenchmark,
    IssuerFinancialData,
    IssuerGrant,
    Token,
)
from issuers.register import ledger
from issuers.register.ledger import Price
from marketdata.trading.refused import refused_orders
from partnerapi.exports.connections import CONNECTIONS, ExportedConnection
from partnerapi.exports.models import Export
from partnerapi.gateway import authentication
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from partnerapi.schema import schema
from tests.api.test_orders import PLACE, once
from tests.approved import asker, desk
from tests.characters import Ask, World
from tests.exports.conftest import EXPORT, Partner, uuid_of, write
from tests.marketdata.documents.invented import invented_document
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

WITHDRAW = """
mutation ($input: RequestWithdrawalInput!) { requestWithdrawal(input: $input) {
  withdrawal { id }
} }
"""
NOT_EXPORTED = {
    ("Account", "subscriptions"),
    ("Order", "executions"),
    ("Query", "offerings"),
    ("Viewer", "webhookEndpoints"),
}
"""They have few rows. An order's executions are exported with those of its account."""


def field_of(path: tuple[str, ...]) -> tuple[str, str]:
    """The type that has the connection at the path, and its name there."""
    type_: Any = schema.query_type
    for part in path[:-1]:
        type_ = get_named_type(type_.fields[part.partition("(")[0]].type)
    return type_.name, path[-1]


def test_every_connection_of_the_schema_can_be_exported():
    connections = {
        (name, field)
        for name, type_ in schema.type_map.items()
        if isinstance(type_, GraphQLObjectType)
        for field, definition in type_.fields.items()
        if get_named_type(definition.type).name.endswith("Connection")
        and "after" in definition.args
    }
    exported = {
        field_of(path) for each in CONNECTIONS.values() for path in each.paths.values()
    }
    assert exported == connections - NOT_EXPORTED
    assert set(CONNECTIONS) == set(ExportedConnection)


@pytest.fixture
def market(world: World, partner: Ask) -> dict[str, str]:
    """A world with a few of everything; the ids of its busiest objects."""
    token, *others = (new_market() for _ in range(4))
    seller, buyer, *_ = new_clients(4, world.partner)
    deposit(buyer, 10_000)
    give(token, {seller: 10})
    give(others[0], {buyer: 1})
    give(others[1], {buyer: 1})
    give(others[2], {buyer: 1})
    for quantity in (1, 2, 1, 2):
        placed(token, sell(seller, quantity, 100))
        placed(token, buy(buyer, quantity, 100))
    for cents in (20, 30, 40, 50):
        ledger.set_prices([Price(token.pk, cents, "NAV")], "me")
    for status in ("SUSPENDED", "ACTIVE"):
        buyer.change_status(status, desk(), "Checked")
    for number in range(4):
        withdraw = {"accountID": f"Account|{buyer.pk}", "amount": 5}
        withdraw["reference"] = f"W{number}"
        headers = {"Idempotency-Key": str(uuid4())}
        assert partner(WITHDRAW, {"input": withdraw}, **headers).data
        too_much = {
            "accountID": withdraw["accountID"], "tokenID": f"Token|{token.pk}",
            "side": "BUY", "quantity": 1, "limitPrice": 10**6 + number,
        }  # fmt: skip
        assert once(partner, PLACE, **too_much).code == "PRICE_OUTSIDE_COLLAR"
    refused_orders.write()
    for number in (1, 2, 3):
        day, of = date(2026, number, 1), (world.partner.pk, buyer.pk)
        invented_document(number, "CONTRACT_NOTE", day, *of)
        invented_document(number, "INVOICE", day, world.partner.pk)
    Article.objects.bulk_create(
        Article(
            issuer=token.issuer, title="A", slug=f"a{n}", body="…",
            published_at=timezone.now(),
        )
        for n in range(4)
    )  # fmt: skip
    IssuerFinancialData.objects.bulk_create(
        IssuerFinancialData(issuer=token.issuer, year=2000 + n, period_type="YEAR")
        for n in range(4)
    )
    LegacyShareholder.objects.bulk_create(
        LegacyShareholder(
            issuer=token.issuer,
            user=seller.user,
            number_of_shares=1,
            price_cents=1,
            created_at=timezone.now(),
        )
        for _ in range(4)
    )
    IndustryClassificationBenchmark.objects.bulk_create(
        IndustryClassificationBenchmark(
            industry_code="10",
            supersector_code="1010",
            sector_code="101010",
            subsector_code=f"1010101{n}",
        )
        for n in range(4)
    )
    Token.objects.bulk_create(
        Token(issuer=token.issuer, name=f"T{n}", symbol=f"MANY{n}") for n in range(4)
    )
    for other in (token, *others):
        approved_grant(world.partner, other.issuer)
    authentication.cache.clear()
    as_committed()
    return {
        "issuerID": f"Issuer|{token.issuer_id}",
        "tokenID": f"Token|{token.pk}",
        "accountID": f"Account|{buyer.pk}",
    }


def walk(ask: Ask, document: str, **variables: Any) -> list[dict[str, Any]]:
    """The nodes of all pages."""
    walked, after = [], None
    while True:
        page = ask(document, {"first": 2, "after": after, **variables}).data
        while "page" not in page:
            page = page["parent"]
        page = page["page"]
        walked += page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            return walked
        after = page["pageInfo"]["endCursor"]


ONE_A_DAY = {"TRADING_DAYS"}
ENTRIES = {("HOLDERS", "issuerID"), ("TRANSACTIONS", "tokenID")}
"""Those of an instant: `test_exports` compares them."""
EXPORTS = [
    (name, named_by)
    for name, exported in CONNECTIONS.items()
    for named_by in exported.paths
    if (name, named_by) not in ENTRIES
]


@pytest.mark.usefixtures("one_person", "small_pages", "unlimited_budgets")
@pytest.mark.django_db(transaction=True)
def test_a_file_has_every_node_of_all_pages(market: dict[str, str], client_of: Partner):
    """The document's fields are answered by the front door; the worker's by itself."""
    for name, named_by in EXPORTS:
        members = {named_by: market[named_by]} if named_by else {}
        document = CONNECTIONS[name].documents[named_by]
        variables = {"id": market[named_by]} if named_by else {}
        nodes = walk(client_of.ask, document, **variables)
        id = client_of.create(name, **members)
        write()
        export = client_of.export(id)
        assert export["status"] == "READY", (name, export["reason"])
        lines = client_of.lines(id)
        if name not in ONE_A_DAY:
            assert len(nodes) >= 3, (name, named_by)
        assert lines == nodes, name
        assert export["date"] is not None


@pytest.mark.django_db(transaction=True)
def test_public_data_needs_no_grant(world: World):
    key = approved_key(world.observer, [Scope.MARKETDATA_READ])[1]
    asking = Partner(Ask(key))
    listed = f"Issuer|{world.listed.pk}"
    ids = [
        asking.create("TRADES", tokenID=f"Token|{world.public_token.pk}"),
        asking.create("ARTICLES", issuerID=listed),
        asking.create("TOKENS", issuerID=listed),
    ]
    write()
    assert [asking.export(id)["status"] for id in ids] == ["READY"] * 3
    assert [line["title"] for line in asking.lines(ids[1])] == ["Hello"]
    # A PRIVATE token is not among them.
    assert [line["symbol"] for line in asking.lines(ids[2])] == ["LUM"]
    node = "query ($id: ID!) { node(id: $id) { id } }"
    assert [asking.ask(node, {"id": id}).data["node"] for id in ids] == [
        {"id": id} for id in ids
    ]
    private = f"Token|{world.private_token.pk}"
    assert asking.try_to_create("TRADES", tokenID=private).code == "NOT_FOUND"


@pytest.mark.django_db(transaction=True)
def test_a_private_token_is_exported_while_the_grant_lasts(
    world: World, client_of: Partner
):
    private = f"Token|{world.private_token.pk}"
    written = client_of.create("TRADES", tokenID=private)
    write()
    assert client_of.get(written).status_code == 200
    url = client_of.export(written)["url"]
    late = client_of.create("TRADES", tokenID=private)
    grants.end(IssuerGrant.objects.get(partner=world.partner), asker())
    write()
    assert Export.objects.get(pk=uuid_of(late)).status == "FAILED"
    authentication.cache.clear()
    assert client_of.ask(EXPORT, {"id": written}).code == "FORBIDDEN"
    node = "query ($id: ID!) { node(id: $id) { id } }"
    assert client_of.ask(node, {"id": written}).data["node"] is None
    assert client_of.http.get(url).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_rows_of_a_grant_that_has_ended_are_not_downloaded(
    world: World, client_of: Partner
):
    names = [name for name, each in CONNECTIONS.items() if each.shows_granted]
    assert names == ["TOKENS", "MARKETS", "REFUSED_ORDERS", "POSITIONS", "EVENTS"]
    ids = [client_of.create(name) for name in names]
    ids.append(client_of.create("TOKENS", issuerID=f"Issuer|{world.listed.pk}"))
    kept = client_of.create("ISSUERS")
    write()
    urls = [client_of.export(id)["url"] for id in ids]
    assert "LUMF" in {line["symbol"] for line in client_of.lines(ids[0])}
    grants.end(IssuerGrant.objects.get(partner=world.partner), asker())
    authentication.cache.clear()
    node = "query ($id: ID!) { node(id: $id) { id } }"
    for id, url in zip(ids, urls, strict=True):
        assert client_of.http.get(url).status_code == 403
        assert client_of.ask(EXPORT, {"id": id}).code == "FORBIDDEN"
        assert client_of.ask(node, {"id": id}).data["node"] is None
    assert client_of.get(kept).status_code == 200
    # One that is asked for now has what the partner sees now.
    later = client_of.create("TOKENS")
    write()
    assert [line["symbol"] for line in client_of.lines(later)] == ["LUM"]


def test_events_need_every_scope_that_shows_some(world: World):
    for missing in CONNECTIONS["EVENTS"].scopes:
        scopes = [scope for scope in Scope if scope != missing]
        asking = Partner(Ask(approved_key(world.partner, scopes)[1]))
        answer = asking.try_to_create("EVENTS")
        assert answer.code == "FORBIDDEN"
        assert answer.errors[0]["extensions"]["requiredScope"] == missing


def test_accounts_of_others_are_not_exported(world: World, client_of: Partner):
    [theirs] = new_clients(1)
    for name in ("ORDERS", "CASH_ENTRIES"):
        id = f"Account|{theirs.pk}"
        answer = client_of.try_to_create(name, accountID=id)
        assert answer.code == "NOT_FOUND"
        assert answer.errors[0]["extensions"]["argument"] == "input.accountID"


@pytest.mark.parametrize(
    ("connection", "members", "argument"),
    [
        ("CASH_ENTRIES", {}, "input.accountID"),
        ("EVENTS", {"accountID": "x"}, "input.accountID"),
        ("ORDERS", {"tokenID": "x"}, "input.tokenID"),
        ("TOKENS", {"issuerID": "x", "accountID": "x"}, "input.accountID"),
        ("PRICES", {"tokenID": "x", "date": "2026-01-01"}, "input.date"),
    ],
)
def test_what_does_not_go_with_the_connection_is_refused(
    connection: str, members: dict[str, str], argument: str, client_of: Partner
):
    answer = client_of.try_to_create(connection, **members)
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["argument"] == argument


def test_the_database_knows_what_each_export_is_of(world: World):
    """Whatever the role writes, a row without its object is refused."""
    for name, exported in CONNECTIONS.items():
        if None not in exported.paths:
            export = Export(partner=world.partner, connection=name)
            with pytest.raises(IntegrityError), transaction.atomic():
                export.save()
