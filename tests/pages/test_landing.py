import html
import json
import re
import shlex
import urllib.request

import pytest

from partnerapi.site.pages import examples
from tests.waiting import PATIENCE_SECONDS


def text(response):
    return html.unescape(response.content.decode())


def test_tells_where_everything_is(client, settings):
    settings.PARTNER_API_BASE_URL = "https://api.lumen.test"
    settings.PARTNER_API_SANDBOX_URL = "https://sandbox.lumen.test"
    settings.PARTNER_API_LOCAL_URL = "http://localhost:8080"

    response = client.get("/")

    assert response.status_code == 200
    page = text(response)
    for address in (
        "https://api.lumen.test/graphql",
        "https://sandbox.lumen.test/graphql",
        "http://localhost:8080/graphql",
    ):
        assert f"<code>{address}</code>" in page
    links = set(re.findall(r'href="(/[^"?]*)', page))
    assert {"/graphiql", "/docs/schema", "/schema.graphql", "/admin/"} <= links
    for example in examples():
        assert f'href="/graphiql?example={example["name"]}"' in page


def test_every_link_leads_somewhere(client, db):
    page = text(client.get("/"))
    for address in set(re.findall(r'<a [^>]*href="([^"#]+)', page)):
        assert client.get(address).status_code in (200, 302), address


def test_shows_the_key_in_a_sandbox(client, settings):
    settings.PARTNER_API_SANDBOX = True
    settings.PARTNER_API_SANDBOX_KEY = "service-apikey_demo_abc"

    page = text(client.get("/"))

    assert "-H 'X-Token-Auth: service-apikey_demo_abc'" in page
    assert "This is a sandbox." in page


@pytest.mark.parametrize("path", ["/", "/graphiql"])
def test_never_shows_a_key_outside_a_sandbox(client, settings, path):
    settings.PARTNER_API_SANDBOX = False
    settings.PARTNER_API_SANDBOX_KEY = "service-apikey_demo_abc"

    page = text(client.get(path))

    assert "service-apikey_demo_abc" not in page
    assert "This is a sandbox." not in page


def test_curl_lines_name_the_address_that_was_asked(client):
    page = text(client.get("/", headers={"host": "localhost:9876"}))

    assert page.count("curl http://localhost:9876/graphql") == 2


def test_refuses_other_methods(client):
    assert client.post("/").status_code == 405
    assert client.head("/").status_code == 200


def test_curl_lines_answer_when_pasted(running_server):
    with urllib.request.urlopen(
        running_server["graphiql"].removesuffix("graphiql")
    ) as response:
        page = html.unescape(response.read().decode())

    for command in re.findall(r"<pre><code>(curl .*?)</code></pre>", page, re.DOTALL):
        words = shlex.split(command)
        headers = [words[n + 1] for n, word in enumerate(words) if word == "-H"]
        request = urllib.request.Request(
            words[1],
            words[words.index("-d") + 1].encode(),
            dict(header.split(": ", 1) for header in headers),
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            answer = json.load(response)
        assert set(answer) == {"data"}
        (connection,) = answer["data"].values()
        assert len(connection["nodes"]) == 3
