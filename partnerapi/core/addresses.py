"""The address of a client, and what is counted of it: a place counts as one client."""

import ipaddress
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def address_of(text: str) -> Address:
    """An address as a socket gives it, without a zone, as IPv4 where it is that.

    Raises:
        ValueError: it is none.
    """
    ip = ipaddress.ip_address(text.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return mapped or ip


def source(address: Address) -> str:
    """The address or network that is counted: an IPv6 site has 2⁶⁴ addresses."""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(ipaddress.ip_network((address, 64), strict=False))


@lru_cache(maxsize=10_000)
def source_of(text: str) -> str:
    """What is counted of an address; a text that is no address stays."""
    try:
        return source(address_of(text))
    except ValueError:
        return text
