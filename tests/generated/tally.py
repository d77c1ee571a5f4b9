"""Sends generated documents and counts what their answers reached."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
from graphql import GraphQLSchema
from rich.console import Console
from rich.table import Table

from partnerapi.graphql.documents import prepare
from tests.characters import Answer, Ask
from tests.generated.documents import Request, Samples, requests

META = "__typename"


class Tally:
    """What the answers of a storm amount to."""

    def __init__(self, schema: GraphQLSchema) -> None:
        self.schema = schema
        self.documents = 0
        self.without_errors = 0
        self.with_rows = 0
        self.with_fragments = 0
        self.with_variables = 0
        self.with_directives = 0
        self.statuses: Counter[int] = Counter()
        self.codes: Counter[str] = Counter()
        self.fields: Counter[str] = Counter()
        self.masked: list[Request] = []
        self.timed_out: list[Request] = []

    def count(self, request: Request, answer: Answer) -> None:
        self.documents += 1
        self.statuses[answer.status] += 1
        self.with_fragments += "fragment F" in request.text
        self.with_variables += bool(request.variables)
        self.with_directives += "@" in request.text
        codes = {error["extensions"]["code"] for error in answer.body.get("errors", ())}
        self.codes.update(codes)
        self.without_errors += not codes
        if answer.status >= 500 or "INTERNAL_SERVER_ERROR" in codes:
            self.masked.append(request)
        if "TIMEOUT" in codes:
            self.timed_out.append(request)
        if answer.body.get("data"):
            reached = set(self.reached(request, answer.body["data"]))
            self.fields.update(name for name in reached if name)
            self.with_rows += "" in reached

    def reached(self, request: Request, data: dict[str, Any]) -> Iterator[str]:
        """Each `Type.field` that is in the answer; "" for a page that holds rows."""
        prepared = prepare(
            self.schema, request.text, request.operation_name, request.variables
        )
        yield from walk(prepared.plan.selection, data)

    @property
    def every_field(self) -> list[str]:
        return [
            f"{type_.name}.{name}"
            for type_ in self.schema.type_map.values()
            if not type_.name.startswith("__")
            for name in getattr(type_, "fields", ())
            if type_.name != "Node"
        ]


def walk(selection: Any, data: Any) -> Iterator[str]:
    if isinstance(data, list):
        for item in data:
            yield from walk(selection, item)
        return
    if data is None:
        return
    # Behind an interface, the keys identify the type, or the object is not counted.
    fitting = [
        type_
        for type_ in selection.types
        if {field.key for field in selection.fields(type_.name)} == data.keys()
    ]
    if len(fitting) != 1:
        return
    [type_] = fitting
    for field in selection.fields(type_.name):
        value = data[field.key]
        if field.name != META:
            yield f"{type_.name}.{field.name}"
        if type_.name.endswith("Connection") and value and isinstance(value, list):
            yield ""
        if field.selection:
            yield from walk(field.selection, value)


def storm(
    schema: GraphQLSchema,
    samples: Samples,
    asks: list[Ask],
    documents: int,
    seed: int,
) -> Tally:
    """Send generated documents, most by the first of `asks`, and count the answers."""
    tally = Tally(schema)
    sent = requests(schema, samples, documents, seed)
    for number, request in enumerate(sent):
        ask = asks[number // 5 % len(asks)] if number % 5 == 4 else asks[0]
        body = {
            "query": request.text,
            "variables": request.variables,
            "operationName": request.operation_name,
        }
        tally.count(request, ask.post(orjson.dumps(body)))
    return tally


def report(tally: Tally, console: Console) -> None:
    for title, number in (
        ("answered without errors", tally.without_errors),
        ("hold a page with rows", tally.with_rows),
        ("have fragments", tally.with_fragments),
        ("have variables", tally.with_variables),
        ("have directives", tally.with_directives),
    ):
        share = number / tally.documents
        console.print(f"{number:>6} of {tally.documents} ({share:.0%}) {title}")
    console.print(f"statuses: {dict(tally.statuses)}; codes: {dict(tally.codes)}")
    table = Table("field", "documents", title="Documents that each field was read by")
    for name in sorted(tally.every_field, key=lambda name: tally.fields[name]):
        table.add_row(name, str(tally.fields[name]))
    console.print(table)
