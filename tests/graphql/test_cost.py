"""Costs as fields declare them, on schemas of a few fields."""

import math
from types import SimpleNamespace
from typing import Any

import graphene
import pytest
from graphql import GraphQLSchema

from partnerapi.core.errors import MaxCostExceeded
from partnerapi.graphql.cost import FOUND, LIST, Cost, Counter, Field
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
    holders=Field(HOLDERS, cost=LIST),
    orders=Field(HOLDERS, cost=FOUND),
    book=Field(Holder, cost=Cost(points=7)),
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("{ holders { x } }", 1),
        ("{ orders { x } }", 11),
        ("{ a: holders { x } orders { x } book { x } }", 1 + 11 + 8),
    ],
)
def test_a_field_costs_what_it_declares_whatever_its_name(query: str, expected: int):
    assert cost(THREE, query) == expected


def answering(
    monkeypatch: pytest.MonkeyPatch, declared: Cost, rows: list[Any]
) -> tuple[GraphQLSchema, list[int]]:
    """A schema with a list of holders, and how often the list was read."""
    made = schema(holders=Field(HOLDERS, cost=declared))
    field = made.query_type.fields["holders"]  # type: ignore[union-attr]
    read: list[int] = []

    def batch(roots: object, info: object) -> list[list[Any]]:
        read.append(1)
        return [rows]

    monkeypatch.delitem(field.extensions, "attribute")
    monkeypatch.setitem(field.extensions, "batch", batch)
    return made, read


@pytest.mark.parametrize("count", [0, 1, 3, 1_000])
def test_the_items_of_a_list_are_counted_when_they_are_answered(
    count: int, monkeypatch: pytest.MonkeyPatch
):
    rows = [SimpleNamespace(x=n) for n in range(count)]
    many, _ = answering(monkeypatch, FOUND, rows)
    prepared = prepare(many, "{ a: holders { x } b: holders { x } }", None, {})
    assert prepared.cost == 2 * (10 + 1)
    answered = execute(prepared, SimpleNamespace(), math.inf)
    assert [len(holders) for holders in answered.data.values()] == [count] * 2
    assert answered.extensions == {"points": 20 + 2 * count}


def test_a_list_that_turns_out_too_long_is_not_read_further(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.PARTNER_API_MAX_COST = 500
    many, _ = answering(monkeypatch, FOUND, [SimpleNamespace(x=1)] * 300)
    prepared = prepare(many, "{ a: holders { x } b: holders { x } }", None, {})
    answered = execute(prepared, SimpleNamespace(), math.inf)
    assert answered.data == {"a": [{"x": 1}] * 300, "b": None}
    [error] = answered.errors or []
    refused = error.original_error
    assert isinstance(refused, MaxCostExceeded)
    assert refused.details == {
        "cost": 22 + 2 * 299,
        "maximum": 500,
        "fields": [{"path": "b", "points": 299}],
    }
    assert answered.extensions == {"points": 320}


def test_what_is_known_to_cost_too_much_is_not_read(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.PARTNER_API_MAX_COST = 5_000
    sizes = [4_991]
    counter = Counter(lambda roots: sizes, "Ask for less.")
    many, read = answering(monkeypatch, Cost(reads=True, counter=counter), [])
    prepared = prepare(many, "{ holders { x } }", None, {})
    [error] = execute(prepared, SimpleNamespace(), math.inf).errors or []
    refused = error.original_error
    assert isinstance(refused, MaxCostExceeded)
    assert refused.details == {
        "cost": 5_001,
        "maximum": 5_000,
        "fields": [{"path": "holders", "points": 4_990}],
    }
    assert str(refused).endswith("Ask for less.")
    assert read == []
    sizes[:] = [4_990]
    assert execute(prepared, SimpleNamespace(), math.inf).errors is None
    assert read == [1]


@pytest.mark.parametrize(("most", "bound"), [(7, 17), (None, 10_000)])
def test_the_bound_counts_the_most_items_that_a_list_may_have(
    most: int | None, bound: int
):
    listed = schema(holders=Field(HOLDERS, cost=Cost(reads=True, most=most)))
    assert prepare(listed, "{ holders { x } }", None, {}).bound == bound


def test_a_list_is_as_long_as_its_argument():
    names = graphene.List(graphene.String)
    listed = schema(holders=Field(HOLDERS, names=names, cost=Cost(length="names")))
    assert cost(listed, "{ holders { x } }") == 1
    assert cost(listed, '{ holders(names: ["a", "b"]) { x } }') == 2
    assert cost(listed, "{ holders(names: []) { x } }") == 1
    assert cost(listed, '{ holders(names: "a") { x } }') == 1
    assert cost(listed, "{ holders(names: null) { x } }") == 1
    by_variable = "query ($n: [String]) { holders(names: $n) { x } }"
    assert cost(listed, by_variable, n=["a"] * 9) == 9
    assert cost(listed, by_variable) == 1


def test_leaves_cost_nothing_unless_they_say_so():
    leaves = schema(
        words=graphene.List(graphene.String),
        word=graphene.String(),
        sum=Field(graphene.Int, cost=Cost(points=5)),
    )
    assert cost(leaves, "{ words word }") == 0
    assert cost(leaves, "{ words word sum }") == 5


LISTS_OBJECTS = (
    "Query.holders lists objects: say what it costs, such as Field(…, cost=LIST)."
)


@pytest.mark.parametrize(
    ("field", "error"),
    [
        (HOLDERS, LISTS_OBJECTS),
        (graphene.Field(graphene.NonNull(graphene.List(HOLDERS))), LISTS_OBJECTS),
        (
            graphene.Field(HolderConnection),
            "Query.holders answers a connection: it needs connection_field(…).",
        ),
        (
            Field(HOLDERS, cost=Cost(length="ids")),
            "Query.holders costs by an argument that it does not have: ids.",
        ),
        (
            Field(HOLDERS, count=graphene.Int(), cost=Cost(length="count")),
            "Query.holders has the length of `count`, which is not a list.",
        ),
        (
            Field(Holder, cost=Cost(points=-1)),
            "Query.holders costs less than nothing.",
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
