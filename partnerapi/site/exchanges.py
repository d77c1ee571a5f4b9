"""Requests and their answers, as the reference shows them beside what they are of.

`templates/examples/operations` has a document and its answer for each operation,
`templates/examples/errors` a text as HTTP has it, request and answer, for each code.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.utils.safestring import SafeString, mark_safe

from partnerapi.site.highlighting import highlighted

EXAMPLES_DIRECTORY = settings.BASE_DIR / "templates" / "examples"
OPERATIONS = EXAMPLES_DIRECTORY / "operations"
ERRORS = EXAMPLES_DIRECTORY / "errors"
ANSWER = "\n\nHTTP/1.1 "
"""How the answer begins in a text of ERRORS."""


@dataclass(frozen=True)
class Exchange:
    request: str
    answer: str
    languages: tuple[str, str] = ("http", "http")
    """Of the request and of the answer, as Pygments names them."""

    @property
    def request_html(self) -> SafeString:
        return mark_safe(highlighted(self.request, self.languages[0]))

    @property
    def answer_html(self) -> SafeString:
        return mark_safe(highlighted(self.answer, self.languages[1]))


@cache
def of_operations() -> dict[str, Exchange]:
    """By the names of queries and mutations: a document, and an answer in JSON."""
    return {
        path.stem: Exchange(
            path.read_text(),
            path.with_suffix(".json").read_text(),
            languages=("graphql", "json"),
        )
        for path in OPERATIONS.glob("*.graphql")
    }


@cache
def of_errors() -> dict[str, Exchange]:
    """By code: a request and its answer, heads and bodies."""
    return {path.stem: exchange_of(path) for path in ERRORS.glob("*.http")}


def exchange_of(path: Path) -> Exchange:
    request, _, answer = path.read_text().partition(ANSWER)
    return Exchange(f"{request}\n", f"{ANSWER.lstrip()}{answer}")
