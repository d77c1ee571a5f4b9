"""Clients in separate threads, which send requests until they are stopped."""

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self
from uuid import uuid4

READ = "{ accounts(first: 5) { nodes { id status } } }"


@dataclass
class Answer:
    at: float
    seconds: float
    code: str
    """The status and the codes of errors, such as `503 UNAVAILABLE`; or how the
    connection broke."""


class Asking:
    """While it is a context, each of `asks` runs in a thread of its own.

    They return soon once `ended` is set.
    """

    def __init__(self, asks: Iterable[Callable[[], None]]) -> None:
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=ask) for ask in asks]

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()


def post(
    client: http.client.HTTPConnection, token: str, body: dict[str, Any], **more: str
) -> Answer:
    """Send a document on a connection of its own; `more` are headers."""
    headers = {
        "Content-Type": "application/json",
        "X-Token-Auth": token,
        "Idempotency-Key": str(uuid4()),
    }
    begun = time.monotonic()
    with contextlib.closing(client):
        try:
            client.request("POST", "/graphql", json.dumps(body), headers | more)
            response = client.getresponse()
            errors = json.loads(response.read()).get("errors", [])
            codes = {error["extensions"]["code"] for error in errors}
            code = " ".join([str(response.status), *sorted(codes)])
        except (OSError, http.client.HTTPException, ValueError) as error:
            code = type(error).__name__
    return Answer(begun, time.monotonic() - begun, code)
