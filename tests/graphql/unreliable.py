"""A schema of every shape whose resolvers fail at random, on demand.

A field's result depends only on its parent, its name and its arguments. So two
executors that call resolvers in different orders see the same failures.
"""

from enum import Enum
from random import Random
from types import SimpleNamespace
from typing import Any

import graphene

from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.cost import LIST, Field
from partnerapi.graphql.resolvers import bind
from partnerapi.graphql.scalars import Time, Uint64


class Colour(Enum):
    RED = "RED"
    BLUE = "BLUE"


class Thing:
    """A parent: its values follow from its number."""

    def __init__(self, number: int, graphql_type: str = "Thing") -> None:
        random = Random(number)
        self.number = number
        self.graphql_type = graphql_type
        self.name = random.choice(["a", "é", None])
        self.title = "t"
        self.count = random.choice([None, -1, 2**52])
        self.flag = random.choice([None, True, False])
        self.ratio = random.choice([None, 0.5, 1e300])
        self.at = random.choice([None, "2026-01-31 12:00:00.5+00"])
        self.big = random.randrange(2**64)
        self.colour = random.choice(["RED", "BLUE", None])


def values(kind: str, usual: Any) -> Any:
    """A batch resolver that gives `usual(parent, random)`, or what `kind` may break."""

    def resolve(parents: list[Any], info: Any, **arguments: Any) -> list[Any]:
        key = f"{kind}{sorted(arguments.items())}"
        if info.context.unreliable and Random(key).random() < 0.05:
            raise BadUserInput(f"{kind} fails for all callers", argument="x")
        return [one(parent, key, info.context.unreliable) for parent in parents]

    def one(parent: Any, key: str, unreliable: bool) -> Any:
        number = parent.number if parent else 0
        random = Random(f"{number}{key}")
        if unreliable and random.random() < 0.15:
            return random.choice([None, BadUserInput("one fails"), ValueError("one")])
        if unreliable and random.random() < 0.05 and kind in ("count", "big", "colour"):
            return 1j
        if unreliable and random.random() < 0.2 and kind == "words":
            return ["b", None]
        return usual(parent, random)

    return resolve


def thing(parent: Any, random: Random) -> Thing:
    return Thing(random.randrange(1000))


def either(parent: Any, random: Random) -> Thing:
    return Thing(random.randrange(1000), random.choice(["Thing", "Other"]))


def several(parent: Any, random: Random) -> list[Any]:
    return [
        either(parent, random) if random.random() < 0.9 else None
        for _ in range(random.randrange(4))
    ]


def present(parent: Any, random: Random) -> list[Any]:
    return [Thing(random.randrange(1000)) for _ in range(random.randrange(4))]


class Named(graphene.Interface):
    id = graphene.ID(required=True)
    name = graphene.String()

    def resolve_id(things, info):
        return [str(thing.number) for thing in things]


class Leaves:
    name = graphene.String()
    title = graphene.String(required=True)
    flag = graphene.Boolean()
    ratio = graphene.Float()
    at = Time()
    count = graphene.Int(resolver=values("count", lambda t, r: t.count))
    big = Uint64(required=True, resolver=values("big", lambda t, r: t.big))
    colour = graphene.Field(
        graphene.Enum.from_enum(Colour),
        resolver=values("colour", lambda t, r: t.colour),
    )
    words = graphene.List(
        graphene.NonNull(graphene.String),
        resolver=values("words", lambda t, r: r.choice([["a"], ["b", "c"], [], None])),
    )


class Weight(graphene.InputObjectType):
    grams = graphene.Int(required=True)
    exact = graphene.Boolean(default_value=True)


class Branches:
    child = graphene.Field(
        lambda: SchemaThing,
        number=graphene.Int(),
        resolver=values("child", thing),
    )
    sure = graphene.Field(
        lambda: SchemaThing, required=True, resolver=values("sure", thing)
    )
    exact = graphene.Field(
        lambda: SchemaThing,
        number=graphene.Int(required=True),
        resolver=values("exact", thing),
    )
    sum = graphene.Int(
        numbers=graphene.List(graphene.NonNull(graphene.Int), required=True),
        resolver=values("sum", lambda t, r: r.randrange(1000)),
    )
    weigh = graphene.Int(
        weight=Weight(required=True),
        resolver=values("weigh", lambda t, r: r.randrange(1000)),
    )
    any = graphene.Field(Named, resolver=values("any", either))
    things = Field(
        graphene.List(graphene.NonNull(lambda: SchemaThing)),
        required=True,
        cost=LIST,
        number=graphene.Int(default_value=2),
        resolver=values("things", present),
    )
    several = Field(
        graphene.List(Named), cost=LIST, resolver=values("several", several)
    )
    grid = Field(
        graphene.List(graphene.NonNull(graphene.List(graphene.NonNull(Named)))),
        cost=LIST,
        resolver=values("grid", lambda t, r: [present(t, r), present(t, r)]),
    )


class SchemaThing(Leaves, Branches, graphene.ObjectType):
    class Meta:
        name = "Thing"
        interfaces = [Named]


class Other(Leaves, graphene.ObjectType):
    class Meta:
        interfaces = [Named]

    parent = graphene.Field(
        SchemaThing, required=True, resolver=values("parent", thing)
    )


class Query(Branches, graphene.ObjectType):
    pass


schema = bind(graphene.Schema(query=Query, types=[Other]).graphql_schema)
reliable = SimpleNamespace(unreliable=False)
unreliable = SimpleNamespace(unreliable=True)
