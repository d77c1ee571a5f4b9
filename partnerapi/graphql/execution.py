"""Executes an operation breadth first (GraphQL specification, chapter 6).

Each field of a level is resolved once, for all parents of the level. The level is
completed column by column and then zipped into objects: no Python call is made per
leaf. A failure stands in its column, in the place of a value. Only an answer that holds
a failure is walked again, depth first: the walk propagates nulls, and collects the
errors that a depth-first executor would have met, in its order.
"""

from collections.abc import Callable, Sized
from itertools import chain, islice
from operator import attrgetter
from time import monotonic
from typing import Any

from django.conf import settings
from graphql import (
    ExecutionResult,
    GraphQLList,
    GraphQLNonNull,
    ListValueNode,
    ObjectValueNode,
    VariableNode,
    is_abstract_type,
    is_leaf_type,
)
from graphql.execution.values import get_argument_values

from partnerapi.core.errors import (
    MUTATION_TOO_LONG,
    MaxCostExceeded,
    RequestTimeout,
)
from partnerapi.graphql.cost import (
    EMPTY,
    LEAST,
    Cost,
    OperationCost,
    Points,
    combine,
    is_open_list,
    own_objects,
    value_of,
)
from partnerapi.graphql.documents import PreparedRequest
from partnerapi.graphql.failures import Failure, settle
from partnerapi.graphql.introspection import INTROSPECTION, Question, introspect
from partnerapi.graphql.leaves import column_serializer
from partnerapi.graphql.limits import check_lengths
from partnerapi.graphql.resolvers import BatchResolver, Info
from partnerapi.graphql.selections import SelectedField, Selection

COMPILED_AT = 50
"""So many objects take longer to make than a function that makes them faster; fewer are
worth one when the document comes again."""


class Run:
    """The execution of one request: what its steps share."""

    __slots__ = (
        "context",
        "deadline",
        "empty",
        "failed",
        "held",
        "objects",
        "prepared",
        "types",
        "variables",
    )

    def __init__(
        self, prepared: PreparedRequest, context: Any, deadline: float
    ) -> None:
        self.prepared = prepared
        self.variables = prepared.variables
        self.context = context
        self.deadline = deadline
        self.failed = False
        # Points that it costs at most, as far as the sizes of its lists are known.
        self.held = prepared.cost
        self.objects = 0
        # Root fields that answer an empty page of changes.
        self.empty = 0
        # The type of each object behind an interface, by the object's identity.
        self.types: dict[int, str] = {}

    def fail(self, error: Exception) -> Failure:
        self.failed = True
        return Failure(error)

    def hold(self, points: int, field: SelectedField, instead: str) -> None:
        """Count what a list costs beyond one item, before its items are read.

        Raises:
            MaxCostExceeded: a request may not cost so much. A mutation has happened,
                and is answered.
        """
        self.held += points
        maximum = settings.PARTNER_API_MAX_COST
        if self.held > maximum and not self.prepared.operation.is_mutation:
            raise MaxCostExceeded(
                f"The request costs {self.held} points with all items of "
                f"`{field.name}`; at most {maximum} are allowed. {instead}",
                cost=self.held,
                maximum=maximum,
                fields=[{"path": field.key, "points": points}],
            )

    @property
    def points(self) -> int:
        """What the answer costs."""
        selection = self.prepared.plan.selection
        if self.empty and self.empty == len(selection.fields(selection.type.name)):
            return EMPTY * self.empty
        return max(LEAST, self.prepared.plan.once + self.objects)


def execute(
    prepared: PreparedRequest, context: Any, deadline: float, root: Any = None
) -> ExecutionResult:
    """Execute a prepared request; the result holds the errors of what failed.

    Its `extensions` have the `points` that the answer costs. `deadline` is a time of
    `time.monotonic`; fields after it fail with TIMEOUT. `root` is the parent of root
    fields.
    """
    run = Run(prepared, context, deadline)
    selection = prepared.plan.selection
    [data] = complete_objects(selection, selection.type.name, [root], run)
    told = {"points": run.points}
    if run.failed:
        settled = settle(selection, data, run.types)
        return ExecutionResult(settled.data, settled.errors, told)
    return ExecutionResult(data, None, told)


def complete_objects(
    selection: Selection, type_name: str, parents: list[Any], run: Run
) -> list[Any]:
    """The response objects of parents of one type, in order."""
    if not parents:
        return []
    if not selection.is_free:
        run.objects += len(parents)
    known = selection.steps.get(type_name)
    steps: list[FieldStep]
    build: Builder | None = None
    if known is None:
        steps = [FieldStep(field) for field in selection.fields(type_name)]
    else:
        steps, build = known
    if not steps:
        return [{} for _ in parents]
    read = reader(parents)
    columns = [step.column(parents, read, run) for step in steps]
    keys = [step.field.key for step in steps]
    if build is None and (known or len(parents) >= COMPILED_AT):
        build = builder(keys)
    selection.steps[type_name] = steps, build
    if build is None:
        return [dict(zip(keys, values)) for values in zip(*columns)]  # noqa: B905
    return build(columns)


Builder = Callable[[list[list[Any]]], list[Any]]


def builder(keys: list[str]) -> Builder:
    """A function from columns to objects with these keys.

    `lambda columns: [{'id': v0, 'name': v1} for v0, v1, in zip(*columns)]`, compiled
    from text, is twice as fast as dict(zip(keys, values)). The text is safe: response
    keys are GraphQL names.
    """
    if not keys:
        return lambda columns: []
    names = "".join(f"v{n}, " for n in range(len(keys)))
    pairs = ", ".join(f"{key!r}: v{n}" for n, key in enumerate(keys))
    build: Builder = eval(f"lambda columns: [{{{pairs}}} for {names} in zip(*columns)]")
    return build


def reader(parents: list[Any]) -> Callable[[str], list[Any]]:
    """A function from a column's name to the column; it transposes rows once.

    Objects whose fields have resolvers only are not transposed at all.
    """
    classes = set(map(type, parents))
    positions = getattr(parents[0], "positions", None) if len(classes) == 1 else None
    if positions is None:
        return lambda name: list(map(attrgetter(name), parents))
    columns: list[Any] = []

    def read(name: str) -> list[Any]:
        if not columns:
            columns.extend(zip(*parents))  # noqa: B905
        column: list[Any] = columns[positions[name]]
        return column

    return read


CHANGING = (VariableNode, ListValueNode, ObjectValueNode)
"""Arguments that are another's with each request, or that a resolver may change."""


class FieldStep:
    """One field of a selection: it resolves a column, then completes it."""

    __slots__ = (
        "arguments",
        "attribute",
        "batch",
        "complete",
        "counter",
        "field",
        "follows",
        "is_constant",
        "item",
        "question",
    )

    def __init__(self, field: SelectedField) -> None:
        extensions = field.definition.extensions
        self.field = field
        self.attribute: str | None = extensions.get("attribute")
        self.batch: BatchResolver | None = extensions.get("batch")
        given = field.nodes[0].arguments
        self.arguments = None if given else default_arguments(field)
        self.is_constant = not any(isinstance(a.value, CHANGING) for a in given)
        self.complete = completer(field.definition.type, field)
        cost: Cost | None = extensions.get("cost")
        self.counter = cost.counter if cost else None
        # What an item costs of a list whose number no argument gives.
        self.item: Points | None = None
        if is_open_list(field) and field.selection is not None:
            _, below = OperationCost().of_selection(field.selection)
            self.item = combine(sum, [own_objects(field), below])
        self.follows: str | None = None
        if cost and cost.follows and asks_for_rows_only(field):
            argument = field.definition.args[cost.follows]
            self.follows = argument.out_name or cost.follows
        self.question = Question(field) if field.name in INTROSPECTION else None

    def column(
        self, parents: list[Any], read: Callable[[str], list[Any]], run: Run
    ) -> list[Any]:
        """The field of each parent, completed."""
        values = self.resolve(parents, read, run)
        if self.item is not None and self.counter is None:
            try:
                sizes = [len(value) for value in values if isinstance(value, Sized)]
                self.hold(sizes, "Request smaller pages.", run)
            except MaxCostExceeded as error:
                values = [run.fail(error) for _ in parents]
        return self.complete(values, run)

    def resolve(
        self, parents: list[Any], read: Callable[[str], list[Any]], run: Run
    ) -> list[Any]:
        if self.attribute is not None:
            return read(self.attribute)
        if self.batch is None and self.question is None:
            return [self.field.parent.name] * len(parents)
        try:
            if monotonic() > run.deadline:
                raise RequestTimeout(
                    MUTATION_TOO_LONG
                    if run.prepared.operation.is_mutation
                    else "The request took too long and was cancelled; request "
                    "smaller pages."
                )
            if self.batch is None:
                return [self.introspect(run.prepared)] * len(parents)
            arguments = self.arguments
            if arguments is None:
                definition, node = self.field.definition, self.field.nodes[0]
                arguments = get_argument_values(definition, node, run.variables)
                check_lengths(definition, arguments)
                if self.is_constant:
                    self.arguments = arguments
            info = Info(run.context, self.field.selection, run.variables)
            if self.counter is not None:
                self.hold(self.counter.sizes(parents), self.counter.instead, run)
            values = self.batch(parents, info, **arguments)
            if len(values) != len(parents):
                raise RuntimeError(f"{self.batch} did not answer for each parent")
            if (
                self.follows
                and arguments.get(self.follows) is not None
                and not any(getattr(page, "rows", True) for page in values)
            ):
                run.empty += 1
        except Exception as error:  # The gateway masks and logs it.
            return [run.fail(error) for _ in parents]
        if any(issubclass(kind, Exception) for kind in set(map(type, values))):
            return [run.fail(v) if isinstance(v, Exception) else v for v in values]
        return values

    def hold(self, sizes: list[int], instead: str, run: Run) -> None:
        """Count the items of a list beyond the first, which was counted before.

        Raises:
            MaxCostExceeded
        """
        assert self.item is not None
        more = sum(max(0, size - 1) for size in sizes)
        run.hold(more * value_of(self.item, run.variables), self.field, instead)

    def introspect(self, prepared: PreparedRequest) -> Any:
        assert self.question is not None
        return introspect(
            self.question,
            prepared.operation.node,
            prepared.inputs,
            prepared.variables,
        )


def asks_for_rows_only(field: SelectedField) -> bool:
    """Whether it is a list at the root without its total."""
    below = field.selection
    assert below is not None
    is_root = field.parent is below.source.schema.query_type
    return is_root and not below.selects("totalCount")


def default_arguments(field: SelectedField) -> dict[str, Any]:
    return get_argument_values(field.definition, field.nodes[0])


Completer = Callable[[list[Any], Run], list[Any]]


def completer(type_: Any, field: SelectedField) -> Completer:
    """A function that makes a column of the response (section 6.4.3).

    Null becomes a failure where the type is non-null; so does a value that cannot be
    serialised.
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
            return None if nullable else run.fail(null_error(field))
        try:
            return type_.serialize(value)
        except Exception as error:  # The gateway masks and logs it.
            return run.fail(error)

    def complete(values: list[Any], run: Run) -> list[Any]:
        done = serialize_column(values)
        return [serialize(v, run) for v in values] if done is None else done

    return complete


ABSENT = {type(None), Failure}


def complete_present(
    inner: Completer, nullable: bool, field: SelectedField
) -> Completer:
    """Complete the other values of a column; nulls and failures keep their places."""

    def complete(values: list[Any], run: Run) -> list[Any]:
        if ABSENT.isdisjoint(map(type, values)):
            return inner(values, run)
        present = [v for v in values if type(v) not in ABSENT]
        done = iter(inner(present, run))
        absent = None if nullable else run.fail(null_error(field))
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
