"""The feed of changes, read as a feed reader reads it."""

import re
import xml.etree.ElementTree as ElementTree

from partnerapi.site import docs

ATOM = "{http://www.w3.org/2005/Atom}"


def test_has_an_entry_for_each_date_of_the_changelog(client, settings):
    response = client.get("/docs/changelog.atom")

    assert response["Content-Type"] == "application/atom+xml; charset=utf-8"
    root = ElementTree.fromstring(response.content)
    dates = [
        line.removeprefix("## ")
        for line in docs.path_of("changelog").read_text().splitlines()
        if line.startswith("## 20")
    ]
    entries = root.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == dates
    page = f"{settings.PARTNER_API_SITE}/docs/changelog"
    for entry, date in zip(entries, dates, strict=True):
        assert entry.findtext(f"{ATOM}id") == f"{page}#{date}"
        assert entry.findtext(f"{ATOM}updated") == f"{date}T00:00:00+00:00"
        assert f'id="{date}"' in client.get("/docs/changelog").content.decode()
    assert "<li>" in entries[0].findtext(f"{ATOM}summary", "")
    links = re.findall('href="([^"]*)', " ".join(entry[-1].text for entry in entries))
    assert links
    assert [link for link in links if not link.startswith("http")] == []


def test_the_page_names_its_feed(client):
    assert (
        '<link rel="alternate" type="application/atom+xml"'
        ' href="/docs/changelog.atom" title="Changelog">'
    ) in client.get("/docs/changelog").content.decode()
