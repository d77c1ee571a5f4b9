"""Connections that their partner ends first."""

import asyncio
import ssl
from asyncio.sslproto import _SSLProtocolTransport
from pathlib import Path
from typing import Any

import pytest

from marketdata.fix.acceptor.listener import Stream, close
from tests.marketdata.fix.certificates import new_certificate


def abort_of_debian_12(transport: Any) -> None:
    # As Python 3.11.2 has it; later ones look first whether there is anything to abort.
    transport._closed = True
    transport._ssl_protocol._abort(None)


def test_a_connection_that_the_partner_has_ended_is_closed_without_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_SSLProtocolTransport, "abort", abort_of_debian_12)
    certificate, key = new_certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    asyncio.run(
        ended_by_partner(context, ssl.create_default_context(cafile=certificate))
    )


async def ended_by_partner(ours: ssl.SSLContext, theirs: ssl.SSLContext) -> None:
    """Raises what `close` raises."""
    closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        # Its end is not only read, the connection is lost.
        while not writer.transport.is_closing():
            await asyncio.sleep(0)
        try:
            await close(Stream(reader, writer))
        except AttributeError as error:
            closed.set_exception(error)
        else:
            closed.set_result(None)

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ours) as server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("localhost", port, ssl=theirs)
        writer.close()
        await closed
