"""How the fields of a schema are resolved: by a batch resolver, or from a column.

A batch resolver gets all parents of its field on a level. It returns a value or an
exception for each, in order: `def resolve_articles(issuers, info, **page)`.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial, wraps
from typing import Any, NamedTuple, Protocol

from graphene.types.definitions import GrapheneScalarType
from graphene.types.resolver import attr_resolver
from graphql import (
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLObjectType,
    GraphQLSchema,
)
from graphql.execution.values import get_argument_values

from partnerapi.core.errors import PartnerAPIError
from partnerapi.graphql.cost import set_costs
from partnerapi.graphql.documents import PreparedRequest
from partnerapi.graphql.introspection import INTROSPECTION
from partnerapi.graphql.limits import check_lengths
from partnerapi.graphql.scalars import widen_int
from partnerapi.graphql.selections import SelectedField, Selection

BatchResolver = Callable[..., list[Any]]


class Info:
    """The input of a batch resolver in addition to its parents and arguments.

    `context` is the request's. `selection` is the document's selection below the field:
    it determines which columns to read. `variables` are the operation's.
    """

    __slots__ = ("context", "selection", "variables")

    def __init__(
        self, context: Any, selection: Selection | None, variables: dict[str, Any]
    ) -> None:
        self.context = context
        self.selection = selection
        self.variables = variables

    def arguments_below(self, type_name: str, name: str) -> Iterator[dict[str, Any]]:
        """The arguments of each field of this name that is selected of a type."""
        assert self.selection is not None
        for field in self.selection.fields(type_name):
            if field.name == name:
                yield arguments_of(field, self.variables)


def needs(*columns: str) -> Callable[[BatchResolver], BatchResolver]:
    """Name the parents' columns that a batch resolver reads in addition to the key."""

    def decorate(resolver: BatchResolver) -> BatchResolver:
        resolver.columns = columns  # type: ignore[attr-defined]
        return resolver

    return decorate


def check_first(check: Callable[..., None]) -> Callable[[BatchResolver], BatchResolver]:
    """Run a mutation's resolver only after `check(context, **arguments)`.

    The gateway calls the check first, too: a request that raises a PartnerAPIError in
    it is refused before it claims its Idempotency-Key.
    """

    def decorate(resolver: BatchResolver) -> BatchResolver:
        @wraps(resolver)
        def guarded(parents: list[Any], info: Info, **arguments: Any) -> list[Any]:
            check(info.context, **arguments)
            return resolver(parents, info, **arguments)

        guarded.check = check  # type: ignore[attr-defined]
        return guarded

    return decorate


def commits_itself(
    when: Callable[..., bool] = lambda **arguments: True,
) -> Callable[[BatchResolver], BatchResolver]:
    """A mutation that commits step by step, where `when(**arguments)`.

    It may be repeated: the gateway gives it no transaction and stores no answer.
    """

    def decorate(resolver: BatchResolver) -> BatchResolver:
        resolver.commits_itself = when  # type: ignore[attr-defined]
        return resolver

    return decorate


def stops_orders(resolver: BatchResolver) -> BatchResolver:
    """A mutation that may take the lane of the kill switch."""
    resolver.stops_orders = True  # type: ignore[attr-defined]
    return resolver


def seals_answer(resolver: BatchResolver) -> BatchResolver:
    """Encrypt the stored answer of a mutation: it holds a secret."""
    resolver.seals_answer = True  # type: ignore[attr-defined]
    return resolver


class Groups(Protocol):
    """How a mutation's concurrent requests are answered together."""

    def subject(self, selection: Selection, **arguments: Any) -> Hashable | None:
        """What must be the same of requests of a group; None: this one goes alone."""

    def resolve(
        self, subject: Hashable, calls: Sequence[tuple[Any, dict[str, Any]]]
    ) -> list[Any]:
        """For each context with its arguments, the parent that the resolver gets."""

    def answer(
        self,
        subject: Hashable,
        asked: Any,
        due: float,
        alone: Callable[[], Any],
        together: Callable[[list[Any]], list[Any]],
        place: Any,
    ) -> Any:
        """The answer to one request, by one of the two.

        `place` is the web worker's, or None; it is given up during a wait.
        """


def in_groups(groups: Groups) -> Callable[[BatchResolver], BatchResolver]:
    """Answer a mutation's concurrent requests in groups.

    The resolver gets as its parent what `groups.resolve` made of the request; None
    where the request goes alone.
    """

    def decorate(resolver: BatchResolver) -> BatchResolver:
        resolver.groups = groups  # type: ignore[attr-defined]
        return resolver

    return decorate


class Grouped(NamedTuple):
    """A request that may go with others of its subject."""

    groups: Groups
    subject: Hashable
    arguments: dict[str, Any]


def root_fields(
    prepared: PreparedRequest,
) -> Iterator[tuple[SelectedField, BatchResolver | None]]:
    """The fields of the operation itself, each with its batch resolver or None."""
    selection = prepared.plan.selection
    for field in selection.fields(selection.type.name):
        yield field, field.definition.extensions.get("batch")


def arguments_of(field: SelectedField, variables: dict[str, Any]) -> dict[str, Any]:
    """A field's arguments, with the values of an operation's variables.

    Raises:
        GraphQLError: a value is missing or of another type.
    """
    return get_argument_values(field.definition, field.nodes[0], variables)


def grouped(prepared: PreparedRequest) -> Grouped | None:
    """How the operation may go with others; None: it goes alone."""
    for field, batch in root_fields(prepared):
        groups = getattr(batch, "groups", None)
        if groups is None or field.selection is None:
            continue
        try:
            arguments = arguments_of(field, prepared.variables)
            check_lengths(field.definition, arguments)
        except (PartnerAPIError, GraphQLError):
            return None
        subject = groups.subject(field.selection, **arguments)
        return None if subject is None else Grouped(groups, subject, arguments)
    return None


def batch_resolvers(selection: Selection) -> Iterator[BatchResolver]:
    """The batch resolvers of all fields that a selection holds, on any type."""
    for type_ in selection.types:
        for field in selection.fields(type_.name):
            if batch := field.definition.extensions.get("batch"):
                yield batch
            if field.selection and field.name not in INTROSPECTION:
                yield from batch_resolvers(field.selection)


def passes_checks(prepared: PreparedRequest, context: Any) -> bool:
    """Whether no check of a root field refuses the operation."""
    for field, batch in root_fields(prepared):
        check = getattr(batch, "check", None)
        if check is None:
            continue
        try:
            check(context, **arguments_of(field, prepared.variables))
        except (PartnerAPIError, GraphQLError):
            return False
    return True


def has_own_commits(prepared: PreparedRequest) -> bool:
    """Whether a root field `commits_itself`; the operation passes its checks."""
    for field, batch in root_fields(prepared):
        if when := getattr(batch, "commits_itself", None):
            return bool(when(**arguments_of(field, prepared.variables)))
    return False


def only_stops_orders(prepared: PreparedRequest) -> bool:
    """Whether the operation is one field that `stops_orders`."""
    resolvers = [batch for _, batch in root_fields(prepared)]
    return len(resolvers) == 1 and hasattr(resolvers[0], "stops_orders")


def column(path: str) -> Callable[..., Any]:
    """The resolver of a field that is a column of its parents, such as `owner__lei`."""
    return partial(attr_resolver, path, None)


def bind(schema: GraphQLSchema) -> GraphQLSchema:
    """Keep with each field of a graphene schema how it is resolved and what it costs.

    `extensions` holds `batch`, a batch resolver, or `attribute`, a column of the
    parents; `columns`, what has to be read of them; and `cost`.

    Raises:
        TypeError: a field has to declare its cost and does not.
    """
    widen_int()
    for type_ in schema.type_map.values():
        if isinstance(type_, GrapheneScalarType):
            type_.specified_by_url = getattr(type_.graphene_type, "url", None)
        if isinstance(type_, GraphQLInterfaceType):
            type_.resolve_type = lambda row, info, abstract: row.graphql_type
        if not isinstance(type_, GraphQLObjectType) or type_.name.startswith("__"):
            continue
        for field in type_.fields.values():
            resolver, field.resolve = field.resolve, None
            if isinstance(resolver, partial):
                # graphene's default resolver is a partial over the name, too.
                path = resolver.args[0]
                field.extensions = {"attribute": path, "columns": (path,)}
            else:
                columns = getattr(resolver, "columns", ())
                field.extensions = {"batch": resolver, "columns": columns}
    set_costs(schema)
    return schema
