"""Receivers that mean harm: what they get from one attempt."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from partnerapi.webhooks import posting
from partnerapi.webhooks.addresses import AddressRefused, look_up
from partnerapi.webhooks.posting import Outcome, open_client, post

PUBLIC = "93.184.215.14"
MOST_TAKEN = 8 * 1024 * 1024
"""Bytes that the sockets of both sides may hold before a sender notices the end."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def attempt(serve: Serve) -> Outcome:
    """What comes of posting to a receiver."""

    async def run() -> Outcome:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, open_client(ssl.create_default_context()) as client:
            return await post(client, f"http://127.0.0.1:{port}/hook", {}, b"{}")

    return asyncio.run(run())


def test_an_endless_response_is_not_read(settings: Any):
    settings.PARTNER_API_SANDBOX = True
    taken = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal taken
        await reader.readuntil(b"{}")
        writer.write(HEAD)
        try:
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()
                taken += 65_536
        finally:
            writer.transport.abort()

    outcome = attempt(serve)
    assert (outcome.status, outcome.is_success) == (200, True)
    assert taken < MOST_TAKEN


@pytest.mark.parametrize("head", [b"", HEAD], ids=["headers", "body"])
def test_a_response_byte_by_byte_ends_at_the_deadline(
    head: bytes, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.PARTNER_API_SANDBOX = True
    # Ten seconds are long for a test.
    monkeypatch.setattr(posting, "SECONDS", 0.5)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(head or b"HTTP/1.1 200 OK\r\nX: ")
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)
        finally:
            writer.transport.abort()

    outcome = attempt(serve)
    assert not outcome.is_success
    assert outcome.error.startswith("There was no response within")


def test_what_is_not_http_is_a_failure(settings: Any):
    settings.PARTNER_API_SANDBOX = True

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        writer.close()
        await writer.wait_closed()

    outcome = attempt(serve)
    assert (outcome.status, outcome.is_success) == (None, False)
    assert outcome.error.startswith("RemoteProtocolError")


def resolving(
    monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """Have each look-up of a name find the next addresses; the list of those found."""
    waiting, found = list(answers), []

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        found.append(waiting.pop(0))
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address in found[-1]
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return found


@pytest.mark.parametrize(
    "addresses",
    [
        ("10.1.2.3",),
        (PUBLIC, "127.0.0.1"),
        ("169.254.169.254", PUBLIC),
        (PUBLIC, "::ffff:192.168.1.1"),
        ("64:ff9b::7f00:1",),
        ("64:ff9b::a9fe:a9fe", PUBLIC),
        ("2002:a00:1::1",),
    ],
)
def test_one_address_that_is_not_public_refuses_a_name(
    addresses: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    resolving(monkeypatch, addresses)
    with pytest.raises(AddressRefused, match="not public"):
        asyncio.run(look_up("hooks.example.com", 443))


class Connections(httpx.AsyncBaseTransport):
    """Notes where a request would connect, and accepts it."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str, str]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sni = request.extensions["sni_hostname"]
        self.made.append((request.url.host, request.headers["Host"], sni))
        return httpx.Response(204, stream=httpx.ByteStream(b""))


def test_a_name_that_changes_after_the_look_up_changes_nothing(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.PARTNER_API_SANDBOX = False
    found = resolving(monkeypatch, (PUBLIC,), ("127.0.0.1",))
    connections = Connections()

    async def send() -> tuple[Outcome, Outcome]:
        async with httpx.AsyncClient(transport=connections) as client:
            url = "https://hooks.example.com/hook"
            first = await post(client, url, {}, b"{}")
            return first, await post(client, url, {}, b"{}")

    first, second = asyncio.run(send())
    assert (first.status, len(found)) == (204, 2)
    # The connection goes to the address that was judged, under the name.
    name = "hooks.example.com"
    assert connections.made == [(PUBLIC, name, name)]
    assert (second.status, "not public" in second.error) == (None, True)
