"""Costs as fields declare them, on schemas of a few fields."""

import math
from types import SimpleNamespace
from typing import Any

import graphene
import pytest
from graphql import GraphQLSchema

from partnerapi.core.errors import MaxCostExceeded
from partnerapi.graphql.cost import Cost, Field, Known
from partnerapi.graphql.documents import prepare
from partnerapi.graphql.execution import execute
from partnerapi.graphql.relay import Connection
from partnerapi.graphql.resolvers import bind


class Holder(graphene.ObjectType):
    x = graphene.Int()


class HolderConnection(Connection):
    class Meta:
        node = Holder


HOLDERS = graphene.List(graphene.NonNull(Holder))


def schema(**fields: Any) -> GraphQLSchema:
    query = type("Query", (graphene.ObjectType,), fields)
    return bind(graphene.Schema(query=query).graphql_schema)


def cost(of: GraphQLSchema, query: str, **variables: Any) -> int:
    return prepare(of, query, None, variables).cost


THREE = schema(
    holders=Field(HOLDERS, cost=Cost(items=7)),
    orders=Field(HOLDERS, cost=Cost(items=3, points=2)),
    book=Field(Holder, depth=graphene.Int(), cost=Cost(times="depth", most=50)),
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("{ holders { x } }", 7),
        ("{ orders { x } }", 6),
        ("{ a: holders { x } orders { x } book { x } }", 7 + 6 + 1),
    ],
)
def test_a_field_costs_what_it_declares_whatever_its_name(query: str, expected: int):
    assert cost(THREE, query) == expected


@pytest.mark.parametrize(
    ("count", "rest"), [(3, 0), (1_000, 0), (1_001, 1), (1_004, 1), (1_005, 2)]
)
def test_items_are_charged_by_their_number_once_it_is_known(
    count: int, rest: int, monkeypatch: pytest.MonkeyPatch
):
    spent: list[int] = []
    many = schema(holders=Field(HOLDERS, cost=Cost(items=100, beyond=1_000)))
    field = many.query_type.fields["holders"]  # type: ignore[union-attr]
    rows = [SimpleNamespace(x=n) for n in range(count)]
    monkeypatch.delitem(field.extensions, "attribute")
    monkeypatch.setitem(field.extensions, "batch", lambda roots, info: [rows])
    prepared = prepare(many, "{ a: holders { x } b: holders { x } }", None, {})
    assert prepared.cost == 2 * 100
    answered = execute(prepared, SimpleNamespace(spend=spent.append), math.inf)
    assert [len(holders) for holders in answered.data.values()] == [count] * 2
    assert spent == [rest] * 2 * (rest > 0)


def test_what_is_known_to_cost_too_much_is_not_read(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.PARTNER_API_MAX_COST = 5_000
    left, read = [4_900], list[int]()
    known = Known(lambda roots: [21_000], "Ask for less.")
    declared = Cost(items=100, beyond=1_000, known=known)
    many = schema(holders=Field(HOLDERS, cost=declared))
    field = many.query_type.fields["holders"]  # type: ignore[union-attr]
    monkeypatch.delitem(field.extensions, "attribute")

    def batch(roots: object, info: object) -> list[list[object]]:
        read.append(1)
        return [[]]

    monkeypatch.setitem(field.extensions, "batch", batch)
    prepared = prepare(many, "{ holders { x } }", None, {})
    spent: list[int] = []
    context = SimpleNamespace(spend=spent.append, left=lambda: left[0])
    [error] = execute(prepared, context, math.inf).errors or []
    refused = error.original_error
    assert isinstance(refused, MaxCostExceeded)
    assert refused.details == {
        "cost": 5_100,
        "maximum": 5_000,
        "fields": [{"path": "holders", "points": 5_000}],
    }
    assert str(refused).endswith("Ask for less.")
    assert (read, spent) == ([], [])
    left[0] = 5_000
    assert execute(prepared, context, math.inf).errors is None
    assert (read, spent) == ([1], [5_000])


class Book(graphene.ObjectType):
    side = graphene.Field(Holder)


def test_a_multiplier_without_default_counts_as_the_most():
    book = Field(Book, depth=graphene.Int(), cost=Cost(times="depth", most=50))
    books = schema(book=book)
    assert cost(books, "{ book { side { x } } }") == 1 + 50
    assert cost(books, "{ book(depth: null) { side { x } } }") == 1 + 50
    assert cost(books, "{ book(depth: 3) { side { x } } }") == 1 + 3
    by_variable = "query ($d: Int) { book(depth: $d) { side { x } } }"
    assert cost(books, by_variable) == 1 + 50
    assert cost(books, by_variable, d=4) == 1 + 4
    assert cost(books, by_variable, d=51) == 1 + 50


def test_a_list_is_as_long_as_its_argument():
    names = graphene.List(graphene.String, default_value=["a", "b", "c"])
    listed = schema(holders=Field(HOLDERS, names=names, cost=Cost(length="names")))
    assert cost(listed, "{ holders { x } }") == 3
    assert cost(listed, '{ holders(names: ["a", "b"]) { x } }') == 2
    assert cost(listed, "{ holders(names: []) { x } }") == 1
    assert cost(listed, '{ holders(names: "a") { x } }') == 1
    assert cost(listed, "{ holders(names: null) { x } }") == 3
    by_variable = "query ($n: [String]) { holders(names: $n) { x } }"
    assert cost(listed, by_variable, n=["a"] * 9) == 9
    assert cost(listed, by_variable) == 3


def test_leaves_cost_nothing_unless_they_say_so():
    leaves = schema(
        words=graphene.List(graphene.String),
        word=graphene.String(),
        sum=Field(graphene.Int, cost=Cost(points=5)),
    )
    assert cost(leaves, "{ words word }") == 0
    assert cost(leaves, "{ words word sum }") == 5


@pytest.mark.parametrize(
    ("field", "error"),
    [
        (
            HOLDERS,
            "Query.holders lists objects: say how many they count as, Field(…, "
            "cost=Cost(items=100)), or which argument is as long, cost=Cost(length=…).",
        ),
        (
            Field(graphene.NonNull(graphene.List(HOLDERS)), cost=Cost()),
            "Query.holders lists objects: say how many they count as, Field(…, "
            "cost=Cost(items=100)), or which argument is as long, cost=Cost(length=…).",
        ),
        (
            graphene.Field(HolderConnection),
            "Query.holders answers a connection: it needs connection_field(…).",
        ),
        (
            Field(HOLDERS, cost=Cost(length="ids")),
            "Query.holders costs by an argument that it does not have: ids.",
        ),
        (
            Field(Holder, depth=graphene.Int(), cost=Cost(times="depth")),
            "Query.holders costs `depth` times as much: say up to how many, most=….",
        ),
        (
            Field(HOLDERS, count=graphene.Int(), cost=Cost(length="count")),
            "Query.holders has the length of `count`, which is not a list.",
        ),
        (
            Field(Holder, depth=graphene.String(), cost=Cost(times="depth", most=9)),
            "Query.holders costs `depth` times as much, which is not an Int.",
        ),
        (
            Field(HOLDERS, cost=Cost(items=0)),
            "Query.holders costs too little: points=… is 0 or more, items=… is 1 or "
            "more.",
        ),
        (
            Field(Holder, cost=Cost(points=-1)),
            "Query.holders costs too little: points=… is 0 or more, items=… is 1 or "
            "more.",
        ),
    ],
)
def test_refuses_a_schema_whose_costs_are_not_known(field: Any, error: str):
    with pytest.raises(TypeError) as refused:
        schema(holders=field)
    assert str(refused.value) == error


def test_refuses_a_mutation_that_declares_no_cost():
    query = type("Query", (graphene.ObjectType,), {"x": graphene.Int()})
    mutation = type("Mutation", (graphene.ObjectType,), {"change": graphene.Int()})
    with pytest.raises(TypeError, match=r"Mutation\.change is a mutation: it needs"):
        bind(graphene.Schema(query=query, mutation=mutation).graphql_schema)
