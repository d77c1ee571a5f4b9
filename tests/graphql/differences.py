"""Compares our executor with graphql-core's on generated documents.

    python -m tests.graphql.differences --documents 5000

Prints how many differ in data, errors or paths (0 is right), and how many
answered without errors.
"""

import argparse
import math
import os
from collections.abc import Iterator
from copy import deepcopy
from itertools import zip_longest
from random import Random
from typing import Any, NamedTuple

import django
from graphql import ExecutionResult, GraphQLSchema, parse, print_ast, validate

from partnerapi.graphql.documents import Refused, prepare
from partnerapi.graphql.execution import execute
from tests.generated.documents import Request, plain_documents
from tests.generated.shapes import Shapes
from tests.graphql.oracle import execute_by_graphql_core
from tests.graphql.unreliable import reliable, schema, unreliable

SHARE_UNRELIABLE = 0.25


class Comparison(NamedTuple):
    compared: int
    refused: int
    without_errors: int
    errors: int
    differences: list[str]


def generated(schema: GraphQLSchema, count: int, seed: int) -> Iterator[Request]:
    """Documents with aliases, fragments, directives and variables."""
    for number, text in enumerate(plain_documents(schema, count, seed)):
        shapes = Shapes(schema, Random(f"{seed}/{number}"))
        shaped, variables, name = shapes.vary(deepcopy(parse(text)))
        varied = print_ast(shaped)
        if validate(schema, parse(varied)):
            yield Request(text, {}, None)
        else:
            yield Request(varied, variables, name)


def compare(count: int, seed: int) -> Comparison:
    compared = refused = without_errors = errors = 0
    differences = []
    for number, request in enumerate(generated(schema, count, seed)):
        context = reliable
        if Random(f"{seed}-{number}").random() < SHARE_UNRELIABLE:
            context = unreliable
        try:
            prepared = prepare(
                schema, request.text, request.operation_name, request.variables
            )
        except Refused:
            refused += 1
            continue
        compared += 1
        warm(request, context)
        ours = execute(prepared, context, math.inf)
        theirs = execute_by_graphql_core(prepared, context)
        without_errors += not theirs.errors
        errors += len(theirs.errors or ())
        if plain(ours) != plain(theirs):
            differences.append(difference(plain(ours), plain(theirs)) + request.text)
    return Comparison(compared, refused, without_errors, errors, differences)


def warm(request: Request, context: Any) -> None:
    """Execute the document with other variables first: nothing of them may stay."""
    others = {name: another(value) for name, value in request.variables.items()}
    try:
        prepared = prepare(schema, request.text, request.operation_name, others)
    except Refused:
        return
    execute(prepared, context, math.inf)


def another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value


def difference(ours: Any, theirs: Any) -> str:
    """The first error that differs, or the data that do."""
    for mine, other in zip_longest(ours[1], theirs[1]):
        if mine != other:
            return f"ours: {mine}\ngraphql-core: {other}\n"
    return f"ours: {ours[0]}\ngraphql-core: {theirs[0]}\n"


def plain(result: ExecutionResult) -> Any:
    """Data with its keys' order; errors with message, path and cause, sorted.

    graphql-core sorts them by their places in the document; ours leaves them in
    the order in which a depth-first walk meets them.
    """
    errors = [
        (error.message, error.path, error.locations, type(error.original_error))
        for error in result.errors or ()
    ]
    return ordered(result.data), sorted(errors, key=repr)


def ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, ordered(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [ordered(item) for item in value]
    return value


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")
    django.setup()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    result = compare(options.documents, options.seed)
    share = result.without_errors / result.compared
    print(  # noqa: T201
        f"{result.compared} documents compared, {result.refused} refused by limits, "
        f"{share:.0%} without errors, {result.errors} errors in the others, "
        f"{len(result.differences)} differences"
    )
    for difference in result.differences[:5]:
        print(difference)  # noqa: T201


if __name__ == "__main__":
    main()
