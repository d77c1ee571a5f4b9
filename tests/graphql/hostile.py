"""Small documents made to be costly, and what each costs.

`python -m tests.benchmarks.hostile_documents` prints a table of them.
"""

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import orjson
from django.core.cache import caches
from graphql import get_introspection_query, parse

from partnerapi.graphql.documents import documents
from partnerapi.graphql.introspection import results
from tests.characters import Answer, Ask

LARGEST_BODY = 15_000
# Where a call crosses the end of a chunk of its stack, CPython 3.11 gets and gives back
# memory every time, and a loop at that depth takes up to five times as long. No depth
# is right, so each run begins at another.
STACK_DEPTHS = (0, 9, 18, 27, 36)
ORDINARY = get_introspection_query()


def times(count: int, template: str) -> str:
    """The template once for each number from 0, which replaces every `#`."""
    return " ".join(template.replace("#", str(number)) for number in range(count))


def nest(depth: int, opening: str, innermost: str) -> str:
    return opening * depth + innermost + "}" * depth * opening.count("{")


def on_issuers(selections: str, *fragments: str) -> str:
    return " ".join([f"{{ issuers {{ nodes {{ {selections} }} }} }}", *fragments])


def million_merged_selections() -> str:
    """Which fragments merge after a path of a's and b's depends on its last 17."""
    step = "tokens { nodes { issuer { ...F% } } }"
    steps = [
        f"fragment F{number} on Issuer {{ a: {step} b: {step} }}".replace(
            "%", str(number + 1)
        )
        for number in range(1, 17)
    ]
    first = (
        "fragment F0 on Issuer { a: tokens { nodes { issuer { ...F0 ...F1 } } } "
        "b: tokens { nodes { issuer { ...F0 } } } }"
    )
    return on_issuers("...F0", first, *steps, "fragment F17 on Issuer { id }")


ALL_LISTS = " ".join(
    f"{name}(first: 100) {{ nodes {{ id }} }}"
    for name in ("tokens", "articles", "financialData", "legacyShareholders")
)

DOCUMENTS = {
    # Aliases and repetitions
    "100 aliases of a long list": "{"
    + times(100, "a#: issuers(first: 100) { nodes { id } }")
    + "}",
    "100 aliases of an object": "{"
    + times(100, 'a#: issuer(slug: "lumen") { id tradingName }')
    + "}",
    "600 aliases": "{" + times(600, "a#: __typename") + "}",
    "1,990 times one field": "{" + " id" * 1_990 + "}",
    "100 aliases of one leaf": on_issuers(times(100, "a#: description")),
    "100 leaves repeated in 9 objects": "{"
    + times(9, 'issuer(slug: "lumen") {' + "id slug lei website " * 11 + "}")
    + "}",
    # Fields to be merged
    "95 objects to be merged": "{"
    + ' issuer(slug: "lumen") { tokens { nodes { id symbol } } }' * 95
    + "}",
    "95 objects to be merged, each unlike the others": "{"
    + times(95, 'issuer(slug: "lumen") { tokens { nodes { a#: id } } }')
    + "}",
    "100 fields in conflict": "{" + times(100, 'x: issuer(slug: "#") { id }') + "}",
    "95 fields with lists in conflict": "{"
    + times(95, 'issuer(slug: "l") { tokens(first: #) { nodes { id } } }')
    + "}",
    "90 fields in conflict four levels down": "{"
    + times(49, 'issuer(slug: "l") { tokens { nodes { x: isin } nodes { x: id } } }')
    + "}",
    "50 fragments that overlap": on_issuers(
        times(50, "...F#"),
        times(
            50,
            "fragment F# on Issuer { tokens { nodes { id symbol } } articles "
            "{ nodes { id } } }",
        ),
    ),
    "50 fragments in conflict": on_issuers(
        times(50, "...F#"),
        times(50, "fragment F# on Issuer { x: tokens(first: #) { nodes { id } } }"),
    ),
    "a million merged selections": million_merged_selections(),
    # Fragments
    "51 spreads": on_issuers("...F " * 51, "fragment F on Issuer { id }"),
    "990 spreads": on_issuers("...F " * 990, "fragment F on Issuer { id }"),
    "50 spreads of 95 objects": on_issuers(
        "...F " * 50,
        "fragment F on Issuer {" + " tokens { nodes { id } }" * 95 + "}",
    ),
    "a chain of 25 fragments": on_issuers(
        "...F0",
        "fragment F24 on Issuer { id }",
        *(
            f"fragment F{number} on Issuer {{ ...F{number + 1} ...F{number + 1} slug }}"
            for number in range(24)
        ),
    ),
    "fragments that double at every level": on_issuers(
        "...F0 ...F0",
        *(
            f"fragment F{level} on Issuer {{ "
            + times(
                12, f"a{level}#: tokens {{ nodes {{ issuer {{ ...F{level + 1} }} }} }}"
            )
            + "}"
            for level in range(3)
        ),
        "fragment F3 on Issuer { id }",
    ),
    "a fragment that spreads itself": on_issuers(
        "...F", "fragment F on Issuer { tokens { nodes { issuer { ...F } } } }"
    ),
    "a cycle of 25 fragments": on_issuers(
        "...F0",
        *(
            f"fragment F{number} on Issuer {{ slug ...F{(number + 1) % 25} }}"
            for number in range(25)
        ),
    ),
    "50 fragments that spread unknown ones": times(
        50, "fragment F# on Issuer { tokens { nodes { ...G# } } }"
    ),
    "90 inline fragments, side by side": on_issuers("... on Issuer { id } " * 90),
    "600 inline fragments, nested": "{" + nest(600, "... {", "__typename") + "}",
    # Depth
    "three lists in each other, deep": on_issuers(
        nest(3, "tokens { nodes { issuer {", "id") + " slug"
    ),
    "900 levels": "{" + nest(900, "issuer {", "id") + "}",
    "14,000 opening braces": "{" * 14_000,
    "14,000 opening brackets": "{ nodes(ids: " + "[" * 14_000,
    "a list literal 900 deep": "{ nodes(ids: " + "[" * 900 + "]" * 900 + ") { id } }",
    "an object literal 450 deep": "{ nodes(ids: "
    + "{a: " * 450
    + "1"
    + "}" * 450
    + ") { id } }",
    # Directives
    "11 directives on a field": "{ __typename" + " @skip(if: false)" * 11 + "}",
    "950 unknown directives": "{ __typename" + times(950, " @x#") + "}",
    "10 directives on each of 100 fields": "{"
    + times(95, "a#: __typename" + " @x" * 8)
    + "}",
    # Introspection
    "the full introspection": get_introspection_query(
        specified_by_url=True,
        directive_is_repeatable=True,
        schema_description=True,
        input_value_deprecation=True,
    ),
    "100 introspections": "{" + times(100, "a#: __schema { types { kind } }") + "}",
    "10 types by name": "query ($n: String!) {"
    + times(10, "a#: __type(name: $n) { ...F }")
    + "} fragment F on __Type { fields { a: type { ...T } b: type { ...T } } } "
    + "fragment T on __Type { kind name description ofType { kind name } }",
    "50 introspections by a fragment": "{"
    + times(50, "a#: __schema { ...F }")
    + "} fragment F on __Schema { types { fields { args { type { name } } } } }",
    "a wide introspection": "{ __schema { types { fields {"
    + times(100, "a#: description")
    + "} } } }",
    "fields 50 times over": "{ __schema { types {"
    + times(50, "a#: fields { ...F }")
    + "} } } fragment F on __Field { name args { name } type { ofType { name } } }",
    "a deep introspection": "{ __schema { types {"
    + nest(8, "fields { type { ofType {", "name")
    + "} } }",
    "types of fields of types": '{ __type(name: "Query") {'
    + nest(2, "fields { type { ofType {", "name")
    + "} }",
    "98 types by name": "query ($n: String!) {"
    + times(98, "a#: __type(name: $n) { fields { type { kind } } }")
    + "}",
    "a chain of 190 ofType": "{ __schema { types { fields { type {"
    + nest(190, "ofType {", "name")
    + "} } } } }",
    # Operations and variables
    "390 operations": times(390, "query q# { __typename }"),
    "210 operations": times(
        70,
        "query a# { __typename } query b# { viewer { login } } "
        "query c# { issuers { totalCount } }",
    ),
    "100 operations of one name": "query q { __typename } " * 100,
    "100 operations without name": "{ __typename } " * 100,
    "390 variables that no one uses": f"query ({times(390, '$v#: Int')}) "
    "{ __typename }",
    "390 variables of unknown types": f"query ({times(390, '$v#: Ant')}) "
    "{ __typename }",
    "95 missing variables": f"query ({times(95, '$v#: Int!')}) {{"
    + times(95, "a#: issuers(first: $v#) { totalCount }")
    + "}",
    "one variable 390 times": f"query ({'$v: Int ' * 390}) {{ __typename }}",
    "2,900 null ids in a variable": "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }",
    "2,900 ids in a variable": "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }",
    "95 times 100 ids in a variable": "query ($ids: [ID!]!) {"
    + times(95, "a#: nodes(ids: $ids) { id }")
    + "}",
    "a deep list in a variable": "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }",
    "1,000 unknown variables": "{ __typename }",
    # Values
    "1,900 ids": "{ nodes(ids: [" + '"1" ' * 1_900 + "]) { id } }",
    "an Int of 14,000 digits": "{ issuers(first: "
    + "9" * 14_000
    + ") { totalCount } }",
    "a Float of 14,000 digits": "{ issuers(first: 1."
    + "9" * 14_000
    + "e99999) { totalCount } }",
    "digits in a variable": "query ($n: Int) { issuers(first: $n) { totalCount } }",
    "a search of 14,000 wildcards": '{ issuers(search: "'
    + "%_" * 7_000
    + '") { totalCount } }',
    "14,000 characters as a cursor": '{ issuers(after: "'
    + "A" * 14_000
    + '") { totalCount } }',
    "1,200 escapes": '{ issuer(slug: "' + "\\u{1F600}" * 1_200 + '") { id } }',
    "2,000 halves of surrogates": '{ issuer(slug: "'
    + "\\uD83D" * 2_000
    + '") { id } }',
    "a block string of indents": '{ issuer(slug: """'
    + "\n        x" * 1_300
    + '""") { id } }',
    "3,500 emoji": '{ issuer(slug: "' + "🏢" * 3_500 + '") { id } }',
    # Text
    "4,900 comments": "#\n" * 4_900 + "{ __typename }",
    "a comment of 14,000 characters": "#" + "x" * 14_000 + "\n{ __typename }",
    "14,000 commas": "," * 14_000 + "{ __typename }",
    "a name of 14,000 characters": "{" + "x" * 14_000 + "}",
    "an open string": '{ issuer(slug: "' + "x" * 14_000,
    "an open block string": '{ issuer(slug: """' + '\\"""' * 1_800,
    # What the schema does not have
    "100 unknown fields of long names": "{" + times(100, "issuer" * 20 + "#") + "}",
    "100 unknown fields like known ones": on_issuers(times(100, "headquarterAddres#")),
    "600 unknown arguments": "{ issuers("
    + times(600, "firs#: 1")
    + ") { totalCount } }",
    "one argument 600 times": "{ issuers(" + "first: 1 " * 600 + ") { totalCount } }",
    "100 types defined": times(100, "type T# { a: Int }"),
    # Price
    "lists in lists in lists": on_issuers(
        "tokens(first: 100) { nodes { issuer { articles(first: 100) { nodes { id "
        "} } } } }"
    ),
    "100 nodes with all lists": "{ nodes(ids: ["
    + '"1" ' * 100
    + "]) { ... on Issuer {"
    + ALL_LISTS
    + "} } }",
}

VARIABLES = {
    "10 types by name": {"n": "Issuer"},
    "98 types by name": {"n": "Issuer"},
    "2,900 null ids in a variable": {"ids": [None] * 2_900},
    "2,900 ids in a variable": {"ids": ["1"] * 2_900},
    "95 times 100 ids in a variable": {
        "ids": ["Issuer|00000000-0000-7000-8000-000000000000"] * 100
    },
    "a deep list in a variable": {"ids": orjson.loads("[" * 200 + "]" * 200)},
    "1,000 unknown variables": {f"v{number}": None for number in range(1_000)},
    "digits in a variable": {"n": "9" * 14_000},
}

BODIES = {
    name: orjson.dumps({"query": query, "variables": VARIABLES.get(name)})
    for name, query in DOCUMENTS.items()
} | {
    "JSON 14,000 deep": b'{"query":' + b"[" * 14_000,
    "a variable 14,000 deep": b'{"query":"{ __typename }","variables":{"v":'
    + b"[" * 7_000
    + b"]" * 7_000
    + b"}}",
    "2,000 members of one name": b"{" + b'"query":"",' * 1_300 + b'"query":"{ id }"}',
    "an exponent": b'{"query":"{ __typename }","variables":{"v":1e999999999}}',
}


def seconds_of(work: Callable[[], object], depth: int = 0) -> float:
    """Seconds of CPU, begun some calls further down the stack."""
    if depth:
        return seconds_of(work, depth - 1)
    began = time.process_time()
    work()
    return time.process_time() - began


def yardstick() -> None:
    """As much of this machine's time as a document of ordinary size takes to parse."""
    for _ in range(3):
        parse(ORDINARY)


@contextmanager
def small_heap() -> Iterator[None]:
    """Keep the collector from visiting what only a test process holds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


class Cost(NamedTuple):
    """Medians of some runs: seconds of CPU, and the same in yardsticks."""

    seconds: float
    yardsticks: float
    answer: Answer


def cost(body: bytes, ask: Ask) -> Cost:
    """What a body costs that nothing is remembered of, and how it is answered."""
    answers, taken, relative = [], [], []
    for depth in STACK_DEPTHS:
        documents.clear()
        results.clear()
        caches["default"].client.get_client().flushdb()
        before = seconds_of(yardstick, depth)
        seconds = seconds_of(lambda: answers.append(ask.post(body)), depth)
        after = seconds_of(yardstick, depth)
        taken.append(seconds)
        relative.append(2 * seconds / (before + after))
    return Cost(statistics.median(taken), statistics.median(relative), answers[-1])


def row(name: str, cost: Cost) -> str:
    codes = [
        error["extensions"]["code"] for error in cost.answer.body.get("errors", ())
    ]
    outcome = codes[0] if codes else "answered"
    points = int(cost.answer.headers["X-Query-Cost"])
    return (
        f"{cost.seconds * 1000:6.1f} ms {cost.yardsticks:6.2f} yardsticks "
        f"{points:5} points {cost.seconds * 1000 / points:6.3f} ms a point "
        f"{len(BODIES[name]):6} B  {outcome:26} {name}"
    )
