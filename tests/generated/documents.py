"""Generated requests: valid documents of every shape, with values that are there.

hypothesis-graphql writes plain documents whose values are mostly out of range. Three
passes over each follow: one selects more fields, one brings the values into range, one
turns parts into aliases, fragments, directives, variables, further operations. The same
schema, samples and seed give the same requests.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    GraphQLField,
    GraphQLSchema,
    InlineFragmentNode,
    NameNode,
    SelectionSetNode,
    ValueNode,
    ast_from_value,
    get_named_type,
    is_enum_type,
    is_required_argument,
    parse,
    print_ast,
    validate,
)
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis_graphql import nodes, queries

from tests.generated.fuller import Fuller
from tests.generated.shapes import Shapes

ROOTS = (
    "issuers",
    "issuers",
    "issuer",
    "issuer",
    "issuer",
    "industryClassificationBenchmarks",
    "tokens",
    "markets",
    "nodes",
    "viewer",
    "accounts",
    "accounts",
    "idempotentRequest",
)
"""Fields that get documents of their own, or most would hold no rows."""
ROOM = 300
"""Rows that the nested pages of one document may multiply to."""
KEPT_AS_GENERATED = 0.04
"""Share of values that stay out of range, as hypothesis-graphql made them."""
WIDE = {
    "Int64": st.integers(-(2**63), 2**63 - 1).map(nodes.Int),
    "Uint64": st.integers(0, 2**64 - 1).map(nodes.Int),
}
UNKNOWN = "00000000-0000-7000-8000-000000000000"


class Request(NamedTuple):
    """What a client posts; `operation_name` where the text holds several."""

    text: str
    variables: dict[str, Any]
    operation_name: str | None


@dataclass(frozen=True, slots=True)
class Samples:
    """Values of the data that documents will be asked of.

    `ids` by type name; `cursors` by the name of the list's field; `values` by
    `field.argument`, such as `issuers.search`.
    """

    ids: Mapping[str, Sequence[str]]
    cursors: Mapping[str, Sequence[str]]
    values: Mapping[str, Sequence[str]]


def requests(
    schema: GraphQLSchema, samples: Samples, count: int, seed: int
) -> Iterator[Request]:
    """`count` requests; each is valid against the schema."""
    texts = plain_documents(schema, count, seed)
    for number, text in enumerate(texts):
        random = Random(f"{seed}/{number}")
        parts = [text]
        while random.random() < 0.5:
            parts.append(random.choice(texts))
        yield request(schema, samples, parts, random)


def request(
    schema: GraphQLSchema, samples: Samples, texts: list[str], random: Random
) -> Request:
    document = joined(texts)
    Fuller(schema, random).fill(document)
    Values(schema, samples, random).fill(document)
    for _ in range(5):
        shapes = Shapes(schema, random)
        shaped, variables, name = shapes.vary(deepcopy(document))
        text = print_ast(shaped)
        # Spread where other arguments stand, a fragment may conflict with them.
        if not validate(schema, parse(text)):
            return Request(text, variables, name)
    return Request(print_ast(document), {}, None)


def plain_documents(schema: GraphQLSchema, count: int, number: int) -> list[str]:
    texts: list[str] = []
    every = [queries(schema, allow_x00=False, custom_scalars=WIDE)]
    roots = [name for name in ROOTS if name in schema.query_type.fields]
    single = [
        queries(schema, fields=[name], allow_x00=False, custom_scalars=WIDE)
        for name in roots
    ]

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(*single, *every))
    def collect(text: str) -> None:
        texts.append(text)

    while len(texts) < count:
        seed(number + len(texts))(collect)()
    return texts[:count]


def joined(texts: list[str]) -> DocumentNode:
    """One document with all root fields, the later ones under aliases."""
    document, *others = [parse(text) for text in texts]
    selections = list(document.definitions[0].selection_set.selections)
    for number, other in enumerate(others, 1):
        for field in other.definitions[0].selection_set.selections:
            field.alias = NameNode(value=f"j{number}_{field.name.value}")
            selections.append(field)
    document.definitions[0].selection_set.selections = tuple(selections)
    return document


class Values:
    """The first pass: arguments that name what is there, pages that are affordable."""

    def __init__(self, schema: GraphQLSchema, samples: Samples, random: Random) -> None:
        self.schema = schema
        self.samples = samples
        self.random = random

    def fill(self, document: DocumentNode) -> None:
        operation = document.definitions[0]
        self.visit(operation.selection_set, self.schema.query_type, ROOM)

    def visit(self, selections: SelectionSetNode, parent: Any, room: int) -> None:
        for selection in selections.selections:
            if isinstance(selection, InlineFragmentNode):
                name = selection.type_condition.name.value
                self.visit(selection.selection_set, self.schema.type_map[name], room)
                continue
            if selection.name.value == "__typename":
                continue
            definition = parent.fields[selection.name.value]
            rows = 1
            if definition.args:
                default = 100 if parent is self.schema.query_type else 20
                rows = self.fill_field(selection, definition, default, room)
            if selection.selection_set:
                named = get_named_type(definition.type)
                self.visit(selection.selection_set, named, room // max(rows, 1))

    def fill_field(
        self, field: FieldNode, definition: GraphQLField, default: int, room: int
    ) -> int:
        """Set a field's arguments; the number of rows that it may answer."""
        name, rows = field.name.value, 1
        if self.random.random() < KEPT_AS_GENERATED:
            return rows
        given: dict[str, Any] = {}
        if "first" in definition.args:
            given, rows = self.page(name, default, room)
        if "depth" in definition.args and self.random.random() < 0.5:
            given["depth"] = self.random.randint(1, 12)
        if name in ("node", "token", "account"):
            given["id"] = self.some_id(field)
        if name == "nodes":
            rows = self.random.randint(1, 6)
            given["ids"] = [self.some_id(field) for _ in range(rows)]
        if name == "issuer":
            given = self.random.choice(
                [
                    {"id": self.random.choice(self.samples.ids["Issuer"])},
                    {"slug": self.random.choice(self.samples.values["issuer.slug"])},
                ]
            )
        for key, argument in definition.args.items():
            known = self.samples.values.get(f"{name}.{key}")
            share = 0.8 if is_required_argument(argument) else 0.15
            if known and name != "issuer" and self.random.random() < share:
                given[key] = self.random.choice(known)
        field.arguments = (
            *(
                self.argument(key, definition.args[key].type, value)
                for key, value in given.items()
            ),
            *(a for a in field.arguments if self.keeps(a, definition, given)),
        )
        return rows

    def keeps(
        self, node: ArgumentNode, definition: GraphQLField, given: dict[str, Any]
    ) -> bool:
        """Whether an argument stays as generated: a required one, half of the enums."""
        argument = definition.args[node.name.value]
        if node.name.value in given:
            return False
        is_enum = is_enum_type(get_named_type(argument.type))
        return is_required_argument(argument) or (
            is_enum and self.random.random() < 0.5
        )

    def argument(self, name: str, type_: Any, value: Any) -> ArgumentNode:
        node = ast_from_value(value, type_)
        assert isinstance(node, ValueNode)
        return ArgumentNode(name=NameNode(value=name), value=node)

    def page(self, name: str, default: int, room: int) -> tuple[dict[str, Any], int]:
        random = self.random
        forms = ["first", "first", "last", "both", "zero"]
        if default <= room:
            forms += ["default"]
        sizes = [random.randint(1, max(1, min(room, random.choice([3, 5, 30]))))]
        given: dict[str, Any] = {}
        match random.choice(forms):
            case "first" | "last" as form:
                given[form] = sizes[0]
            case "both":
                sizes.append(random.randint(1, sizes[0]))
                given["first"], given["last"] = sizes
            case "zero" if random.random() < 0.3:
                given["first"] = sizes[0] = 0
            case "zero":
                given["first"] = sizes[0]
            case "default":
                sizes = [default]
        cursors = self.samples.cursors.get(name, ())
        for key in ("after", "before"):
            if cursors and random.random() < 0.15:
                given[key] = random.choice(cursors)
        return given, sizes[0]

    def some_id(self, field: FieldNode) -> str:
        """An id of a type that the field selects something of, mostly."""
        if field.name.value in ("token", "account"):
            types = [field.name.value.capitalize()]
        else:
            types = [
                selection.type_condition.name.value
                for selection in field.selection_set.selections
                if isinstance(selection, InlineFragmentNode)
            ] or list(self.samples.ids)
        name = self.random.choice(types)
        known = self.samples.ids.get(name)
        if not known or self.random.random() < 0.05:
            return f"{name}|{UNKNOWN}"
        return self.random.choice(known)
