import json
import re
from pathlib import Path

from django.contrib.staticfiles import finders


def configuration(response):
    page = response.content.decode()
    data = re.search(r'<script id="configuration"[^>]*>(.*?)</script>', page)[1]
    return json.loads(data)


def test_prefills_the_key_in_a_sandbox(client, settings):
    settings.PARTNER_API_SANDBOX = True
    settings.PARTNER_API_SANDBOX_KEY = "service-apikey_demo_abc"

    found = configuration(client.get("/graphiql"))

    assert found["endpoint"] == "/graphql"
    assert found["headers"] == {"X-Token-Auth": "service-apikey_demo_abc"}


def test_has_no_headers_outside_a_sandbox(client, settings):
    settings.PARTNER_API_SANDBOX = False
    settings.PARTNER_API_SANDBOX_KEY = "service-apikey_demo_abc"

    assert configuration(client.get("/graphiql"))["headers"] is None


def test_allows_no_other_host_and_no_inline_script(client):
    first, second = client.get("/graphiql"), client.get("/graphiql")

    nonce = configuration(first)["nonce"]
    assert nonce != configuration(second)["nonce"]
    assert first["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; connect-src 'self';"
        f" style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    )


def test_every_asset_is_served_from_here(client):
    page = client.get("/graphiql").content.decode()
    assets = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert len(assets) == 10
    for asset in assets:
        assert finders.find(asset.removeprefix("/static/")), asset
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)


def test_licences_stand_beside_the_assets():
    licences = Path(finders.find("graphiql/LICENCES.txt")).read_text()
    for package in ("graphiql (MIT)", "react (MIT)", "codemirror (MIT)", "graphql"):
        assert re.search(rf"(?m)^{re.escape(package)}", licences), package
