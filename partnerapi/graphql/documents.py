"""GraphQL text to a parsed, counted, validated document, and what its plans cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from cachetools import LRUCache
from django.conf import settings
from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    KnownDirectivesRule,
    OperationDefinitionNode,
    OperationType,
    OverlappingFieldsCanBeMergedRule,
    UniqueDirectivesPerLocationRule,
    print_ast,
    specified_rules,
)
from graphql.execution.values import get_variable_values
from graphql.language.parser import Parser

from partnerapi.core.errors import (
    BadUserInput,
    MaxCostExceeded,
    MaxDepthExceeded,
    MaxTokensExceeded,
    OperationResolutionFailure,
    ParseFailed,
    PartnerAPIError,
    ValidationFailed,
)
from partnerapi.graphql.cost import (
    LEAST,
    OperationCost,
    bounded_fields,
    too_costly,
    value_of,
)
from partnerapi.graphql.culprits import name_of_argument, names_of_variable
from partnerapi.graphql.field_costs import dearest_fields
from partnerapi.graphql.limits import (
    check_counts,
    check_mutations,
    check_values,
    seconds_to_wait,
    waiting_fields,
)
from partnerapi.graphql.overlap import OverlappingFieldsRule
from partnerapi.graphql.selections import Reach, Selection, Source
from partnerapi.graphql.validation import validate

MAX_ERRORS = 20
MAX_LENGTH = 100_000
"""Characters of a document."""
CACHED_SIZE = 150_000
"""Characters of all documents in the cache; of a costly document each takes 270 bytes
of memory: 40 MB."""
CACHED_TEXT_LENGTH = 20_000
MOST_SIZE = 40_000
"""Largest size, in characters, at which a document gets another plan."""
BARE_SIZE = 100
"""Characters that a document counts as, in addition to its text."""
FIELD_SIZE = 4
"""Characters that a field of a plan counts as."""
ERROR_SIZE = 20
"""Characters that an error counts as, in addition to its message."""


class RepeatedDirectivesRule(UniqueDirectivesPerLocationRule):
    """Reports the first repetition of a directive; the others teach nothing more."""

    reported = False

    def report_error(self, error: GraphQLError) -> None:
        if not self.reported:
            super().report_error(error)
        self.reported = True


class UnknownDirectivesRule(KnownDirectivesRule):
    """Reports each directive that is unknown, or in a wrong place, once."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.reported: set[str] = set()

    def report_error(self, error: GraphQLError) -> None:
        if error.message not in self.reported:
            super().report_error(error)
        self.reported.add(error.message)


OWN_RULES: dict[Any, Any] = {
    OverlappingFieldsCanBeMergedRule: OverlappingFieldsRule,
    KnownDirectivesRule: UnknownDirectivesRule,
    UniqueDirectivesPerLocationRule: RepeatedDirectivesRule,
}
RULES = [OWN_RULES.get(rule, rule) for rule in specified_rules]


class Refused(Exception):
    """The request cannot be executed; `errors` say why."""

    def __init__(self, errors: list[GraphQLError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


class CheckEnded(GraphQLError):
    """Follows the last error that is answered: no one counted the others."""

    def __init__(self) -> None:
        super().__init__(f"There are more errors; checking stops after {MAX_ERRORS}.")


def with_code(errors: list[GraphQLError], code: str) -> list[GraphQLError]:
    """The errors with their code, at most MAX_ERRORS.

    Where graphql-core gives up, it says so in one error more.
    """
    if len(errors) > MAX_ERRORS:
        errors = [*errors[:MAX_ERRORS], CheckEnded()]
    for error in errors:
        error.extensions = {"code": code}
    return errors


class OperationPlan:
    """One operation's selection and cost, for one set of values of its directives."""

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.once, self.objects = OperationCost().of_selection(selection)
        self.bounded = bounded_fields(selection)
        self.waiting = waiting_fields(selection)
        self.size = FIELD_SIZE * selection.source.count_fields()


class Operation:
    """An operation of a document, with a plan for each set of values of directives."""

    def __init__(
        self,
        schema: GraphQLSchema,
        ast: DocumentNode,
        fragments: dict[str, FragmentDefinitionNode],
        node: OperationDefinitionNode,
    ) -> None:
        self.schema = schema
        self.ast = ast
        self.fragments = fragments
        self.node = node
        self.name = node.name.value if node.name else None
        self.plans: dict[tuple[Any, ...], OperationPlan] = {}

    @cached_property
    def directive_variables(self) -> list[str]:
        if not self.node.variable_definitions:
            return []
        return sorted(Reach(self.fragments, [self.node]).directive_variables)

    @cached_property
    def printed(self) -> str:
        """The whole document as graphql-core prints it: white space is its own."""
        return print_ast(self.ast)

    @property
    def is_mutation(self) -> bool:
        return self.node.operation is OperationType.MUTATION

    def select(self, variables: Mapping[str, Any]) -> Selection:
        """What is selected with these coerced variables.

        Raises:
            MaxMutationsExceeded: more than one root field in a mutation.
            OperationResolutionFailure: the schema has no operations of this kind.
            GraphQLError: a directive's argument is null.
        """
        kind = self.node.operation
        root = self.schema.get_root_type(kind)
        if root is None:
            raise OperationResolutionFailure(f"This schema has no {kind.value}s.")
        source = Source(self.schema, self.fragments, dict(variables))
        selection = source.select(root, [self.node])  # type: ignore[list-item]
        if self.is_mutation:
            check_mutations(selection)
        return selection


def plan_operation(
    known: OperationPlan | None, selection: Selection, variables: Mapping[str, Any]
) -> tuple[OperationPlan, int]:
    """The plan of a selection, and what it costs at most with these variables.

    Raises:
        MaxCostExceeded: more than one request may; `fields` names the costliest.
    """
    try:
        plan = known or OperationPlan(selection)
        cost = plan.once + value_of(plan.objects, variables)
        for field in plan.bounded:
            field.check(variables)
        if cost > settings.PARTNER_API_MAX_COST:
            raise too_costly(cost)
    except MaxCostExceeded as error:
        error.details["fields"] = dearest_fields(selection, variables)
        raise
    return plan, cost


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request that may be executed, and what its fields and objects cost at most.

    `inputs` are the variables as they were sent, `variables` as graphql-core coerced
    them. `wait` is how long it may wait for its answer, seconds.
    """

    operation: Operation
    plan: OperationPlan
    inputs: dict[str, Any]
    variables: dict[str, Any]
    cost: int
    wait: int

    @property
    def price(self) -> int:
        """Points that are held back for the request, without its bytes."""
        return max(LEAST, self.cost)

    @property
    def bound(self) -> int:
        """Points that the request costs at most, whatever its lists hold."""
        once, objects = OperationCost(bounded=True).of_selection(self.plan.selection)
        points = max(LEAST, once + value_of(objects, self.variables))
        return min(points, settings.PARTNER_API_MAX_COST)


class Document:
    """The operations of a text, or its errors."""

    def __init__(
        self,
        schema: GraphQLSchema,
        text: str,
        ast: DocumentNode | None,
        errors: list[GraphQLError],
    ) -> None:
        self.key = schema, text
        told = sum(ERROR_SIZE + len(error.message) for error in errors)
        self.size = BARE_SIZE + len(text) + told
        self.errors = errors
        definitions = ast.definitions if ast else ()
        fragments = {
            definition.name.value: definition
            for definition in definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        self.operations = [
            Operation(schema, ast, fragments, definition)
            for definition in definitions
            if ast and isinstance(definition, OperationDefinitionNode)
        ]

    def operation(self, name: str | None) -> Operation:
        """The operation of this name, or the only one.

        Raises:
            OperationResolutionFailure: no operation has the name, or the document has
                several and the name is missing.
        """
        if name is None and len(self.operations) == 1:
            return self.operations[0]
        names = [operation.name for operation in self.operations]
        if name is not None and name in names:
            return self.operations[names.index(name)]
        listed = (
            ", ".join(f"`{known}`" for known in names if known) or "one without name"
        )
        if name is None:
            raise OperationResolutionFailure(
                f"The document has several operations ({listed}); name one of them "
                "in `operationName`."
            )
        raise OperationResolutionFailure(
            f"The document has no operation `{name}`; it has {listed}."
        )

    def keep(self) -> None:
        """Put the document into the cache, unless its text is long."""
        if len(self.key[1]) <= CACHED_TEXT_LENGTH:
            with lock:
                documents[self.key] = self


documents: LRUCache[tuple[GraphQLSchema, str], Document] = LRUCache(
    CACHED_SIZE, getsizeof=lambda document: document.size
)
lock = Lock()


def prepare(
    schema: GraphQLSchema, text: str, operation_name: str | None, inputs: dict[str, Any]
) -> PreparedRequest:
    """Read a text, choose its operation, coerce its variables, count its cost.

    Raises:
        Refused: one of these steps failed; `errors` are those of the step.
    """
    document = read_document(schema, text)
    if document.errors:
        raise Refused(document.errors)
    try:
        check_values(inputs)
        operation = document.operation(operation_name)
        variables = coerce(schema, operation, inputs)
        decisive = tuple(map(variables.get, operation.directive_variables))
        known = operation.plans.get(decisive)
        selection = known.selection if known else operation.select(variables)
        plan, cost = plan_operation(known, selection, variables)
        wait = seconds_to_wait(selection, plan.waiting, variables)
    except PartnerAPIError as error:
        raise Refused([as_graphql_error(error)]) from error
    except GraphQLError as error:
        error.extensions = {"code": BadUserInput.code, **name_of_argument(error)}
        raise Refused([error]) from error
    if known is None and document.size + plan.size <= MOST_SIZE:
        operation.plans[decisive] = plan
        document.size += plan.size
        document.keep()
    return PreparedRequest(operation, plan, inputs, variables, cost, wait)


def coerce(
    schema: GraphQLSchema, operation: Operation, inputs: dict[str, Any]
) -> dict[str, Any]:
    definitions = operation.node.variable_definitions
    values = get_variable_values(schema, definitions, inputs, max_errors=MAX_ERRORS)
    if isinstance(values, list):
        refused = with_code(values, BadUserInput.code)
        for error in refused:
            error.extensions = {
                **(error.extensions or {}),
                **names_of_variable(error, operation.ast),
            }
        raise Refused(refused)
    return values


def read_document(schema: GraphQLSchema, text: str) -> Document:
    """The document of a text, from the cache or parsed, counted and validated."""
    with lock:
        document = documents.get((schema, text))
    if document is None:
        document = Document(schema, text, *parse_and_validate(schema, text))
        document.keep()
    return document


def parse_and_validate(
    schema: GraphQLSchema, text: str
) -> tuple[DocumentNode | None, list[GraphQLError]]:
    """The tree of a valid document, or its errors."""
    if len(text) > MAX_LENGTH:
        long = MaxTokensExceeded(
            f"The document has more than {MAX_LENGTH} characters; send several "
            "requests, or pass long texts as variables.",
            maximum=MAX_LENGTH,
        )
        return None, [as_graphql_error(long)]
    maximum = settings.PARTNER_API_MAX_TOKENS
    parser = Parser(text, max_lexical_tokens=maximum, max_comments=maximum)
    ast, errors = None, []
    try:
        ast = parse_with(parser)
        check_counts(ast)
        errors = validate(schema, ast, RULES, MAX_ERRORS)
        errors = with_code(errors, ValidationFailed.code)
    except PartnerAPIError as error:
        errors = [as_graphql_error(error)]
    except GraphQLSyntaxError as error:
        errors = with_code([error], ParseFailed.code)
    except RecursionError:
        errors = [as_graphql_error(too_deep())]
    return None if errors else ast, errors


def parse_with(parser: Parser) -> DocumentNode:
    maximum = settings.PARTNER_API_MAX_TOKENS
    try:
        document = parser.parse_document()
        part_tokens(document)
        return document
    except GraphQLSyntaxError as error:
        if "nested too deeply" in error.message:
            raise too_deep() from error
        if f"more than {maximum} " not in error.message:
            raise
        raise MaxTokensExceeded(
            f"The document has more than {maximum} tokens; send several requests, or "
            "pass long lists as variables.",
            maximum=maximum,
        ) from error


def part_tokens(document: DocumentNode) -> None:
    """Unlink the tokens of a document from each other.

    Otherwise each kept node would keep all of them, and the collector would have to
    find them.
    """
    token = document.loc and document.loc.start_token
    while token:
        token.prev, token.next, token = None, None, token.next


def too_deep() -> MaxDepthExceeded:
    return MaxDepthExceeded(
        "The document nests values, fragments or fields far too deeply.",
        maximum=settings.PARTNER_API_MAX_DEPTH,
    )


def as_graphql_error(error: PartnerAPIError) -> GraphQLError:
    return GraphQLError(str(error), extensions={"code": error.code, **error.details})
