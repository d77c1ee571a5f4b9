"""Which operation of a document is run, and which cannot be."""

from typing import Any

import orjson
import pytest

from partnerapi.graphql.documents import Refused, prepare
from tests.characters import Answer, Ask, World
from tests.graphql import unreliable


def run(
    ask: Ask, name: str, text: str, variables: dict[str, Any] | None = None
) -> Answer:
    """Ask for the operation of this name."""
    body = {"query": text, "variables": variables, "operationName": name}
    return ask.post(orjson.dumps(body))


@pytest.mark.parametrize(
    "query",
    [
        "subscription { x }",
        "subscription S { __typename }",
        "subscription ($n: Int) { x(first: $n) { y } ...F } "
        "fragment F on Query { __typename }",
    ],
)
def test_there_are_no_subscriptions(query: str, stranger: Ask, world: World):
    answer = stranger(query)
    assert answer.status == 200
    assert answer.body.keys() == {"errors"}
    [error] = answer.errors
    assert error["message"] == "This schema has no subscriptions."
    assert error["extensions"]["code"] == "OPERATION_RESOLUTION_FAILURE"


def test_a_schema_without_mutations_says_so():
    with pytest.raises(Refused) as refused:
        prepare(unreliable.schema, "mutation { x }", None, {})
    [error] = refused.value.errors
    assert error.message == "This schema has no mutations."
    assert error.extensions == {"code": "OPERATION_RESOLUTION_FAILURE"}


def test_a_query_may_stand_beside_a_subscription(stranger: Ask, world: World):
    text = "query Q { __typename } subscription S { x }"
    assert run(stranger, "Q", text).data == {"__typename": "Query"}


def test_a_variable_of_a_directive_may_be_a_list_in_another_operation(
    stranger: Ask, world: World
):
    text = (
        "query A($v: [ID!]!) { nodes(ids: $v) { id } }"
        " query B($v: Boolean!) { __typename @skip(if: $v) }"
    )
    assert run(stranger, "A", text, {"v": []}).data == {"nodes": []}
    assert run(stranger, "B", text, {"v": True}).data == {}
