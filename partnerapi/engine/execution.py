"""Runs a planned operation; how a batch resolver is called is known only here.

A batch resolver receives all parents of its field on a level and returns a value, or
an exception, for each, in order: `def resolve_articles(issuers, info, **page)`.
"""

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Any

from graphene.types.definitions import GrapheneScalarType
from graphql import (
    ExecutionResult,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    execute_sync,
    get_named_type,
)

from partnerapi.engine.documents import Plan, Prepared
from partnerapi.engine.errors import RequestTimeout
from partnerapi.engine.selections import Selection

BatchResolver = Callable[..., list[Any]]


class Info:
    """What a batch resolver knows besides its parents and arguments.

    `context` is the request's; `selection` is what the document selects below the
    field, and what the columns to read follow from.
    """

    __slots__ = ("context", "selection")

    def __init__(self, context: Any, selection: Selection | None) -> None:
        self.context = context
        self.selection = selection


def needs(*columns: str) -> Callable[[BatchResolver], BatchResolver]:
    """Name the columns of its parents that a batch resolver reads, besides `id`."""

    def note(resolver: BatchResolver) -> BatchResolver:
        resolver.columns = columns  # type: ignore[attr-defined]
        return resolver

    return note


def column(path: str) -> BatchResolver:
    """The resolver of a field that is one column, such as `owner__lei`."""

    @needs(path)
    def resolve(rows: list[Any], info: Info) -> list[Any]:
        return [getattr(row, path) for row in rows]

    return resolve


def bind(schema: GraphQLSchema) -> GraphQLSchema:
    """Prepare a graphene schema whose resolvers are batch resolvers.

    Notes on each field the columns that it needs, tells interfaces' types by their
    rows, and lets graphql-core call each resolver with one parent.
    """
    for type_ in schema.type_map.values():
        if isinstance(type_, GrapheneScalarType):
            type_.specified_by_url = getattr(type_.graphene_type, "url", None)
        if isinstance(type_, GraphQLInterfaceType):
            type_.resolve_type = lambda row, info, abstract: row.graphql_type
        if not isinstance(type_, GraphQLObjectType) or type_.name.startswith("__"):
            continue
        for field in type_.fields.values():
            # Without a resolver of its own, graphene gives a partial over the name.
            if isinstance(field.resolve, partial):
                [attribute, *_] = field.resolve.args
                field.extensions = {"columns": (attribute,)}
            elif field.resolve:
                batch = field.resolve
                field.extensions = {"columns": getattr(batch, "columns", ())}
                field.resolve = partial(resolve_one, batch)
    return schema


def resolve_one(
    batch: BatchResolver, parent: Any, info: GraphQLResolveInfo, **arguments: Any
) -> Any:
    execution: Execution = info.context
    execution.check_time()
    named = get_named_type(info.return_type)
    source = execution.plan.selection.source
    selection = source.select(named, info.field_nodes)
    [value] = batch([parent], Info(execution.context, selection), **arguments)
    return value


class Execution:
    """One run of an operation: the request's context and its deadline."""

    def __init__(self, plan: Plan, context: Any, deadline: float) -> None:
        self.plan = plan
        self.context = context
        self.deadline = deadline

    def check_time(self) -> None:
        if monotonic() > self.deadline:
            raise RequestTimeout(
                "The request took too long and was ended; ask for smaller pages."
            )


def execute(prepared: Prepared, context: Any, deadline: float) -> ExecutionResult:
    """Run a prepared request; what fails is in the result's errors.

    `deadline` is a reading of `time.monotonic`, after which fields fail with TIMEOUT.
    """
    operation = prepared.operation
    return execute_sync(
        operation.schema,
        operation.ast,
        variable_values=prepared.inputs,
        operation_name=operation.node.name.value if operation.node.name else None,
        context_value=Execution(prepared.plan, context, deadline),
    )
