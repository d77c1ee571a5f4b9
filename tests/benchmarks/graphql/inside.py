"""Where the time of one answer goes, measured inside a process that answers."""

import contextlib
import io
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import orjson
from django.db import connection
from rich.table import Table

# First of the project's: it sets up Django in a process that has not yet.
from tests.benchmarks.graphql.in_process import product  # isort: skip
from partnerapi.gateway import views
from partnerapi.gateway.bills import Bill
from partnerapi.graphql.documents import prepare
from partnerapi.schema import schema
from tests.benchmarks.graphql import load
from tests.benchmarks.graphql.answers import PRODUCT, WrongAnswer

WARM_ANSWERS = 50
STAGES = {
    "read_bytes": "read the body",
    "parse_body": "parse its JSON",
    "identify": "check the key",
    "prepare": "document, variables, cost",
    "charge": "draw on the budget (Redis)",
    "execute": "execute",
    "to_json": "write JSON",
}


class Application:
    """The product in this process, asked without a socket."""

    def __init__(self, key: str) -> None:
        self.key = key

    def __call__(self, document: str, variables: Any = None) -> bytes:
        """The body of an answer.

        Raises:
            WrongAnswer: the status is not 200.
        """
        content = orjson.dumps({"query": document, "variables": variables})
        statuses: list[str] = []

        def start(
            status: str, headers: Any, error: Any = None, /
        ) -> Callable[[bytes], object]:
            statuses.append(status)
            return io.BytesIO().write

        response = product(
            {
                "REQUEST_METHOD": "POST",
                "PATH_INFO": "/graphql",
                "SERVER_NAME": "127.0.0.1",
                "SERVER_PORT": "80",
                "HTTP_HOST": "127.0.0.1",
                "REMOTE_ADDR": "127.0.0.1",
                "CONTENT_TYPE": "application/json",
                "CONTENT_LENGTH": str(len(content)),
                "HTTP_X_TOKEN_AUTH": self.key,
                "wsgi.input": io.BytesIO(content),
                "wsgi.url_scheme": "http",
            },
            start,
        )
        body = b"".join(response)
        response.close()
        if statuses != ["200 OK"]:
            raise WrongAnswer(f"{statuses} {body[:300].decode()}")
        return body


@contextlib.contextmanager
def timed(spent: dict[str, float]) -> Iterator[None]:
    """Add up the seconds of the gateway's stages and of the statements."""

    def clock(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def clocked(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                spent[name] += time.perf_counter() - began

        return clocked

    owners = {"charge": Bill}
    places: list[tuple[Any, str]] = [(owners.get(n, views), n) for n in STAGES]
    places.append((connection, "is_usable"))
    calls = [getattr(owner, name) for owner, name in places]
    for (owner, name), call in zip(places, calls, strict=True):
        setattr(owner, name, clock(name, call))
    try:
        with connection.execute_wrapper(
            lambda execute, *arguments: clock("statements", execute)(*arguments)
        ):
            yield
    finally:
        for (owner, name), call in zip(places, calls, strict=True):
            setattr(owner, name, call)


def measure(
    key: str, port: int, first: int, nested: int, answers: int
) -> dict[str, float]:
    """Median seconds of each stage, of the whole, of reading a new document; by HTTP.

    Answers from this process and from the server on the port take turns, so that
    whatever else this machine does meets both.
    """
    application = Application(key)
    document = PRODUCT.document(first, nested)
    request = load.make_request(port, document, {"X-Token-Auth": key})
    client = load.Client(request)
    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(WARM_ANSWERS):
        application(document)
    for _ in range(answers):
        spent = defaultdict(float, is_usable=0.0, statements=0.0)
        with timed(spent):
            began = time.perf_counter()
            application(document)
            spent["whole"] = time.perf_counter() - began
        spent["http"] = client.exchange()
        for name, seconds in spent.items():
            times[name].append(seconds)
    middle = {name: median(seconds) for name, seconds in times.items()}
    return middle | {"first_sight": first_sight(document)}


def first_sight(document: str) -> float:
    """Median seconds to parse, count, validate and plan a text never seen before."""
    times = []
    for n in range(20):
        text = f"{document} # {n}"
        began = time.perf_counter()
        prepare(schema, text, None, {})
        times.append(time.perf_counter() - began)
    return median(times)


def stages(key: str, port: int, first: int, nested: int, answers: int) -> Table:
    """Where an answer's time goes; the product listens on the port, too."""
    # A process of its own, as much like a server's as can be.
    numbers = map(str, (port, first, nested, answers))
    command = [sys.executable, "-m", __name__, key, *numbers]
    ended = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    middle = json.loads(ended.stdout)
    whole, over_http = middle["whole"], middle["http"]
    execute, statements = middle["execute"], middle["statements"]
    checked = middle["is_usable"]
    rows = [(label, middle[name]) for name, label in STAGES.items()]
    inner = list(STAGES).index("execute") + 1
    rows[inner:inner] = [
        ("  of that, the check of the kept connection", checked),
        ("  of that, statements: sent, run, received", statements),
        ("  of that, rows to response objects", execute - statements - checked),
    ]
    rows += [
        ("Django and the rest", whole - sum(middle[name] for name in STAGES)),
        ("in the process, together", whole),
        ("server and socket", over_http - whole),
        ("over HTTP, one connection", over_http),
        ("in addition: first sight of the document", middle["first_sight"]),
    ]
    table = Table(
        title=f"Where the time goes: first: {first} × first: {nested}, median of "
        f"{answers} answers",
        title_justify="left",
    )
    table.add_column("stage")
    table.add_column("ms", justify="right")
    table.add_column("of HTTP", justify="right")
    for label, seconds in rows:
        table.add_row(label, f"{seconds * 1000:.3f}", f"{seconds / over_http:.0%}")
    return table


if __name__ == "__main__":
    key, *numbers = sys.argv[1:]
    json.dump(measure(key, *map(int, numbers)), sys.stdout)
