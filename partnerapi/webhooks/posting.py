"""Posts one message to one address."""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from urllib.parse import urlsplit

import httpx

from partnerapi.webhooks.addresses import (
    AddressRefused,
    check_url,
    is_loopback,
    look_up,
)

SECONDS = 10.0
"""The longest that one attempt may take, from the look-up to the response."""
MOST_READ = 4096
"""Bytes of a response that are read; what it says is not kept."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt; `status` is None where there was no response."""

    status: int | None
    milliseconds: int
    error: str = ""

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def open_client(trust: ssl.SSLContext) -> httpx.AsyncClient:
    """A client for the messages of one endpoint.

    It is used for one host only: two hosts may share an address, and a connection to
    one proves nothing about the other.
    """
    return httpx.AsyncClient(
        verify=trust, trust_env=False, follow_redirects=False, timeout=SECONDS
    )


async def post(
    client: httpx.AsyncClient, url: str, headers: Mapping[str, str], body: bytes
) -> Outcome:
    """Post a message; what the receiver does wrong is an outcome, not an exception."""
    began = monotonic()
    status, error = None, ""
    try:
        # One deadline for all of it: a receiver could send one byte a second.
        async with asyncio.timeout(SECONDS):
            status = await send(client, url, headers, body)
    except TimeoutError:
        error = f"There was no response within {SECONDS:.0f} seconds."
    except AddressRefused as refused:
        error = str(refused)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as failure:
        error = f"{type(failure).__name__}: {failure}"
    return Outcome(status, round((monotonic() - began) * 1000), error[:200])


async def send(
    client: httpx.AsyncClient, url: str, headers: Mapping[str, str], body: bytes
) -> int:
    """The HTTP status of the response.

    Raises:
        AddressRefused: the address is not public.
        httpx.HTTPError, OSError: there was no response.
    """
    check_url(url)
    parts = urlsplit(url)
    host = parts.hostname or ""
    address = host
    if not is_loopback(url):
        address = await look_up(host, 443)
    network = f"[{address}]" if ":" in address else address
    to = parts._replace(netloc=f"{network}:{parts.port}" if parts.port else network)
    request = client.build_request(
        "POST",
        to.geturl(),
        content=body,
        headers={"Host": parts.netloc, **headers},
        extensions={"sni_hostname": host},
    )
    response = await client.send(request, stream=True)
    try:
        read = 0
        async for part in response.aiter_raw(MOST_READ):
            read += len(part)
            if read >= MOST_READ:
                break
    finally:
        await response.aclose()
    return response.status_code
