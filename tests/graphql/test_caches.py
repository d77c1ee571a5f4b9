"""What strangers' documents leave behind: bounded in size, and shared where alike."""

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from cachetools import LRUCache
from graphql import get_introspection_query

from partnerapi.graphql import documents as module
from partnerapi.graphql.documents import PreparedRequest, Refused, documents, prepare
from partnerapi.graphql.execution import execute
from partnerapi.graphql.introspection import MAX_RESULTS, results
from partnerapi.schema import schema


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    documents.clear()
    results.clear()
    yield
    documents.clear()
    results.clear()


def ask(text: str, variables: dict[str, Any] | None = None) -> Any:
    prepared = prepare(schema, text, None, variables or {})
    result = execute(prepared, None, math.inf)
    assert result.errors is None
    return result.data


def test_different_introspections_are_kept_in_a_bounded_number():
    wide = " ".join(f"t{number}: type {{ kind }}" for number in range(4))
    for number in range(MAX_RESULTS + 8):
        inside = f"{{ types {{ x{number}: name fields {{ {wide} }} }} }}"
        data = ask(f"{{ __schema {inside} }}")
        assert len(data["__schema"]["types"]) == len(schema.type_map)
    assert len(results) == MAX_RESULTS


def test_names_of_types_do_not_add_up():
    query = "query ($n: String!) { __type(name: $n) { name } }"
    for number in range(MAX_RESULTS + 8):
        assert ask(query, {"n": f"x{number}" * 10_000}) == {"__type": None}
    assert len(results) == MAX_RESULTS
    assert {len(digest) for _, digest in results} == {32}


def test_an_introspection_is_answered_once_for_all_who_ask_it():
    first = ask(get_introspection_query())
    other = ask("# another\n" + get_introspection_query())
    assert len(results) == 1
    assert other["__schema"] is first["__schema"]


def test_only_the_variables_that_it_uses_tell_introspections_apart():
    query = """
        query ($n: String = "Issuer", $s: Boolean = false, $first: Int = 1) {
          issuers(first: $first) @skip(if: true) { totalCount }
          __type(name: $n) { ...F }
        }
        fragment F on __Type { kind name @skip(if: $s) }
    """
    issuer, token = (
        {"__type": {"kind": "OBJECT", "name": name}} for name in ("Issuer", "Token")
    )
    for first in (1, 2):
        assert ask(query, {"first": first}) == issuer
        assert ask(query, {"first": first, "n": "Issuer"}) == issuer
        assert ask(query, {"first": first, "n": "Token"}) == token
        assert ask(query, {"first": first, "s": True}) == {"__type": {"kind": "OBJECT"}}
    assert len(results) == 3
    assert ask(query.replace("kind", "")) == {"__type": {"name": "Issuer"}}
    assert len(results) == 4


@pytest.mark.parametrize(
    "text",
    [
        "{ a#: nodes(ids: [" + "1 " * 100 + "]) { __typename } }",
        "{ a#: nodes(ids: [" + "1 " * 100 + "]) { nothing } }",
        "{ a#: nodes(ids: [" + "1 " * 100 + "]) { __typename }",
        "{ a# }",
    ],
)
def test_documents_are_kept_up_to_a_sum_of_characters(
    text: str, monkeypatch: pytest.MonkeyPatch
):
    few: LRUCache[Any, Any] = LRUCache(2_000, getsizeof=lambda document: document.size)
    monkeypatch.setattr(module, "documents", few)
    for number in range(30):
        with suppress(Refused):
            prepare(schema, text.replace("#", str(number)), None, {})
    kept = [document.size for document in few.values()]
    assert few.currsize == sum(kept)
    assert 2_000 - max(kept) < few.currsize <= 2_000


def test_the_document_used_longest_ago_makes_room(monkeypatch: pytest.MonkeyPatch):
    few: LRUCache[Any, Any] = LRUCache(3 * 200, getsizeof=lambda document: 200)
    monkeypatch.setattr(module, "documents", few)
    for name in "abcad":
        prepare(schema, f"{{ {name}: __typename }}", None, {})
    assert {text[2] for _, text in few} == {"a", "c", "d"}


def test_the_errors_of_a_document_count():
    text = "{ __typename @" + "x" * 100 + " }"
    with suppress(Refused):
        prepare(schema, text, None, {})
    assert documents[schema, text].size > 100 + 2 * len(text)


def test_a_long_document_is_not_kept():
    prepare(schema, "{ __typename }" + " " * module.CACHED_TEXT_LENGTH, None, {})
    assert len(documents) == 0


def plans(text: str) -> int:
    [operation] = documents[schema, text].operations
    return len(operation.plans)


def test_plans_count_with_their_document(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_SIZE", 2_000)
    names = [f"v{number}" for number in range(7)]
    defined = " ".join(f"${name}: Boolean!" for name in names)
    fields = " ".join(f"{name}: __typename @skip(if: ${name})" for name in names)
    text = f'query ({defined}) {{ {fields} issuer(slug: "a") {{ id }} }}'
    for setting in range(2**7):
        variables = {name: bool(setting >> n & 1) for n, name in enumerate(names)}
        assert isinstance(prepare(schema, text, None, variables), PreparedRequest)
    assert documents[schema, text].size == documents.currsize <= 2_000
    assert 10 <= plans(text) < 2**7


def test_a_plan_is_kept_once_its_cost_was_accepted():
    text = (
        "query ($n: Int!) { issuers(first: $n) "
        "{ nodes { tokens(first: 100) { nodes { issuer { id } } } } } }"
    )
    with pytest.raises(Refused):
        prepare(schema, text, None, {"n": 100})
    assert plans(text) == 0
    first = prepare(schema, text, None, {"n": 1})
    assert plans(text) == 1
    assert prepare(schema, text, None, {"n": 2}).plan is first.plan
    with pytest.raises(Refused):
        prepare(schema, text, None, {"n": 100})
    assert plans(text) == 1
