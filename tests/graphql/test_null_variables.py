"""Null given for a nullable variable with a default, where null cannot stand.

Validation accepts such a variable for the sake of its default (GraphQL specification,
section 5.8.5); whether it has a value is known only with the request.
"""

import math
from typing import Any

import pytest

from partnerapi.graphql.documents import PreparedRequest, Refused, prepare
from partnerapi.graphql.execution import execute
from partnerapi.schema import schema
from tests.characters import Ask, World
from tests.graphql import unreliable
from tests.graphql.differences import plain
from tests.graphql.oracle import execute_by_graphql_core

NULL = {"v": None}


@pytest.mark.parametrize(
    "query",
    [
        "query ($v: Boolean = true) { __typename @skip(if: $v) }",
        "query ($v: Boolean = true) { __typename @include(if: $v) }",
        "query ($v: Boolean = true) { ... @include(if: $v) { __typename } }",
        "query ($v: Boolean = true) { ...F @skip(if: $v) } "
        "fragment F on Query { __typename }",
        "query ($v: Boolean = true) { issuers { nodes { id @skip(if: $v) } } }",
        "query ($v: Boolean = true) { issuers { totalCount @skip(if: $v) } }",
        "query ($v: Boolean = true) { issuers "
        "{ pageInfo { endCursor @skip(if: $v) } } }",
        "query ($v: Boolean = true) { nodes(ids: []) "
        "{ ... on Token { issuer { id @skip(if: $v) } } } }",
        "query ($v: Boolean = true) { __schema { types { name @skip(if: $v) } } }",
        "mutation ($v: Boolean = true) { __typename @skip(if: $v) }",
    ],
)
def test_a_directive_is_refused(query: str, stranger: Ask, world: World):
    answer = stranger(query, NULL)
    assert answer.status == 200
    assert answer.body.keys() == {"errors"}
    assert answer.code == "BAD_USER_INPUT"
    [error] = answer.errors
    assert (
        error["message"]
        == "Argument 'if' of non-null type 'Boolean!' must not be null."
    )
    column = query.index("if: $v") + len("if: ") + 1
    assert error["locations"] == [{"line": 1, "column": column}]


def test_a_directive_that_is_not_reached_refuses_nothing(stranger: Ask, world: World):
    query = (
        "query ($v: Boolean = true) { __typename "
        "issuers @skip(if: true) { nodes { id @skip(if: $v) } } }"
    )
    assert stranger(query, NULL).data == {"__typename": "Query"}


@pytest.mark.parametrize(
    "query",
    [
        'query ($v: String = "Issuer") { a: __type(name: $v) { name } __typename }',
        "query ($v: Boolean = true) "
        '{ __type(name: "Named") { fields(includeDeprecated: $v) { name } } }',
        "query ($v: Int = 1) { exact(number: $v) { title } __typename }",
        "query ($v: Int = 1) { sure { exact(number: $v) { title } } __typename }",
        "query ($v: [Int!] = [1]) { sum(numbers: $v) }",
        "query ($v: Int = 1) { sum(numbers: [2, $v]) }",
        "query ($v: Int = 1) { weigh(weight: {grams: $v}) }",
        "query ($v: Weight = {grams: 1}) { weigh(weight: $v) }",
        "query ($v: Int = 1) { child(number: $v) { title } }",
    ],
)
@pytest.mark.parametrize("variables", [{}, NULL])
def test_an_argument_fails_as_in_graphql_core(query: str, variables: dict[str, Any]):
    prepared = prepare(unreliable.schema, query, None, variables)
    context = unreliable.reliable
    ours = execute(prepared, context, math.inf)
    theirs = execute_by_graphql_core(prepared, context)
    assert plain(ours) == plain(theirs)


def test_introspection_tells_its_error(stranger: Ask, world: World):
    query = 'query ($v: String = "Token") { __type(name: $v) { name } }'
    assert stranger(query).data == {"__type": {"name": "Token"}}
    answer = stranger(query, NULL)
    assert answer.status == 200
    assert answer.body["data"] == {"__type": None}
    assert answer.code == "BAD_USER_INPUT"
    [error] = answer.errors
    assert error["path"] == ["__type"]
    assert error["locations"] == [{"line": 1, "column": query.index("$v)") + 1}]
    assert stranger(query, {"v": "Issuer"}).data == {"__type": {"name": "Issuer"}}


def test_an_input_field_fails_before_anything_happens(partner: Ask, world: World):
    query = (
        'mutation ($v: ID = "Account|none") { updateAccountStatus('
        "input: {accountID: $v, status: ACTIVE}) { changedAt } }"
    )
    key = "0b3cb8b1-6b5b-4c1c-9d7a-3a1f1c1f5a10"
    answer = partner(query, NULL, **{"Idempotency-Key": key})
    assert answer.status == 200
    assert answer.body["data"] == {"updateAccountStatus": None}
    assert answer.code == "BAD_USER_INPUT"


def test_a_refused_setting_does_not_stand_in_for_another():
    query = "query ($v: Boolean = true) { __typename @skip(if: $v) }"
    assert isinstance(prepare(schema, query, None, {}), PreparedRequest)
    for _ in range(2):
        with pytest.raises(Refused):
            prepare(schema, query, None, NULL)
    assert isinstance(prepare(schema, query, None, {"v": False}), PreparedRequest)
