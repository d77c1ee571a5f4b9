"""Runs a planned operation breadth-first (GraphQL specification, chapter 6).

A batch resolver receives all parents of its field on a level and returns a value, or
an exception, for each, in order: `def resolve_articles(issuers, info, **page)`. A
level is completed column by column and then zipped into objects, so that no Python
call is made per leaf. Failures are marked where they happen; only an answer that holds
one is walked again, depth first, to propagate nulls and to collect the errors that a
depth-first executor would have met, in its order.
"""

from collections.abc import Callable
from functools import lru_cache, partial, wraps
from itertools import chain, islice
from operator import attrgetter
from time import monotonic
from typing import Any

from graphene.types.definitions import GrapheneScalarType
from graphene.types.resolver import attr_resolver
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    execute_sync,
    is_abstract_type,
    is_leaf_type,
    located_error,
)
from graphql.execution.values import get_argument_values
from graphql.pyutils import Path

from partnerapi.engine.documents import CACHED_PLANS, Prepared
from partnerapi.engine.errors import PartnerAPIError, RequestTimeout
from partnerapi.engine.leaves import column_serializer
from partnerapi.engine.selections import SelectedField, Selection

BatchResolver = Callable[..., list[Any]]


class Info:
    """What a batch resolver knows besides its parents and arguments.

    `context` is the request's; `selection` is what the document selects below the
    field, from which the columns to read follow.
    """

    __slots__ = ("context", "selection")

    def __init__(self, context: Any, selection: Selection | None) -> None:
        self.context = context
        self.selection = selection


def needs(*columns: str) -> Callable[[BatchResolver], BatchResolver]:
    """Name the columns of its parents that a batch resolver reads, besides the key."""

    def note(resolver: BatchResolver) -> BatchResolver:
        resolver.columns = columns  # type: ignore[attr-defined]
        return resolver

    return note


def checked(check: Callable[..., None]) -> Callable[[BatchResolver], BatchResolver]:
    """Let a mutation's resolver run only after `check(context, **arguments)`.

    A check that raises a PartnerAPIError refuses the request before any of it
    counts as tried: before its idempotency key is claimed.
    """

    def guard(resolver: BatchResolver) -> BatchResolver:
        @wraps(resolver)
        def guarded(parents: list[Any], info: Info, **arguments: Any) -> list[Any]:
            check(info.context, **arguments)
            return resolver(parents, info, **arguments)

        guarded.check = check  # type: ignore[attr-defined]
        return guarded

    return guard


def passes_checks(prepared: Prepared, context: Any) -> bool:
    """Whether the checks of all root fields let the operation run."""
    selection = prepared.plan.selection
    for field in selection.fields(selection.type.name):
        check = getattr(field.definition.extensions.get("batch"), "check", None)
        if check is None:
            continue
        try:
            arguments = get_argument_values(
                field.definition, field.nodes[0], prepared.variables
            )
            check(context, **arguments)
        except (PartnerAPIError, GraphQLError):
            return False
    return True


def column(path: str) -> Callable[..., Any]:
    """The resolver of a field that is one column of its parents: `owner__lei`."""
    return partial(attr_resolver, path, None)


def bind(schema: GraphQLSchema) -> GraphQLSchema:
    """Note on each field of a graphene schema how it is resolved, and what it needs.

    `extensions` holds `batch`, a batch resolver, or `attribute`, a column of the
    parents; and `columns`, what has to be read of them.
    """
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
                # graphene, too, gives a partial over the name: of its default resolver.
                path = resolver.args[0]
                field.extensions = {"attribute": path, "columns": (path,)}
            else:
                columns = getattr(resolver, "columns", ())
                field.extensions = {"batch": resolver, "columns": columns}
    return schema


class Failure:
    """Stands in a column where a value could not be had; `error` says why."""

    __slots__ = ("error",)

    def __init__(self, run: "Run", error: Exception) -> None:
        run.failed = True
        self.error = error


class Run:
    """One request's execution: what its steps share."""

    __slots__ = ("context", "deadline", "failed", "prepared", "types", "variables")

    def __init__(self, prepared: Prepared, context: Any, deadline: float) -> None:
        self.prepared = prepared
        self.variables = prepared.variables
        self.context = context
        self.deadline = deadline
        self.failed = False
        # The type of each object behind an interface, by the object's identity.
        self.types: dict[int, str] = {}


def execute(prepared: Prepared, context: Any, deadline: float) -> ExecutionResult:
    """Run a prepared request; what fails is in the result's errors.

    `deadline` is a reading of `time.monotonic`, after which fields fail with TIMEOUT.
    """
    run = Run(prepared, context, deadline)
    selection = prepared.plan.selection
    [data] = complete_objects(selection, selection.type.name, [None], run)
    return settle(run, selection, data) if run.failed else ExecutionResult(data, None)


def complete_objects(
    selection: Selection, type_name: str, parents: list[Any], run: Run
) -> list[Any]:
    """The response objects of parents of one type, in order."""
    if not parents:
        return []
    steps = selection.steps.get(type_name)
    if steps is None:
        steps = [Step(field) for field in selection.fields(type_name)]
        selection.steps[type_name] = steps
    if not steps:
        return [{} for _ in parents]
    read = reader(parents)
    columns = [step.complete(step.resolve(parents, read, run), run) for step in steps]
    return builder(tuple(step.field.key for step in steps))(columns)


@lru_cache(maxsize=2000)
def builder(keys: tuple[str, ...]) -> Callable[[list[list[Any]]], list[Any]]:
    """A function from columns to objects with these keys.

    The text `lambda columns: [{'id': v0, 'name': v1} for v0, v1, in zip(*columns)]` is
    twice as fast as dict(zip(keys, values)). Response keys are GraphQL names.
    """
    names = "".join(f"v{n}, " for n in range(len(keys)))
    pairs = ", ".join(f"{key!r}: v{n}" for n, key in enumerate(keys))
    build: Callable[[list[list[Any]]], list[Any]] = eval(
        f"lambda columns: [{{{pairs}}} for {names} in zip(*columns)]"
    )
    return build


def reader(parents: list[Any]) -> Callable[[str], list[Any]]:
    """A function from a column's name to the column; rows are transposed once."""
    classes = set(map(type, parents))
    positions = getattr(parents[0], "positions", None) if len(classes) == 1 else None
    if positions is None:
        return lambda name: list(map(attrgetter(name), parents))
    columns = list(zip(*parents))  # noqa: B905
    return lambda name: columns[positions[name]]  # type: ignore[return-value]


class Step:
    """One field of a selection, ready to run: resolve a column, then complete it."""

    __slots__ = ("arguments", "attribute", "batch", "complete", "field")

    def __init__(self, field: SelectedField) -> None:
        extensions = field.definition.extensions
        self.field = field
        self.attribute: str | None = extensions.get("attribute")
        self.batch: BatchResolver | None = extensions.get("batch")
        self.arguments = None if field.nodes[0].arguments else default_arguments(field)
        self.complete = completer(field.definition.type, field)

    def resolve(
        self, parents: list[Any], read: Callable[[str], list[Any]], run: Run
    ) -> list[Any]:
        if self.attribute is not None:
            return read(self.attribute)
        if self.batch is None:
            value = (
                self.field.parent.name
                if self.field.name == "__typename"
                else introspect(self.field, run)
            )
            return [value] * len(parents)
        try:
            if monotonic() > run.deadline:
                raise RequestTimeout(
                    "The request took too long and was ended; ask for smaller pages."
                )
            arguments = self.arguments
            if arguments is None:
                definition, node = self.field.definition, self.field.nodes[0]
                arguments = get_argument_values(definition, node, run.variables)
            info = Info(run.context, self.field.selection)
            values = self.batch(parents, info, **arguments)
            if len(values) != len(parents):
                raise RuntimeError(f"{self.batch} did not answer for each parent")
        except Exception as error:  # masked and logged by the gateway
            return [Failure(run, error) for _ in parents]
        if any(issubclass(kind, Exception) for kind in set(map(type, values))):
            return [Failure(run, v) if isinstance(v, Exception) else v for v in values]
        return values


def default_arguments(field: SelectedField) -> dict[str, Any]:
    return get_argument_values(field.definition, field.nodes[0])


Completer = Callable[[list[Any], Run], list[Any]]


def completer(type_: Any, field: SelectedField) -> Completer:
    """How a column of this type becomes a column of the response (section 6.4.3).

    Null where the type is non-null, and what does not serialise, become failures.
    """
    nullable = not isinstance(type_, GraphQLNonNull)
    inner = type_ if nullable else type_.of_type
    if is_leaf_type(inner):
        return complete_leaves(inner, nullable, field)
    if isinstance(inner, GraphQLList):
        return complete_present(list_completer(inner, field), nullable, field)
    if field.name in INTROSPECTION:
        return lambda values, run: values
    return complete_present(object_completer(inner, field), nullable, field)


def complete_leaves(type_: Any, nullable: bool, field: SelectedField) -> Completer:
    serialize_column = column_serializer(type_, nullable)

    def serialize(value: Any, run: Run) -> Any:
        if isinstance(value, Failure):
            return value
        if value is None:
            return None if nullable else Failure(run, null_error(field))
        try:
            return type_.serialize(value)
        except Exception as error:  # masked and logged by the gateway
            return Failure(run, error)

    def complete(values: list[Any], run: Run) -> list[Any]:
        done = serialize_column(values)
        return [serialize(v, run) for v in values] if done is None else done

    return complete


ABSENT = {type(None), Failure}


def complete_present(
    inner: Completer, nullable: bool, field: SelectedField
) -> Completer:
    """Complete what is neither null nor failed, and put these back in their places."""

    def complete(values: list[Any], run: Run) -> list[Any]:
        if ABSENT.isdisjoint(map(type, values)):
            return inner(values, run)
        present = [v for v in values if type(v) not in ABSENT]
        done = iter(inner(present, run))
        absent = None if nullable else Failure(run, null_error(field))
        return [
            v if type(v) is Failure else absent if v is None else next(done)
            for v in values
        ]

    return complete


def null_error(field: SelectedField) -> TypeError:
    return TypeError(
        f"Cannot return null for non-nullable field {field.parent.name}.{field.name}."
    )


def list_completer(type_: GraphQLList[Any], field: SelectedField) -> Completer:
    complete_items = completer(type_.of_type, field)

    def complete(values: list[Any], run: Run) -> list[Any]:
        items = iter(complete_items(list(chain.from_iterable(values)), run))
        return [list(islice(items, len(value))) for value in values]

    return complete


def object_completer(type_: Any, field: SelectedField) -> Completer:
    selection = field.selection
    assert selection is not None
    if not is_abstract_type(type_):
        return lambda values, run: complete_objects(selection, type_.name, values, run)

    def complete(values: list[Any], run: Run) -> list[Any]:
        by_type: dict[str, list[Any]] = {}
        for value in values:
            by_type.setdefault(value.graphql_type, []).append(value)
        done = {}
        for name, rows in by_type.items():
            objects = complete_objects(selection, name, rows, run)
            run.types.update(dict.fromkeys(map(id, objects), name))
            done[name] = iter(objects)
        return [next(done[value.graphql_type]) for value in values]

    return complete


INTROSPECTION = ("__schema", "__type")


def introspect(field: SelectedField, run: Run) -> Any:
    """What graphql-core answers to an introspection field; kept with the plan."""
    known = run.prepared.plan.introspected
    key = (field.key, repr(run.variables))
    if key not in known:
        operation = run.prepared.operation
        alone = OperationDefinitionNode(
            operation=operation.node.operation,
            variable_definitions=operation.node.variable_definitions,
            directives=[],
            selection_set=SelectionSetNode(selections=field.nodes),
        )
        document = DocumentNode(definitions=[alone, *operation.fragments.values()])
        answered = execute_sync(
            operation.schema, document, variable_values=run.prepared.inputs
        )
        if len(known) >= CACHED_PLANS:
            known.clear()
        known[key] = (answered.data or {})[field.key]
    return known[key]


def settle(run: Run, selection: Selection, data: Any) -> ExecutionResult:
    """Turn the failures in a response into nulls and errors (section 6.4.4).

    Walks depth first, as an executor without batches would have gone: a failure that
    reaches a non-null field ends its object at once, and with it the errors that
    fields after it would have added.
    """
    errors: list[GraphQLError] = []

    def settle_object(below: Selection, obj: dict[str, Any], path: Path | None) -> Any:
        name = run.types.get(id(obj), below.type.name)
        for field in below.fields(name):
            if field.name not in INTROSPECTION:
                here = Path(path, field.key, name)
                type_ = field.definition.type
                obj[field.key] = settle_value(obj[field.key], type_, field, here)
        return obj

    def settle_value(value: Any, type_: Any, field: SelectedField, path: Path) -> Any:
        if isinstance(type_, GraphQLNonNull):
            return settle_present(value, type_.of_type, field, path)
        try:
            return settle_present(value, type_, field, path)
        except GraphQLError as error:
            errors.append(error)
            return None

    def settle_present(value: Any, type_: Any, field: SelectedField, path: Path) -> Any:
        if isinstance(value, Failure):
            raise located_error(value.error, field.nodes, path.as_list())
        if isinstance(value, list) and isinstance(type_, GraphQLList):
            return [
                settle_value(item, type_.of_type, field, path.add_key(n, None))
                for n, item in enumerate(value)
            ]
        if value is not None and field.selection:
            return settle_object(field.selection, value, path)
        return value

    try:
        return ExecutionResult(settle_object(selection, data, None), errors)
    except GraphQLError as error:
        return ExecutionResult(None, [*errors, error])
