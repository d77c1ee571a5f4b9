"""Stands between a partner's program and the GraphQL API, request by request.

Standard library only.
"""

import email.message
import http.client
import json
import re
import select
import ssl
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

FORWARD_SECONDS = 60.0
"""For an answer of the API, which may wait for events."""
OWN_HEADERS = {
    "connection", "keep-alive", "transfer-encoding", "content-length", "host",
    "accept-encoding",
}  # fmt: skip
"""Headers of one connection, in lower case: not passed on."""
IGNORED = re.compile(r'"""(?:[^"]|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*')
"""Strings and comments of a document."""
WORD = re.compile(r"[_A-Za-z]\w*")
MUTATION = re.compile(r"(?:^|\})\s*mutation\b")
EVENTS = re.compile(r"\bevents\s*\(([^)]*)\)")
ARGUMENT = re.compile(r'\b(after|last)\s*:\s*(\$\w+|"[^"]*"|\w+)')
CLIENT_ORDER_ID = re.compile(r'clientOrderID\s*:\s*"([^"]*)"')


class Fate(Enum):
    """How an answer is kept from the program."""

    DROPPED = "the connection ends"
    HELD = "the connection stays open until the program ends it"


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content(self) -> Any:
        """Its JSON; None: it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class Request:
    """A GraphQL request of the program, as far as it can be read without a parser."""

    def __init__(self, body: bytes, headers: email.message.Message) -> None:
        self.body = body
        self.token = headers.get("X-Token-Auth") or ""
        self.key = headers.get("Idempotency-Key") or ""
        self.is_kill = headers.get("X-Kill-Switch") == "1"
        self.is_trial = (headers.get("X-Validate-Only") or "").lower() == "true"
        try:
            sent = json.loads(body)
        except ValueError:
            sent = None
        sent = sent if isinstance(sent, dict) else {}
        self.document = str(sent.get("query"))
        self.variables = sent.get("variables") or {}
        bare = IGNORED.sub('""', self.document)
        self.words = set(WORD.findall(bare))
        self.is_mutation = MUTATION.search(bare) is not None
        self.is_order = self.is_mutation and bool(
            self.words & {"placeOrder", "placeOrders"}
        )
        self.stops_orders = self.is_mutation and bool(
            self.words & {"cancelOrders", "blockOrders"}
        )

    def events(self) -> dict[str, str] | None:
        """`after` and `last` of its field `events`; None: it has no such field."""
        found = EVENTS.search(self.document)
        if self.is_mutation or found is None:
            return None
        arguments = {}
        for name, text in ARGUMENT.findall(found[1]):
            value = self.variables.get(text[1:]) if text.startswith("$") else text
            if value not in (None, "null"):
                arguments[name] = str(value).strip('"')
        return arguments

    @property
    def client_order_ids(self) -> set[str]:
        given = set(values_of(self.variables, {"clientOrderID"}))
        return given | set(CLIENT_ORDER_ID.findall(self.document))


def values_of(content: Any, names: set[str]) -> Iterator[Any]:
    """The values of members with these names, at any depth."""
    if isinstance(content, dict):
        for name, value in content.items():
            if name in names:
                yield value
            yield from values_of(value, names)
    elif isinstance(content, list):
        for value in content:
            yield from values_of(value, names)


class RequestJudge(Protocol):
    """Sees each request and each answer, and may answer instead of the API."""

    def before(self, request: Request) -> Answer | None: ...
    def after(self, request: Request, answer: Answer) -> Answer | Fate: ...
    def on_cut(self, request: Request) -> None: ...


def post(
    api: str, body: bytes, headers: Mapping[str, str], tls: ssl.SSLContext
) -> Answer:
    """The answer of the API at a URL.

    Raises:
        OSError, http.client.HTTPException: none came.
    """
    url = urlsplit(api)
    host, port = url.hostname or "", url.port
    connection = (
        http.client.HTTPSConnection(host, port, timeout=FORWARD_SECONDS, context=tls)
        if url.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=FORWARD_SECONDS)
    )
    passed = {n: v for n, v in headers.items() if n.lower() not in OWN_HEADERS}
    try:
        connection.request("POST", url.path, body, passed)
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.getheaders()), answer.read())
    finally:
        connection.close()


class HttpRelay(ThreadingHTTPServer):
    """Serves the program at `place`, host and port, and forwards to the API."""

    daemon_threads = True

    def __init__(
        self,
        place: tuple[str, int],
        api: str,
        tls: ssl.SSLContext,
        judge: RequestJudge,
    ) -> None:
        super().__init__(place, Handler)
        self.judge = judge
        self.tls = tls
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections of a program that was killed end at any moment."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def forward(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Raises what `post` raises."""
        return post(self.api, body, headers, self.tls)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HttpRelay

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            self.give(Answer(411, {}, b"Send a Content-Length.\n"))
            return
        body = self.rfile.read(int(length))
        headers = dict(self.headers.items())
        request = Request(body, self.headers)
        answer = self.server.judge.before(request)
        if answer:
            self.give(answer)
            return
        try:
            received = self.server.forward(body, headers)
        except (OSError, http.client.HTTPException) as problem:
            self.give(Answer(502, {}, f"The API does not answer: {problem}\n".encode()))
            return
        given = self.server.judge.after(request, received)
        if given is Fate.HELD:
            # Readable before an answer: the program has ended the connection.
            select.select([self.connection], [], [])
        if isinstance(given, Fate):
            self.close_connection = True
            self.server.judge.on_cut(request)
        else:
            self.give(given)

    def give(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in OWN_HEADERS | {"date", "server"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *arguments: object) -> None:
        """The examination reports what matters."""
