"""The address of a partner that comes through a trusted proxy.

PROXY protocol, version 1 (haproxy.org, proxy-protocol.txt, section 2.1): one line of
text before the first byte of the partner, of TLS too.
"""

import asyncio
import socket

from django.conf import settings

from marketdata.fix.acceptor.first_message import Cut
from partnerapi.core.addresses import Address, address_of

LONGEST_LINE = 107
"""Bytes, its CR and LF included."""


def is_trusted(address: Address) -> bool:
    """Whether this is the address of a trusted proxy (FIX_TRUSTED_PROXIES)."""
    return any(address in network for network in settings.FIX_TRUSTED_PROXIES)


async def stated_address(
    loop: asyncio.AbstractEventLoop, connection: socket.socket, proxy: Address
) -> Address:
    """The address that the line states; the proxy's own if the line has none.

    Raises:
        Cut: the connection does not begin with such a line. OSError: the connection
        failed.
    """
    line = b""
    # The bytes after the line belong to TLS: none may be read.
    while not line.endswith(b"\r\n"):
        byte = await loop.sock_recv(connection, 1)
        if not byte or len(line) == LONGEST_LINE:
            raise Cut("it sent no PROXY protocol line, version 1")
        line += byte
    return address_in(line, proxy)


def address_in(line: bytes, proxy: Address) -> Address:
    """Raises Cut: the line is not of this form."""
    match line.removesuffix(b"\r\n").decode("ascii", "replace").split(" "):
        case ["PROXY", "UNKNOWN", *_]:
            return proxy
        case ["PROXY", "TCP4" | "TCP6" as family, source, _, _, _]:
            try:
                address = address_of(source)
            except ValueError:
                raise Cut(
                    f"PROXY protocol: {source[:40]!r} is not an address"
                ) from None
            if (":" in source) == (family == "TCP6"):
                return address
    raise Cut(f"its first line is not PROXY protocol, version 1: {line[:40]!r}")
