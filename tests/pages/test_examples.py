import json
import urllib.request
from uuid import uuid4

import pytest
from graphql import get_operation_ast, get_variable_values, parse, validate

from partnerapi.schema import schema
from partnerapi.site.pages import examples
from tests.waiting import PATIENCE_SECONDS

each_example = pytest.mark.parametrize(
    "example", examples(), ids=[example["name"] for example in examples()]
)


def test_there_are_examples_to_start_from():
    assert [example["name"] for example in examples()] == [
        "issuers-with-financial-data",
        "one-issuer",
        "page-by-page",
        "search-and-count",
        "classification",
        "any-object-by-id",
        "who-am-i",
        "accounts",
        "order-books",
        "suspend-an-account",
        "place-an-order",
        "a-clients-trading",
    ]


@each_example
def test_is_valid_against_the_schema(example):
    document = parse(example["query"])

    assert validate(schema, document) == []
    definitions = get_operation_ast(document).variable_definitions
    variables = json.loads(example["variables"] or "{}")
    assert isinstance(get_variable_values(schema, definitions, variables), dict)
    assert set(variables) == {each.variable.name.value for each in definitions}


@each_example
def test_answers_with_data_in_the_sandbox(example, running_server):
    answer = ask(running_server, example)

    assert set(answer) == {"data"}
    for name, value in answer["data"].items():
        assert value, f"{name} is empty"


def test_one_issuer_shows_something_of_everything(running_server):
    example = next(each for each in examples() if each["name"] == "one-issuer")

    issuer = ask(running_server, example)["data"]["issuer"]

    assert len(issuer["articles"]["nodes"]) == 3
    assert {token["visibility"] for token in issuer["tokens"]["nodes"]} == {
        "PUBLIC",
        "PRIVATE",
    }
    assert issuer["legacyShareholders"]["totalCount"] == 2_875
    assert issuer["companyLogo"]["contentType"] == "image/png"


def ask(server, example):
    body = {
        "query": example["query"],
        "variables": json.loads(example["variables"] or "null"),
    }
    headers = {
        "Content-Type": "application/json",
        "X-Token-Auth": server["key"],
        "Idempotency-Key": str(uuid4()),
    }
    request = urllib.request.Request(
        server["graphql"], json.dumps(body).encode(), headers
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        return json.load(response)
