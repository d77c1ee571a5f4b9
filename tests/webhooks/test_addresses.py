"""Which addresses receive webhooks."""

import asyncio
import ssl

import pytest

from partnerapi.webhooks.addresses import (
    AddressRefused,
    check_url,
    is_public,
    look_up,
)
from partnerapi.webhooks.posting import open_client, post

PUBLIC = ["93.184.215.14", "8.8.8.8", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]
NOT_PUBLIC = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1",
    "169.254.169.254", "100.64.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.7",
    "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12:3456::1", "ff02::1",
    "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2002:7f00:1::",
    "2002:a00:1::1", "2001:0:4136:e378:8000:63bf:f5ff:fffe", "::127.0.0.1", "",
    "localhost", "0x7f.1",
]  # fmt: skip
REFUSED = {
    "http://example.com/hook": "does not begin with https",
    "ftp://example.com/hook": "does not begin with https",
    "https://example.com:8443/hook": "port is 8443",
    "https://user@example.com/": "a user or a password",
    "https://user:secret@example.com/": "a user or a password",
    "https://example.com/#part": "fragment",
    "https://localhost/": "not a full domain name",
    "https://example./": "not a full domain name",
    "https:///hook": "not a full domain name",
    "https://hooks..example.com/": "not a full domain name",
    "https://.example.com/": "not a full domain name",
    f"https://{'a' * 64}.example.com/": "not a full domain name",
    "https://127.0.0.1/": "IP address",
    "https://2130706433/": "not a full domain name",
    "https://0x7f.1/": "IP address",
    "https://[::1]/": "not a full domain name",
    "https://[::ffff:8.8.8.8]/": "IP address",
    "https://example.com:port/": "not a URL",
    "https://[example.com/": "not a URL",
    "https://exämple.com/": "printable ASCII",
    "https://example.com/a b": "printable ASCII",
    "https://example.com/\r\nX-Header: 1": "printable ASCII",
    "https://example.com/" + "a" * 500: "more than 500 characters",
    "": "does not begin with https",
}


@pytest.fixture(autouse=True)
def production(settings):
    settings.PARTNER_API_SANDBOX = False


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_sent_to(address: str):
    assert is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_others_are_not(address: str):
    assert not is_public(address)


@pytest.mark.parametrize("url", REFUSED, ids=list(REFUSED))
def test_urls_that_are_refused(url: str):
    with pytest.raises(AddressRefused, match=REFUSED[url]):
        check_url(url)


@pytest.mark.parametrize(
    "url", ["https://example.com", "https://a.example.com:443/hooks?of=1&to=2"]
)
def test_urls_that_are_accepted(url: str):
    check_url(url)


def test_a_name_with_an_address_inside_is_refused():
    with pytest.raises(AddressRefused, match="not public"):
        asyncio.run(look_up("localhost", 443))


def test_a_name_without_an_address_is_refused():
    with pytest.raises(AddressRefused, match="has no address"):
        asyncio.run(look_up("no-such-host.invalid", 443))


def test_loopback_is_for_sandboxes(settings):
    settings.PARTNER_API_SANDBOX = True
    check_url("http://localhost:8000/hook")
    check_url("https://127.0.0.1:8000/hook")
    with pytest.raises(AddressRefused):
        check_url("http://127.0.0.1.example.com:8000/")
    settings.PARTNER_API_SANDBOX = False
    with pytest.raises(AddressRefused):
        check_url("http://localhost:8000/hook")


def test_what_was_accepted_is_judged_again_when_it_is_sent():
    """The database may hold what another release, or a sandbox, has accepted."""

    async def send():
        async with open_client(ssl.create_default_context()) as client:
            return await post(client, "http://127.0.0.1:8000/hook", {}, b"")

    outcome = asyncio.run(send())
    assert (outcome.status, outcome.is_success) == (None, False)
    assert "https" in outcome.error
