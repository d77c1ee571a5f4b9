import io
import itertools
import logging
import re
import socket
import time
from typing import Any
from uuid import UUID

import orjson
import pytest
from django.core.cache import caches
from django.test import Client

from partnerapi.gateway import requests
from partnerapi.gateway.refusals import BadRequest
from partnerapi.gateway.throttling import local_buckets
from tests.characters import Answer, Ask, World, page_of
from tests.gateway.conftest import WebServer
from tests.owner import as_committed, break_table
from tests.waiting import PATIENCE_SECONDS

JSON = "application/json; charset=utf-8"
GRAPHQL_RESPONSE = "application/graphql-response+json; charset=utf-8"
MEBIBYTE = 1_048_576
TYPENAME = b'{"query":"{ __typename }"}'
COSTLY = "{ issuers(first: 100) { nodes { id } } }"

# The refusals in the order in which a request is checked.
REFUSALS = {
    "method": (405, "METHOD_NOT_ALLOWED"),
    "content type": (415, "UNSUPPORTED_MEDIA_TYPE"),
    "accept": (406, "NOT_ACCEPTABLE"),
    "key": (401, "UNAUTHENTICATED"),
    "size": (413, "PAYLOAD_TOO_LARGE"),
    "body": (400, "BAD_REQUEST"),
    "document": (200, "GRAPHQL_VALIDATION_FAILED"),
    "price": (429, "THROTTLED"),
}


def send(*broken: str) -> Any:
    """A request that breaks these rules and keeps all others."""
    query = "{ nothing }" if "document" in broken else COSTLY
    body = b"{" if "body" in broken else orjson.dumps({"query": query})
    if "size" in broken:
        body += b" " * (MEBIBYTE + 1 - len(body))
    headers = {"Accept": "text/html" if "accept" in broken else "application/json"}
    if "key" in broken:
        headers["X-Token-Auth"] = "service-apikey_nobody_wrong"
    return Client().generic(
        "PUT" if "method" in broken else "POST",
        "/graphql",
        body,
        "text/plain" if "content type" in broken else "application/json",
        headers=headers,
    )


@pytest.mark.parametrize(
    "broken",
    [*itertools.combinations(REFUSALS, 1), *itertools.combinations(REFUSALS, 2)],
)
def test_refuses_by_the_first_rule_that_is_broken(
    broken: tuple[str, ...], db: None, settings: Any
):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 50 if "price" in broken else 10_000
    response = send(*broken)
    status, code = REFUSALS[broken[0]]
    [error] = orjson.loads(response.content)["errors"]
    assert (response.status_code, error["extensions"]["code"]) == (status, code)
    assert error["extensions"]["requestId"] == response["X-Request-Id"]
    assert response["Content-Type"] == JSON
    assert response["Cache-Control"] == "no-store"
    assert not response.cookies
    if status != 200:
        assert error.keys() == {"message", "extensions"}
        assert orjson.loads(response.content).keys() == {"errors"}


MUTATION = """
    mutation {
      updateAccountStatus(input: {accountID: "Account|none", status: ACTIVE}) {
        changedAt
      }
    }
"""


def test_the_rules_of_mutations_follow_in_their_order(
    partner: Ask, stranger: Ask, settings: Any
):
    no_uuid = {"Idempotency-Key": "none"}
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 155
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    answers = [
        stranger(MUTATION.replace("changedAt", "nothing"), **no_uuid),
        stranger(MUTATION, **no_uuid),
        partner(MUTATION, **no_uuid),
        partner(MUTATION),
    ]
    assert [(answer.status, answer.code) for answer in answers] == [
        (200, "GRAPHQL_VALIDATION_FAILED"),
        (429, "THROTTLED"),
        (400, "IDEMPOTENCY_KEY_INVALID"),
        (400, "IDEMPOTENCY_KEY_REQUIRED"),
    ]
    full_budget()
    answer = stranger(MUTATION, **no_uuid)
    assert (answer.status, answer.code) == (401, "UNAUTHENTICATED")
    assert answer.headers["WWW-Authenticate"] == 'X-Token-Auth realm="Partner API"'


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
)
def test_answers_405_to_every_other_method(method: str, stranger: Ask):
    response = stranger.client.generic(method, "/graphql?query={__typename}")
    assert (response.status_code, response["Allow"]) == (405, "POST")
    if method != "HEAD":
        message = orjson.loads(response.content)["errors"][0]["message"]
        assert "`preferGetMethod: false`" in message


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/graphql",
        "application/graphql+json",
        "application/jsonp",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=iso-8859-1",
        "application/json; charset=utf-16",
    ],
)
def test_answers_415_to_every_other_content_type(content_type: str, stranger: Ask):
    answer = stranger.post(TYPENAME, content_type)
    assert (answer.status, answer.code) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        'Application/JSON;charset="UTF-8"',
        "application/json; charset=utf8",
        "application/json; profile=x",
    ],
)
def test_reads_json_in_utf_8(content_type: str, world: World, stranger: Ask):
    world.listed.trading_name = "Lumière 光"
    world.listed.save()
    as_committed()
    body = '{"query":"{ issuers(search: \\"lumière\\") { nodes { tradingName } } }"}'
    answer = stranger.post(body.encode(), content_type)
    assert answer.data["issuers"]["nodes"] == [{"tradingName": "Lumière 光"}]
    assert answer.headers["Content-Type"] == JSON


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        ("application/json", JSON),
        ("APPLICATION/JSON", JSON),
        ("text/html, */*;q=0.1", JSON),
        ("application/json;charset=utf-8;q=0.5", JSON),
        ("application/graphql-response+json, application/json;q=0.001", JSON),
        ("application/graphql-response+json;q=1, application/json;q=0.9", JSON),
        ("application/graphql-response+json, */*;q=0.1", JSON),
        ("application/graphql-response+json", GRAPHQL_RESPONSE),
        ("application/graphql-response+json, application/json;q=0", GRAPHQL_RESPONSE),
        ("application/*, application/json;q=0.000", GRAPHQL_RESPONSE),
        ("*/*;q=0.5, application/json; q=0", GRAPHQL_RESPONSE),
        ("text/html", None),
        ("text/*", None),
        ("application/json;q=0", None),
        ("*/*;q=0", None),
        ("application/xml, application/*;q=0", None),
        # No one has to read thousands of types.
        ("a," * 450 + "application/json", JSON),
        ("a," * 4_000 + "application/json", None),
    ],
)
def test_answers_json_wherever_accept_admits_it(
    accept: str, content_type: str | None, stranger: Ask
):
    answer = stranger.post(TYPENAME, Accept=accept)
    if content_type is None:
        assert (answer.status, answer.code) == (406, "NOT_ACCEPTABLE")
    else:
        assert answer.data == {"__typename": "Query"}
        assert answer.headers["Content-Type"] == content_type


@pytest.mark.parametrize(
    ("query", "variables", "code"),
    [
        ("{", None, "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", None, "GRAPHQL_VALIDATION_FAILED"),
        ("query a { id } query b { id }", None, "GRAPHQL_VALIDATION_FAILED"),
        (
            "query a { id: __typename } query b { id: __typename }",
            None,
            "OPERATION_RESOLUTION_FAILURE",
        ),
        (
            "query ($n: Int!) { issuers(first: $n) { totalCount } }",
            {"n": "x"},
            "BAD_USER_INPUT",
        ),
        ("{" + "a " * 2_001 + "}", None, "MAX_TOKENS_EXCEEDED"),
    ],
)
def test_answers_refused_documents_with_200_and_without_data(
    query: str, variables: Any, code: str, stranger: Ask
):
    answer = stranger(query, variables)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == JSON
    assert answer.body.keys() == {"errors"}
    assert {error["extensions"]["code"] for error in answer.errors} == {code}

    strict = stranger(query, variables, Accept="application/graphql-response+json")
    assert strict.status == 400
    assert strict.headers["Content-Type"] == GRAPHQL_RESPONSE
    assert strict.body.keys() == {"errors"}


def test_answers_field_errors_with_200_in_both_types(world: World, stranger: Ask):
    query = '{ issuer(slug: "lumen") { owner { id } } }'
    for accept in ("application/json", "application/graphql-response+json"):
        answer = stranger(query, Accept=accept)
        assert (answer.status, answer.code) == (200, "UNAUTHENTICATED")
        assert answer.body["data"] == {"issuer": None}
        assert answer.errors[0]["path"] == ["issuer", "owner"]
        assert answer.errors[0]["locations"] == [{"line": 1, "column": 27}]


def test_a_success_is_exactly_data(stranger: Ask):
    answer = stranger.post(TYPENAME)
    assert answer.status == 200
    assert answer.body == {"data": {"__typename": "Query"}}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b'{"query": NaN}', "is not JSON"),
        (b"null", "is not a JSON object"),
        (b'"{ __typename }"', "is not a JSON object"),
        (b"[" + TYPENAME + b"]", "is an array"),
        (b"[]", "is an array"),
        (b"{}", "`query` is missing"),
        (b'{"query":null}', "`query` is missing"),
        (b'{"query":["{ __typename }"]}', "`query` is missing"),
        (b'{"query":"{ __typename }","variables":[]}', "`variables` is not an object"),
        (
            b'{"query":"{ __typename }","variables":"{}"}',
            "`variables` is not an object",
        ),
        (
            b'{"query":"{ __typename }","operationName":1}',
            "`operationName` is not a string",
        ),
        (
            b'{"query":"{ __typename }","extensions":[]}',
            "`extensions` is not an object",
        ),
    ],
)
def test_answers_400_to_a_body_that_is_no_request(
    body: bytes, problem: str, stranger: Ask
):
    # Named here because the client leaves the type of an empty body out.
    answer = stranger.post(body, **{"Content-Type": "application/json"})
    assert (answer.status, answer.code) == (400, "BAD_REQUEST")
    assert problem in answer.errors[0]["message"]


def test_null_members_are_absent_and_unknown_ones_ignored(stranger: Ask):
    body: dict[str, Any] = {
        "query": "query q { __typename }",
        "variables": None,
        "operationName": None,
        "extensions": None,
        "id": 7,
        "doc_id": [],
    }
    assert stranger.post(orjson.dumps(body)).data == {"__typename": "Query"}


def test_a_query_in_the_address_is_ignored(stranger: Ask):
    response = stranger.client.post(
        "/graphql?query={nothing}&variables=x", TYPENAME, "application/json"
    )
    assert orjson.loads(response.content) == {"data": {"__typename": "Query"}}


def test_admits_a_body_of_one_mebibyte_and_no_byte_more(stranger: Ask):
    assert stranger.post(TYPENAME.ljust(MEBIBYTE)).data == {"__typename": "Query"}
    answer = stranger.post(TYPENAME.ljust(MEBIBYTE + 1))
    assert (answer.status, answer.code) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize("own", ["a", "A.b_c-9", "x" * 64])
def test_keeps_a_safe_request_id(own: str, stranger: Ask):
    for query in ("{ __typename }", "{ nothing }"):
        answer = stranger(query, **{"X-Request-Id": own})
        assert answer.headers["X-Request-Id"] == own
    assert answer.errors[0]["extensions"]["requestId"] == own


@pytest.mark.parametrize("own", ["", "x" * 65, "a b", "a\tb", "é", "<x>", "a/b"])
def test_replaces_an_unsafe_request_id(own: str, stranger: Ask):
    answer = stranger("{ nothing }", **{"X-Request-Id": own})
    given = answer.headers["X-Request-Id"]
    assert UUID(given).version == 7
    assert answer.errors[0]["extensions"]["requestId"] == given


def test_every_error_holds_the_request_id(world: World, stranger: Ask):
    answer = stranger(
        'query { a: issuer(slug: "lumen") { owner { id } } '
        'b: issuer(slug: "arbor") { owner { id } } issuers(first: -1) { totalCount } }'
    )
    ids = [error["extensions"]["requestId"] for error in answer.errors]
    assert ids == [answer.headers["X-Request-Id"]] * 3


def test_an_unknown_host_is_a_bad_request(stranger: Ask):
    for query in (TYPENAME, b"{"):
        answer = stranger.post(query, Host="evil.example")
        assert (answer.status, answer.code) == (400, "BAD_REQUEST")
        assert "Host" in answer.errors[0]["message"]


def field_errors(count: int, ask: Ask) -> Answer:
    fields = " ".join(f"a{number}: issuer {{ id }}" for number in range(count))
    return ask(f"{{ {fields} }}")


def test_tells_twenty_errors_and_counts_the_others(stranger: Ask):
    assert len(field_errors(20, stranger).errors) == 20

    answer = field_errors(21, stranger)
    assert len(answer.errors) == 21
    assert answer.errors[-1] == {
        "message": "1 more error.",
        "extensions": {
            "code": "BAD_USER_INPUT",
            "arguments": ["id", "slug", "lei"],
            "docUrl": page_of("BAD_USER_INPUT"),
            "requestId": answer.headers["X-Request-Id"],
            "omittedErrors": 1,
        },
    }

    answer = field_errors(97, stranger)
    assert len(answer.errors) == 21
    assert answer.errors[-1]["message"] == "77 more errors."


@pytest.mark.parametrize(
    ("template", "variables", "code"),
    [
        ("{{ {0} }}", None, "GRAPHQL_VALIDATION_FAILED"),
        ("query ({1}) {{ __typename {2} }}", {}, "BAD_USER_INPUT"),
    ],
)
def test_ends_a_check_after_twenty_errors(
    template: str, variables: Any, code: str, stranger: Ask
):
    def asked(count: int) -> Answer:
        numbers = range(count)
        return stranger(
            template.format(
                " ".join(f"nothing{n}" for n in numbers),
                " ".join(f"$v{n}: Int!" for n in numbers),
                " ".join(
                    f"a{n}: issuers(first: $v{n}) {{ totalCount }}" for n in numbers
                ),
            ),
            variables,
        )

    assert len(asked(20).errors) == 20
    answer = asked(30)
    assert len(answer.errors) == 21
    assert answer.errors[-1] == {
        "message": "There are more errors; checking stops after 20.",
        "extensions": {
            "code": code,
            "docUrl": page_of(code),
            "requestId": answer.headers["X-Request-Id"],
        },
    }


@pytest.mark.parametrize("debug", [False, True])
def test_masks_a_crash_and_logs_it_by_its_request_id(
    debug: bool, partner: Ask, settings: Any, caplog: pytest.LogCaptureFixture
):
    settings.DEBUG = debug
    break_table("accounts_apikey")
    answer = partner("{ __typename }", **{"X-Request-Id": "crash-1"})
    assert answer.status == 500
    assert answer.headers["Content-Type"] == JSON
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Request-Id"] == "crash-1"
    assert answer.body == {
        "errors": [
            {
                "message": "Something went wrong on our side. Quote the requestId if "
                "you report it.",
                "extensions": {
                    "code": "INTERNAL_SERVER_ERROR",
                    "docUrl": page_of("INTERNAL_SERVER_ERROR"),
                    "requestId": "crash-1",
                },
            }
        ]
    }
    [record] = [r for r in caplog.records if "crash-1" in r.getMessage()]
    assert record.levelno == logging.ERROR
    assert "division by zero" in str(record.exc_info[1])
    assert partner.key.rpartition("_")[2] not in caplog.text


@pytest.mark.parametrize("debug", [False, True])
def test_masks_a_crash_of_a_field(
    debug: bool,
    world: World,
    stranger: Ask,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
):
    settings.DEBUG = debug
    break_table("issuers_article")
    answer = stranger(
        '{ issuer(slug: "lumen") { slug articles { nodes { id } } } }',
        **{"X-Request-Id": "crash-2"},
    )
    assert answer.status == 200
    assert answer.body == {
        "data": {"issuer": None},
        "errors": [
            {
                "message": "Something went wrong on our side. Quote the requestId if "
                "you report it.",
                "locations": [{"line": 1, "column": 32}],
                "path": ["issuer", "articles"],
                "extensions": {
                    "code": "INTERNAL_SERVER_ERROR",
                    "docUrl": page_of("INTERNAL_SERVER_ERROR"),
                    "requestId": "crash-2",
                },
            }
        ],
    }
    [record] = [r for r in caplog.records if "crash-2" in r.getMessage()]
    assert "division by zero" in str(record.exc_info[1])


def full_budget() -> None:
    caches["default"].client.get_client().flushdb()
    local_buckets.clear()


@pytest.mark.parametrize("broken", REFUSALS)
def test_debug_never_changes_an_answer(broken: str, db: None, settings: Any):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 50 if broken == "price" else 10_000
    bodies = []
    for debug in (False, True):
        settings.DEBUG = debug
        full_budget()
        response = send(broken)
        bodies.append(response.content.replace(response["X-Request-Id"].encode(), b""))
    assert bodies[0] == bodies[1]


def test_the_other_pages_have_a_request_id_too(client: Client):
    response = client.get("/schema.graphql", headers={"X-Request-Id": "page-1"})
    assert response["X-Request-Id"] == "page-1"


PAUSE = b""


def exchange(server: WebServer, *parts: bytes) -> tuple[bytes, bytes]:
    """Send bytes as they are; the head and the body of what comes back."""
    with socket.create_connection(
        ("127.0.0.1", server.port), PATIENCE_SECONDS
    ) as client:
        for part in parts:
            client.sendall(part)
            if part is PAUSE:
                time.sleep(0.2)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while part := client.recv(65_536):
            received += part
    head, _, body = received.partition(b"\r\n\r\n")
    return head, body


HEAD = (
    b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\n"
)


@pytest.mark.parametrize(
    ("size", "status"), [(len(TYPENAME), 200), (MEBIBYTE, 200), (MEBIBYTE + 1, 413)]
)
def test_reads_a_chunked_body(size: int, status: int, web_server: WebServer):
    body = TYPENAME.ljust(size)
    chunks = [body[at : at + 60_000] for at in range(0, size, 60_000)]
    framed = [f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n" for chunk in chunks]
    head, answer = exchange(
        web_server,
        HEAD,
        b"Transfer-Encoding: chunked\r\n\r\n",
        *framed,
        # The server has read what came before.
        PAUSE,
        b"0\r\n\r\n",
    )
    assert head.startswith(b"HTTP/1.1 %d " % status)
    if status == 200:
        assert orjson.loads(answer) == {"data": {"__typename": "Query"}}
    else:
        [error] = orjson.loads(answer)["errors"]
        assert error["extensions"]["code"] == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize(
    "framed",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b"-1\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}xx0\r\n\r\n",
        b"2\r\n{}\r\n0\r\nno trailer\r\n\r\n",
        b"5\r\n{}",
        b"",
    ],
)
def test_refuses_a_malformed_chunked_body(framed: bytes, web_server: WebServer):
    head, _ = exchange(web_server, HEAD, b"Transfer-Encoding: chunked\r\n\r\n", framed)
    assert head.startswith(b"HTTP/1.1 400 ")


def test_refuses_a_body_that_breaks_off(web_server: WebServer):
    head, body = exchange(web_server, HEAD, b"Content-Length: 100\r\n\r\n", TYPENAME)
    assert head.startswith(b"HTTP/1.1 400 ")
    [error] = orjson.loads(body)["errors"]
    assert error["extensions"]["code"] == "BAD_REQUEST"
    assert error["message"] == "The body ends after 26 of its 100 bytes."


def test_answers_head_without_a_body(web_server: WebServer):
    head, body = exchange(
        web_server,
        b"HEAD /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    )
    assert head.startswith(b"HTTP/1.1 405 ")
    assert body == b""


def test_sends_exactly_these_headers(web_server: WebServer):
    head, body = exchange(
        web_server,
        HEAD + f"Content-Length: {len(TYPENAME)}\r\n\r\n".encode() + TYPENAME,
    )
    names = {line.partition(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
    assert names == {
        b"server",
        b"date",
        b"connection",
        b"content-type",
        b"content-length",
        b"x-request-id",
        b"cache-control",
        b"x-ratelimit-limit",
        b"x-ratelimit-remaining",
        b"x-ratelimit-reset",
        b"x-ratelimit-time-remaining",
        b"x-query-cost",
        b"x-content-type-options",
    }
    assert re.search(rb"(?i)content-length: %d\r\n" % len(body), head + b"\r\n")


class Trickle:
    """A server's stream that waits a second for each byte of a client."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def read(self, size: int) -> bytes:
        self.seconds += 1
        return b"x"


def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch):
    client = Trickle()
    monkeypatch.setattr(requests, "monotonic", lambda: client.seconds)
    with pytest.raises(BadRequest, match="did not come within 10 seconds"):
        requests.read_in_time(client, 100)
    assert client.seconds == 11


def test_a_body_is_read_to_its_length():
    stream = io.BytesIO(bytes(5_000))
    assert requests.read_in_time(stream, 3_000) == bytes(3_000)
    assert requests.read_in_time(stream, 3_000) == bytes(2_000)
