"""Answers as gzip, where the client admits it."""

import gzip
from typing import Any

import orjson
import pytest
from django.test import Client

LONG = "{ __schema { types { name description } } }"
SHORT = "{ __typename }"


def ask(query: str, encoding: str) -> Any:
    body = orjson.dumps({"query": query})
    headers = {"Accept-Encoding": encoding} if encoding else {}
    return Client().post("/graphql", body, "application/json", headers=headers)


@pytest.mark.parametrize(
    ("encoding", "compressed"),
    [
        ("gzip", True),
        ("GZIP", True),
        ("br, gzip;q=0.5", True),
        ("*", True),
        ("br, *;q=0.1", True),
        ("", False),
        ("identity", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000, *", False),
        ("*;q=0", False),
        ("a," * 4_000 + "gzip", False),
    ],
)
def test_is_given_to_whoever_admits_it(encoding: str, compressed: bool, db: None):
    plain = ask(LONG, "")
    answer = ask(LONG, encoding)
    assert (answer.get("Content-Encoding") == "gzip") == compressed
    assert answer["Vary"] == "Accept-Encoding"
    assert answer["Content-Length"] == str(len(answer.content))
    body = gzip.decompress(answer.content) if compressed else answer.content
    assert body == plain.content
    if compressed:
        assert len(answer.content) < len(body) / 2


def test_short_answers_go_as_they_are(db: None):
    answer = ask(SHORT, "gzip")
    assert "Content-Encoding" not in answer
    assert answer.content == b'{"data":{"__typename":"Query"}}'
