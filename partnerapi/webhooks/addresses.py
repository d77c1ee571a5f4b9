"""Which addresses receive webhooks: public ones, over HTTPS.

A partner chooses the address, and the platform connects to it from inside its own
network. So a name is looked up once, each of its addresses must be public, and the
connection goes to the address that was looked up.
"""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from django.conf import settings

from partnerapi.webhooks.models import URL_LENGTH

NAT64 = [ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48")]
SIX_TO_FOUR = ip_network("2002::/16")
MOST_OF_LABEL = 63
"""Characters between two dots of a name (RFC 1035, section 2.3.4)."""
LOOPBACK = ("localhost", "127.0.0.1")
"""Hosts that a sandbox also sends to, by HTTP and on any port."""


class AddressRefused(Exception):
    """This address does not receive webhooks; the message says why."""


def check_url(url: str) -> None:
    """
    Raises:
        AddressRefused: it can never be sent to.
    """
    if len(url) > URL_LENGTH:
        raise AddressRefused(f"It has more than {URL_LENGTH} characters.")
    if not url.isascii() or any(c.isspace() or not c.isprintable() for c in url):
        raise AddressRefused(
            "It has characters other than printable ASCII; encode them (RFC 3986)."
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise AddressRefused("It is not a URL.") from None
    if is_loopback(url):
        return
    if parts.scheme != "https":
        raise AddressRefused("It does not begin with https://.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("It contains a user or a password.")
    if parts.fragment:
        raise AddressRefused("It has a fragment, which is never sent.")
    if port not in (None, 443):
        raise AddressRefused(f"Its port is {port}; only 443 receives webhooks.")
    labels = host.split(".")
    if len(labels) < 2 or not all(0 < len(label) <= MOST_OF_LABEL for label in labels):
        raise AddressRefused("Its host is not a full domain name.")
    if ":" in host or labels[-1].isdecimal():
        raise AddressRefused("Its host is an IP address; give a domain name.")


def is_loopback(url: str) -> bool:
    """Whether a URL is of this machine, and this is a sandbox."""
    parts = urlsplit(url)
    is_ours = parts.scheme in ("http", "https") and parts.hostname in LOOPBACK
    return settings.PARTNER_API_SANDBOX and is_ours


def is_public(address: str) -> bool:
    """Whether an IP address is global unicast, also inside one that carries another."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    carried = carried_by(ip) if isinstance(ip, IPv6Address) else None
    if carried is not None:
        return is_public(str(carried))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def carried_by(ip: IPv6Address) -> IPv4Address | None:
    """The IPv4 address to which an IPv6 address leads."""
    if ip.ipv4_mapped:
        return ip.ipv4_mapped
    if any(ip in network for network in NAT64):
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    if ip in SIX_TO_FOUR:
        return ip.sixtofour
    return ip.teredo[1] if ip.teredo else None


async def look_up(host: str, port: int) -> str:
    """The IP address to connect to.

    Raises:
        AddressRefused: the name has no address, or one that is not public.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise AddressRefused(f"{host} has no address: {error.strerror}.") from error
    addresses = [str(each[4][0]) for each in found]
    if not all(map(is_public, addresses)):
        raise AddressRefused(f"{host} has an address that is not public.")
    return addresses[0]
