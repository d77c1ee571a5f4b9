"""Costs worked out by hand, and every limit from both sides."""

from typing import Any

import pytest
from django.conf import settings
from graphql import is_interface_type, is_object_type

from partnerapi.graphql.documents import PreparedRequest, Refused, prepare
from partnerapi.schema import schema
from tests.characters import Ask, World, page_of


def cost(query: str, variables: dict[str, Any] | None = None) -> int:
    return prepare(schema, query, None, variables or {}).cost


def refusal(query: str, variables: dict[str, Any] | None = None) -> tuple[str, Any]:
    """Code and `maximum` of the only error."""
    with pytest.raises(Refused) as refused:
        prepare(schema, query, None, variables or {})
    [error] = refused.value.errors
    return error.extensions["code"], error.extensions.get("maximum")


def accepted(query: str, variables: dict[str, Any] | None = None) -> bool:
    return isinstance(prepare(schema, query, None, variables or {}), PreparedRequest)


FIGURES = "issuers(first: 50) { nodes { financialData(first: 4) { nodes { year } } } }"
FIFTY = 20 + 50 * (1 + 4)

# Ten for each field that reads, and one for each object that may be answered.
COSTS = {
    "{ __typename }": 0,
    "{ viewer { login scopes } }": 1,
    '{ issuer(slug: "a") { slug lei } }': 11,
    '{ issuer(slug: "a") { slug owner { lei } } }': 22,
    '{ issuer(slug: "a") { owner { country { code } } } }': 33,
    # A connection is its page size times its node; edges, nodes, pageInfo are free.
    "{ issuers(first: 50) { nodes { slug } } }": 60,
    "{ issuers(first: 50) { edges { node { slug } } } }": 60,
    "{ issuers(first: 50) { edges { cursor } } }": 10,
    "{ issuers(first: 50) { edges { node { id } } pageInfo { endCursor } } }": 60,
    f"{{ {FIGURES} }}": FIFTY,
    "{ issuers(first: 50) { nodes { slug } edges { node { slug } } } }": 110,
    # A total costs ten more, wherever it stands.
    "{ issuers(first: 50) { totalCount } }": 20,
    "{ issuers(first: 50) { pageInfo { endCursor } totalCount } }": 20,
    "{ issuers(first: 50) { nodes { slug } totalCount } }": 70,
    "{ issuers(first: 2) { nodes { tokens(first: 3) { totalCount } } } }": 30 + 2,
    # Sizes: neither argument, one, the other, both.
    "{ issuers { nodes { slug } } }": 110,
    '{ issuer(slug: "a") { articles { nodes { slug } } } }': 20 + 1 + 20,
    "{ issuers(last: 7) { nodes { slug } } }": 17,
    "{ issuers(first: 9, last: 7) { nodes { slug } } }": 19,
    "{ issuers(first: null) { nodes { slug } } }": 110,
    "{ issuers(first: null, last: 7) { nodes { slug } } }": 17,
    "{ issuers(first: 0) { nodes { slug } } }": 11,
    "{ issuers(first: 2) { nodes { articles { nodes { slug } } } } }": 20 + 2 * 21,
    "{ issuers(first: 2) { nodes { tokens(first: 3) { nodes { id } } } } }": 20 + 2 * 4,
    '{ token(id: "x") { issuer { articles(first: 3) { nodes { id } } } } }': 30 + 5,
    # Roots and aliases add up; the same field merged counts once.
    '{ a: issuer(slug: "a") { id } b: issuer(slug: "b") { id } viewer { login } }': 23,
    '{ issuer(slug: "a") { slug } issuer(slug: "a") { lei } }': 11,
    "{ issuers(first: 5) { nodes { slug } } issuers(first: 5) { nodes { lei } } }": 15,
    # Fragments cost what they hold. Of an interface's types all fields count, and the
    # objects of the one that has the most.
    "{ ...F } fragment F on Query { issuers(first: 5) { nodes { ...G } } } "
    "fragment G on Issuer { owner { lei } }": 20 + 5 * 2,
    '{ node(id: "x") { id } }': 11,
    '{ node(id: "x") { ... on Token { issuer { slug } } ... on User { lei } } }': 22,
    '{ node(id: "x") { ... on Token { issuer { slug owner { lei } } } '
    "... on Issuer { articles(first: 3) { nodes { slug } } } } }": 40 + 1 + 3,
    # Lists of ids.
    '{ nodes(ids: ["a", "b", "c"]) { id } }': 13,
    '{ nodes(ids: "a") { id } }': 11,
    "{ nodes(ids: []) { id } }": 11,
    '{ nodes(ids: ["a", "b"]) { ... on Issuer { owner { lei } } } }': 20 + 2 * 2,
    # Of a list that takes no `first` one item is counted before it is read.
    '{ token(id: "x") { orderBook { sequence } } }': 20 + 2,
    '{ token(id: "x") { orderBook(depth: 3) { bids { price } asks { price } } } }': 24,
    # Directives decide first.
    "{ issuers(first: 50) @skip(if: true) { nodes { slug } } __typename }": 0,
    "{ issuers(first: 50) { nodes @include(if: false) { slug } totalCount } }": 20,
    "{ __schema { types { name } } }": 10,
    '{ checkOrder(input: {accountID: "a", tokenID: "t", side: BUY, quantity: 1, '
    "limitPrice: 1}) { allowed refusals { code } } }": 100 + 2,
}


@pytest.mark.parametrize("query", COSTS)
def test_cost(query: str):
    assert cost(query) == COSTS[query]


@pytest.mark.parametrize(
    ("query", "variables", "expected"),
    [
        ("query ($n: Int) { issuers(first: $n) { nodes { slug } } }", {"n": 30}, 40),
        ("query ($n: Int) { issuers(first: $n) { nodes { slug } } }", {"n": None}, 110),
        ("query ($n: Int) { issuers(first: $n) { nodes { slug } } }", {}, 110),
        ("query ($n: Int = 8) { issuers(first: $n) { nodes { slug } } }", {}, 18),
        ("query ($n: Int = 8) { issuers(first: $n) { nodes { slug } } }", {"n": 9}, 19),
        (
            "query ($n: Int, $m: Int) { issuers(first: $n, last: $m) "
            "{ nodes { slug } } }",
            {"m": 6},
            16,
        ),
        (
            "query ($n: Int!, $m: Int!) { issuers(first: $n) { nodes { "
            "financialData(first: $m) { nodes { year } } } } }",
            {"n": 50, "m": 4},
            FIFTY,
        ),
        (
            "query ($n: Int!) { node(id: 1) { ... on Issuer { articles(first: $n) "
            "{ nodes { slug } } } ... on Token { issuer { owner { lei } } } } }",
            {"n": 1},
            40 + 1 + 2,
        ),
        (
            "query ($n: Int!) { node(id: 1) { ... on Issuer { articles(first: $n) "
            "{ nodes { slug } } } ... on Token { issuer { owner { lei } } } } }",
            {"n": 9},
            40 + 1 + 9,
        ),
        ("query ($i: [ID!]!) { nodes(ids: $i) { id } }", {"i": ["a"] * 40}, 50),
        ("query ($i: [ID!]!) { nodes(ids: $i) { id } }", {"i": "a"}, 11),
        ("query ($i: [ID!]!) { nodes(ids: $i) { id } }", {"i": []}, 11),
        (
            "query ($s: Boolean!) { issuers @skip(if: $s) { nodes { slug } } "
            'issuer(slug: "a") @include(if: $s) { slug } }',
            {"s": True},
            11,
        ),
        (
            "query ($s: Boolean!) { issuers @skip(if: $s) { nodes { slug } } "
            'issuer(slug: "a") @include(if: $s) { slug } }',
            {"s": False},
            110,
        ),
    ],
)
def test_cost_follows_the_variables(
    query: str, variables: dict[str, Any], expected: int
):
    assert cost(query, variables) == expected


def test_the_cost_that_is_told_is_the_cost(world: World, partner: Ask):
    answer = partner(f"{{ {FIGURES} }}")
    # Two issuers, of which one has three years.
    assert answer.headers["X-Query-Cost"] == str(20 + 2 + 3)


def test_cost_of_10_000_and_one_more():
    each = "".join(f" a{n}: issuers {{ nodes {{ slug }} }}" for n in range(90))
    dearest = f"{{{each} b: issuers(first: 90) {{ nodes {{ slug }} }} }}"
    assert cost(dearest) == settings.PARTNER_API_MAX_COST == 10_000
    one_more = dearest.replace("first: 90", "first: 91")
    assert refusal(one_more) == ("MAX_COST_EXCEEDED", 10_000)


BY_VARIABLES = """
    query ($n: Int!, $m: Int!) {
      issuers(first: $n) { nodes { articles(first: $m) { nodes { slug } } } }
    }
"""


def test_cost_of_10_000_by_variables():
    assert cost(BY_VARIABLES, {"n": 95, "m": 100}) == 20 + 95 * 101
    with pytest.raises(Refused) as refused:
        prepare(schema, BY_VARIABLES, None, {"n": 100, "m": 100})
    [error] = refused.value.errors
    assert error.extensions == {
        "code": "MAX_COST_EXCEEDED",
        "cost": 10_120,
        "maximum": 10_000,
        "fields": [
            {"path": "issuers.nodes.articles.nodes", "points": 10_000},
            {"path": "issuers.nodes", "points": 100},
            {"path": "issuers", "points": 10},
            {"path": "issuers.nodes.articles", "points": 10},
        ],
    }


LAST_LEVELS = [
    "slug",
    "tokens(first: 1) { totalCount }",
    "tokens(first: 1) { pageInfo { hasNextPage } }",
]


def below_an_issuer(levels: int) -> str:
    rounds, rest = divmod(levels - 1, 3)
    opening = "tokens(first: 1) { nodes { issuer { "
    return opening * rounds + LAST_LEVELS[rest] + " } } }" * rounds


def test_12_levels_and_13():
    def document(levels: int) -> str:
        return f'{{ issuer(slug: "a") {{ {below_an_issuer(levels - 1)} }} }}'

    assert accepted(document(12))
    assert refusal(document(13)) == ("MAX_DEPTH_EXCEEDED", 12)


@pytest.mark.parametrize("spread", ["... on Issuer { %s }", "... { %s }", "...F"])
def test_levels_count_through_fragments(spread: str):
    def document(levels: int) -> str:
        inside = below_an_issuer(levels - 4)
        query = (
            '{ issuer(slug: "a") { tokens(first: 1) { nodes { issuer { '
            + (spread.replace("%s", inside))
            + " } } } } }"
        )
        rest = f" fragment F on Issuer {{ {inside} }}" if spread == "...F" else ""
        return query + rest

    assert accepted(document(12))
    assert refusal(document(13)) == ("MAX_DEPTH_EXCEEDED", 12)


def test_introspection_may_be_deeper():
    nested = "type { ofType { ofType { ofType { ofType { ofType { ofType { ofType { "
    query = "{ __schema { types { fields { args { " + nested + "name" + " }" * 13
    assert accepted(query)


def test_100_aliases_and_101():
    def aliases(count: int) -> str:
        return "{" + "".join(f" a{n}: __typename" for n in range(count)) + " }"

    assert accepted(aliases(100))
    assert refusal(aliases(101)) == ("MAX_ALIASES_EXCEEDED", 100)


def test_100_repetitions_of_a_name_and_101():
    assert accepted("{" + " __typename" * 100 + " }")
    assert refusal("{" + " __typename" * 101 + " }") == ("MAX_ALIASES_EXCEEDED", 100)


def test_repetitions_count_over_the_whole_document():
    repeated = 'issuer(slug: "a") {' + " slug" * 51 + " }"
    inside = "fragment F on Issuer {" + " slug" * 50 + " }"
    query = f"{{ {repeated} ...G }} fragment G on Query {{ viewer {{ login }} }}"
    assert accepted(query)
    query = query.replace(" slug }", " slug ...F }") + inside
    assert refusal(query) == ("MAX_ALIASES_EXCEEDED", 100)


def test_50_spreads_and_51():
    def spreads(count: int) -> str:
        return "{" + " ...F" * count + " } fragment F on Query { __typename }"

    assert accepted(spreads(50))
    assert refusal(spreads(51)) == ("MAX_FRAGMENTS_EXCEEDED", 50)


@pytest.mark.parametrize(
    "query",
    [
        "{ __typename%s }",
        "{ ... on Query%s { __typename } }",
        "{ ...F%s } fragment F on Query { __typename }",
        "{ ...F } fragment F on Query%s { __typename }",
        "query%s { __typename }",
        "query ($n: Int%s) { issuers(first: $n) { totalCount } }",
    ],
)
def test_10_directives_on_a_node_and_11(query: str):
    def code(count: int) -> tuple[str, Any]:
        # Unknown ones, as no known directive may be repeated.
        with pytest.raises(Refused) as refused:
            prepare(schema, query % (" @x" * count), None, {})
        error = refused.value.errors[0]
        return error.extensions["code"], error.extensions.get("maximum")

    assert code(10) == ("GRAPHQL_VALIDATION_FAILED", None)
    assert code(11) == ("GRAPHQL_VALIDATION_FAILED", 10)


def test_repeated_directives_are_one_error():
    with pytest.raises(Refused) as refused:
        prepare(schema, "{ __typename" + " @skip(if: false)" * 5 + " }", None, {})
    [error] = refused.value.errors
    assert error.extensions == {"code": "GRAPHQL_VALIDATION_FAILED"}
    assert "can only be used once" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "{" + "...{" * 250 + "__typename" + "}" * 251,
        "{ nodes(ids: " + "[" * 250 + "]" * 250 + ") { id } }",
        "{" + "a{" * 250 + "b" + "}" * 251,
    ],
)
def test_what_nests_too_deeply_is_told_so(text: str):
    assert refusal(text) == ("MAX_DEPTH_EXCEEDED", 12)


def test_2_000_tokens_and_2_001():
    def tokens(count: int) -> str:
        # Braces, the field, its parentheses, name and colon, brackets: 10 of them.
        ids = '"" ' * (count - 12)
        return f"{{ nodes(ids: [{ids}]) {{ id }} }}"

    # The list is too long for its argument, which is found only on execution.
    assert accepted(tokens(2_000))
    assert refusal(tokens(2_001)) == ("MAX_TOKENS_EXCEEDED", 2_000)


def test_2_000_comments_and_2_001():
    assert accepted("#\n" * 2_000 + "{ __typename }")
    assert refusal("#\n" * 2_001 + "{ __typename }") == ("MAX_TOKENS_EXCEEDED", 2_000)


def test_100_000_characters_and_one_more():
    assert accepted("{ __typename }".ljust(100_000))
    assert refusal("{ __typename }".ljust(100_001)) == ("MAX_TOKENS_EXCEEDED", 100_000)


def test_aliases_of_100_characters_and_101():
    assert accepted("{ " + "x" * 100 + ": __typename }")
    long = "fragment F on Query { " + "x" * 101 + ": __typename } { ...F }"
    assert refusal(long) == ("GRAPHQL_VALIDATION_FAILED", 100)


def test_2_000_values_of_variables_and_2_001():
    query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    assert accepted(query, {"ids": ["1"] * 1_999})
    assert refusal(query, {"ids": ["1"] * 2_000}) == ("BAD_USER_INPUT", 2_000)
    nested = {"ids": ["1"], "unknown": {"a": [{}] * 1_996}}
    assert accepted(query, nested)
    nested["unknown"]["b"] = None  # type: ignore[call-overload]
    assert refusal(query, nested) == ("BAD_USER_INPUT", 2_000)


@pytest.mark.parametrize(
    ("query", "argument", "maximum"),
    [
        ("{ issuers(search: %s) { totalCount } }", "search", 100),
        ("{ issuers(country: %s) { totalCount } }", "country", 100),
        ("{ issuers(industryCode: %s) { totalCount } }", "industryCode", 100),
        ("{ issuers(after: %s) { totalCount } }", "after", 1_000),
        ("{ issuer(slug: %s) { id } }", "slug", 100),
        ("{ issuer(id: %s) { id } }", "id", 200),
        ("{ node(id: %s) { id } }", "id", 200),
        ('{ nodes(ids: ["a", %s]) { id } }', "ids.1", 200),
        ("{ issuers(isin: %s) { totalCount } }", "isin.0", 100),
        ('{ issuers(symbol: ["a", %s]) { totalCount } }', "symbol.1", 100),
        ("{ issuers(lei: [%s]) { totalCount } }", "lei.0", 100),
    ],
)
def test_texts_are_no_longer_than_what_they_look_for(
    query: str, argument: str, maximum: int, world: World, stranger: Ask
):
    def told(length: int) -> list[Any]:
        answer = stranger(query % f'"{"x" * length}"')
        errors = answer.body.get("errors", ())
        return [e["message"] for e in errors if "characters" in e["message"]]

    assert told(maximum) == []
    assert told(maximum + 1) == [
        f"`{argument}` has {maximum + 1} characters; pass at most {maximum}."
    ]


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ("query ($n: Int!) { issuers(first: $n) { totalCount } }", {"n": "x" * 9_999}),
        ("{ issuers(first: " + "9" * 9_999 + ") { totalCount } }", None),
        ("{ __typename(" + "x" * 9_999 + ": 1) }", None),
        ("{ __typename @" + "x" * 9_999 + " }", None),
        ("query ($t: Time!) { issuers(first: $t) { totalCount } }", {"t": "x" * 9_999}),
    ],
)
def test_messages_are_cut(query: str, variables: Any, world: World, stranger: Ask):
    for error in stranger(query, variables).errors:
        assert len(error["message"]) <= 501


@pytest.mark.parametrize("argument", ["first", "last"])
@pytest.mark.parametrize("size", [0, 1, 100])
def test_pages_of_0_to_100(argument: str, size: int, world: World, partner: Ask):
    answer = partner(
        "query ($n: Int!, $slug: String!) {"
        f" issuers({argument}: $n) {{ nodes {{ id }} }}"
        f" issuer(slug: $slug) {{ articles({argument}: {size}) {{ nodes {{ id }} }} }}"
        "}",
        {"n": size, "slug": "lumen"},
    )
    assert len(answer.data["issuers"]["nodes"]) == min(size, 2)
    assert len(answer.data["issuer"]["articles"]["nodes"]) == min(size, 1)


@pytest.mark.parametrize("argument", ["first", "last"])
@pytest.mark.parametrize("size", [-1, 101, -(2**31), 2**31 - 1])
def test_refuses_other_pages(argument: str, size: int, world: World, partner: Ask):
    answer = partner(f"{{ issuers({argument}: {size}) {{ nodes {{ id }} }} }}")
    assert answer.body["data"] is None
    [error] = answer.errors
    assert error["path"] == ["issuers"]
    assert error["message"] == f"`{argument}` is {size}; pass 0 to 100."
    assert error["extensions"] == {
        "code": "BAD_USER_INPUT",
        "argument": argument,
        "maximum": 100,
        "docUrl": page_of("BAD_USER_INPUT"),
        "requestId": answer.headers["X-Request-Id"],
    }


def test_100_ids_and_101(world: World, stranger: Ask):
    query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id } }"
    wanted = f"Issuer|{world.listed.id}"
    assert stranger(query, {"ids": [wanted] * 100}).data == {
        "nodes": [{"id": wanted}] * 100
    }
    answer = stranger(query, {"ids": [wanted] * 101})
    assert answer.code == "BAD_USER_INPUT"
    assert answer.errors[0]["extensions"]["maximum"] == 100


def test_10_introspections_and_11():
    def introspections(count: int) -> str:
        fields = "".join(f" a{n}: __type(name: 1) {{ kind }}" for n in range(count))
        return f"{{{fields} }}".replace("name: 1", 'name: "Token"')

    assert cost(introspections(10)) == 100
    assert refusal(introspections(11)) == ("MAX_COST_EXCEEDED", 10)


def test_an_introspection_answers_at_most_20_000_fields():
    def wide(count: int) -> str:
        aliases = "".join(f" a{number}: name" for number in range(count))
        return f"{{ __schema {{ types {{ fields {{{aliases} }} }} }} }}"

    count = sum(
        len(type_.fields)
        for type_ in schema.type_map.values()
        if is_object_type(type_) or is_interface_type(type_)
    )
    fits = (20_000 - 1 - len(schema.type_map)) // count
    assert accepted(wide(fits))
    assert refusal(wide(fits + 1)) == ("MAX_COST_EXCEEDED", 20_000)


@pytest.mark.parametrize(
    ("name", "value", "query", "code"),
    [
        ("COST", 99, "{ issuers { nodes { id } } }", "MAX_COST_EXCEEDED"),
        ("DEPTH", 1, '{ issuer(slug: "a") { slug } }', "MAX_DEPTH_EXCEEDED"),
        ("ALIASES", 1, "{ a: __typename b: __typename }", "MAX_ALIASES_EXCEEDED"),
        ("FRAGMENTS", 0, "{ ...F } fragment F on A { id }", "MAX_FRAGMENTS_EXCEEDED"),
        ("TOKENS", 2, "{ __typename }", "MAX_TOKENS_EXCEEDED"),
    ],
)
def test_every_limit_is_a_setting(
    name: str, value: int, query: str, code: str, settings: Any
):
    setattr(settings, f"PARTNER_API_MAX_{name}", value)
    # A space of its own, so that the text is not one that is remembered.
    assert refusal(query + " " * 7) == (code, value)
