"""What the search of the pages looks through: every place that a link can lead to."""

import json
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from partnerapi.site import docs, pages

HEADINGS = ("h1", "h2", "h3")
NOT_SEARCHED = ("pre", "figcaption", "dt", "svg")
VOID = ("br", "hr", "img", "input", "link", "meta")


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return pages.cacheable(request, places_of_pages(), "application/json")


@cache
def places_of_pages() -> str:
    """The places of all pages as JSON: address, title, page and text of each."""
    html = {
        "/docs/schema": pages.reference_page(),
        "/docs/clients": pages.clients_page(),
        "/docs/fix": pages.fix_page(),
        **{
            f"/docs/{name}": docs.doc_page(name)
            for name in (*docs.FOR_PARTNERS, *docs.FOR_OPERATORS)
        },
    }
    found = [place for address, page in html.items() for place in places(address, page)]
    title = found[0][2]
    for name, page in pages.reference_entries().items():
        found += places(f"/docs/schema/{name}", page, title)
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def places(address: str, html: str, page: str = "") -> list[tuple[str, str, str, str]]:
    """The address, title, page and text of each place of a page that has an anchor."""
    reader = Reader(address)
    reader.feed(html)
    reader.close()
    page = page or reader.found[0].title
    return [
        (place.address, place.title, page, " ".join(place.text.split()))
        for place in reader.found
    ]


@dataclass
class Place:
    address: str
    title: str
    text: str = ""


class Reader(HTMLParser):
    """Finds the places inside `main`: the page, its headings, members of types."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address
        self.found: list[Place] = []
        self.in_heading = False
        # For each element that is open: whether what it holds is passed over.
        self.open = [False]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        given = dict(attrs)
        passed_over = tag in NOT_SEARCHED or given.get("class") == "type"
        self.open.append(self.open[-1] or passed_over)
        if tag == "main":
            self.found.append(Place(self.address, ""))
        elif self.found and tag in (*HEADINGS, "div"):
            self.in_heading = tag in HEADINGS
            if anchor := given.get("id"):
                title = "" if self.in_heading else anchor
                self.found.append(Place(f"{self.address}#{anchor}", title))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.open.pop()
        if tag in HEADINGS:
            self.in_heading = False

    def handle_data(self, data: str) -> None:
        if not self.found or self.open[-1]:
            return
        if self.in_heading:
            self.found[-1].title += data
        else:
            self.found[-1].text += f"{data} "
