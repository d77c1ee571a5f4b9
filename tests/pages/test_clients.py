import html
import re

import pytest

from partnerapi.site.pages import (
    CLIENTS,
    CONFIGURATIONS,
    EXAMPLES_DIRECTORY,
    TRADERS,
)


def text(response):
    return html.unescape(response.content.decode())


def test_shows_every_program_as_it_is_run(client):
    page = client.get("/docs/clients").content.decode()

    found = dict(
        re.findall(r'aria-label="([^"]+)"><code>(.*?)</code></pre>', page, re.DOTALL)
    )
    files = (EXAMPLES_DIRECTORY / "clients").iterdir()
    shown = {
        name: html.unescape(re.sub(r"<[^>]+>", "", code))
        for name, code in found.items()
    }
    assert shown == {path.name: path.read_text() for path in files}
    assert set(found) == {*CLIENTS, *CONFIGURATIONS, *TRADERS}


def test_names_the_three_addresses(client, settings):
    settings.PARTNER_API_BASE_URL = "https://api.lumen.test"
    settings.PARTNER_API_SANDBOX_URL = "https://sandbox.lumen.test"
    settings.PARTNER_API_LOCAL_URL = "http://localhost:8080"

    page = text(client.get("/docs/clients"))

    assert re.findall(r"<td><code>(.*?)</code></td>", page) == [
        "https://api.lumen.test/graphql",
        "https://sandbox.lumen.test/graphql",
        "http://localhost:8080/graphql",
    ]


@pytest.mark.parametrize(
    ("sandbox", "shown"),
    [(True, "service-apikey_demo_abc"), (False, "service-apikey_<login>_<secret>")],
)
def test_exports_the_address_asked_and_a_sandbox_key(client, settings, sandbox, shown):
    settings.PARTNER_API_SANDBOX = sandbox
    settings.PARTNER_API_SANDBOX_KEY = "service-apikey_demo_abc"

    page = text(client.get("/docs/clients", headers={"host": "localhost:9876"}))

    assert (
        "export PARTNER_API_URL=http://localhost:9876/graphql\n"
        f"export PARTNER_API_KEY='{shown}'\n"
    ) in page


@pytest.mark.parametrize("path", ["/", "/docs/schema"])
def test_is_linked(client, path):
    main = text(client.get(path)).split("<main", 1)[1]
    assert '<a href="/docs/clients">Clients</a>' in main


def test_its_links_within_the_page_have_targets(client):
    page = text(client.get("/docs/clients"))
    links = re.findall(r'href="#([^"]+)"', page)
    names = ["curl", "python", "apollo", "urql", "typescript"]
    assert links == ["content", *names, *CONFIGURATIONS, *TRADERS]
    assert set(links) <= set(re.findall(r' id="([^"]+)"', page))
