"""What holds for every page that partners read."""

import gzip
import html
import json
import re

import pytest

from partnerapi.site import docs
from partnerapi.urls import FOR_PARTNERS

DOCS = [f"/docs/{name}" for name in (*docs.FOR_PARTNERS, *docs.FOR_OPERATORS)]
OTHERS = ["/", "/docs", "/docs/schema", "/docs/clients", "/docs/fix"]
PAGES = [*OTHERS, *DOCS]
DOCUMENTS = [
    *PAGES[1:],
    "/docs/verify.py",
    "/docs/verify.mjs",
    "/schema.graphql",
    "/scalars.json",
    "/docs/search.json",
    "/docs/changelog.atom",
]
NO_PAGES = {
    "/graphql",
    "/graphiql",
    "/statements",
    "/.well-known/partner-api-keys.json",
    *DOCUMENTS[-4:],
    "/docs/chains",
    "/docs/verify.py",
    "/docs/verify.mjs",
}
each_page = pytest.mark.parametrize("path", PAGES)
each_document = pytest.mark.parametrize("path", DOCUMENTS)


def test_every_address_is_a_page_or_none():
    routes = [url.pattern for url in FOR_PARTNERS]
    fixed = {f"/{route}" for route in routes if not route.converters}
    assert fixed == {*OTHERS} | NO_PAGES, "name it in OTHERS, or in NO_PAGES"


@each_page
def test_has_one_script_of_its_own_and_no_cookies(client, path: str):
    response = client.get(path)
    page = response.content.decode()

    assert response.status_code == 200
    assert not response.cookies
    assert response["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self';"
        " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    scripts = re.findall(r"<script[^>]*>.*?</script>", page, re.DOTALL)
    assert scripts == ['<script defer src="/static/pages.js"></script>']
    assert " style=" not in page
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


@each_page
def test_the_menu_leads_everywhere(client, path: str):
    header = client.get(path).content.decode().split("<main", 1)[0]
    menu = header.split('<nav aria-label="Pages">', 1)[1].split("</nav>", 1)[0]
    assert re.findall(r'href="([^"]+)"', menu) == [
        "/docs/guide",
        "/docs",
        "/docs/schema",
        "/docs/clients",
        "/graphiql",
        "/docs/fix",
        "/partner",
        "/schema.graphql",
    ]


@each_page
def test_the_first_link_skips_the_menu(client, path: str):
    page = client.get(path).content.decode()
    header, main = page.split("<main", 1)
    skip = re.search(r'<a [^>]*href="([^"]+)"', header)
    assert skip
    assert skip[1] == "#content"
    assert main.startswith(' id="content"')


@each_document
def test_is_answered_304_to_its_etag_and_as_gzip(client, path: str):
    plain = client.get(path)
    assert plain["Vary"] == "Accept-Encoding"
    packed = client.get(path, headers={"accept-encoding": "gzip"})
    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content
    assert packed["ETag"] != plain["ETag"]
    for encoding, first in (("", plain), ("gzip", packed)):
        asked = {"accept-encoding": encoding, "if-none-match": first["ETag"]}
        same = client.get(path, headers=asked)
        assert (same.status_code, same.content) == (304, b"")
        other = client.get(path, headers=asked | {"if-none-match": '"other"'})
        assert (other.status_code, other.content) == (200, first.content)


def test_the_search_knows_every_anchor_of_headings_and_members(client):
    places = json.loads(client.get("/docs/search.json").content)
    addresses = {address for address, *_ in places}
    assert len(addresses) == len(places)
    for path in PAGES[2:]:
        main = client.get(path).content.decode().split("<main", 1)[1]
        anchors = re.findall(r'<(?:h[23]|div) id="([^"]+)"', main)
        assert {f"{path}#{html.unescape(anchor)}" for anchor in anchors} <= addresses
    found = {address: (title, page, text) for address, title, page, text in places}
    title, page, text = found["/docs/schema/Issuer#Issuer.slug"]
    assert (title, page) == ("Issuer.slug", "Reference")
    assert text.endswith("URL-friendly unique identifier.")
    assert found["/docs/schema/error.THROTTLED"][0] == "THROTTLED"
    assert found["/docs/guide#retries"][:2] == ("Retries", "Guide")
    assert all(title for title, *_ in found.values())
