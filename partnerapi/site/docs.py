"""The documents of templates/docs as pages: Markdown, served as HTML under /docs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.views.decorators.http import require_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from partnerapi.site.highlighting import highlighted
from partnerapi.site.pages import cacheable, html_page, sandbox_key, sdl
from partnerapi.site.released import RELEASED_FILE, difference, strip_descriptions

DIRECTORY = settings.BASE_DIR / "templates" / "docs"
FOR_PARTNERS = (
    "guide",
    "first-trade",
    "tasks",
    "concepts",
    "trading",
    "offerings",
    "scopes",
    "limits",
    "errors",
    "exports",
    "documents",
    "proof",
    "deprecations",
    "changelog",
)
FOR_OPERATORS = (
    "deployment",
    "production",
    "settings",
    "commands",
    "register",
    "licences",
)
ELSEWHERE = {"changelog": settings.BASE_DIR / "CHANGELOG.md"}
"""Documents that lie outside the directory."""
SCHEMA_CHANGES = """
## The schema since the last release

Without descriptions; the [reference](/docs/schema) has those.

```diff
{difference}```
"""
NO_KEY = "service-apikey_<login>_<secret>"
QUOTED_KEY = re.compile(rf"""(['"]){NO_KEY}\1""")
LINK = re.compile(r"([\w-]+)\.md((?:#.*)?)")
"""How one file of the directory names another, as the repository shows it."""

FIGURES = DIRECTORY / "figures"
FORMS = {"sh": "curl", "python": "Python", "javascript": "JavaScript"}
"""By the language of a block: the form of a step that a reader can choose."""


markdown = MarkdownIt("commonmark", {"html": False, "highlight": highlighted}).enable(
    "table"
)


@dataclass(frozen=True)
class Heading:
    anchor: str
    title: str


@dataclass(frozen=True)
class Doc:
    """A file as a page: its title, its first sentence, its sections, all of it."""

    name: str
    title: str
    lead: str
    sections: tuple[Heading, ...]
    html: SafeString


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return html_page(request, index_page())


@require_safe
def page(request: HttpRequest, name: str) -> HttpResponse:
    if name not in (*FOR_PARTNERS, *FOR_OPERATORS):
        raise Http404
    html = doc_page(name)
    if settings.PARTNER_API_SANDBOX:
        # A sandbox has many addresses; its commands name the one in use.
        used = f"{request.scheme}://{request.get_host()}/"
        html = html.replace(f"{settings.PARTNER_API_SITE}/", used)
    return html_page(request, html)


@require_safe
def program(request: HttpRequest, name: str) -> HttpResponse:
    """A program of the examples, to be saved."""
    text = (settings.BASE_DIR / "templates" / "examples" / name).read_text()
    response = cacheable(request, text, "text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@cache
def index_page() -> str:
    return render_to_string("docs_index.html", all_docs())


@cache
def doc_page(name: str) -> str:
    return render_to_string("docs_page.html", {"doc": read(name), **all_docs()})


@cache
def all_docs() -> dict[str, list[Doc]]:
    return {
        "for_partners": [read(name) for name in FOR_PARTNERS],
        "for_operators": [read(name) for name in FOR_OPERATORS],
    }


@cache
def read(name: str) -> Doc:
    text = filled_in(path_of(name).read_text())
    if name == "changelog":
        text += SCHEMA_CHANGES.format(difference=schema_changes())
    return doc_of(name, text)


def schema_changes() -> str:
    new = strip_descriptions(sdl())
    return difference(RELEASED_FILE.read_text(), new)


def filled_in(text: str) -> str:
    """A text whose lines to paste have this installation's address, a sandbox's key."""
    own = settings.PARTNER_API_SITE
    text = text.replace("http://localhost:8080/", f"{own}/")
    return QUOTED_KEY.sub(rf"\1{sandbox_key() or NO_KEY}\1", text)


def path_of(name: str) -> Path:
    return ELSEWHERE.get(name, DIRECTORY / f"{name}.md")


def doc_of(name: str, text: str) -> Doc:
    """A Markdown text as a page. It begins with its title and one sentence."""
    tokens = markdown.parse(text)
    title, lead, *_ = [token.content for token in tokens if token.type == "inline"]
    sections = tuple(headings(tokens))
    first = next(token for token in tokens if token.type == "paragraph_open")
    first.attrSet("class", "lead")
    for token in tokens:
        adapt(token)
    label_cells(tokens)
    tokens = grouped_in_tabs(with_figures(tokens))
    html = markdown.renderer.render(tokens, markdown.options, {})
    return Doc(name, title, lead, sections, mark_safe(html))


def headings(tokens: Sequence[Token]) -> list[Heading]:
    """The second-level headings; they and those below them are given their anchors."""
    found = []
    for token, inline in zip(tokens, tokens[1:], strict=False):
        if token.type != "heading_open" or token.tag == "h1":
            continue
        heading = Heading(slugify(inline.content), inline.content)
        if token.tag == "h2":
            found.append(heading)
            above = ""
        else:
            above = f"{found[-1].anchor}."
        token.attrSet("id", f"{above}{heading.anchor}")
    return found


def adapt(token: Token) -> None:
    """Give a token what the site's pages have: classes, scopes, its own addresses."""
    if token.type == "table_open":
        token.attrSet("class", "stacked")
    elif token.type == "th_open":
        token.attrSet("scope", "col")
    elif token.type == "link_open" and (
        link := LINK.fullmatch(str(token.attrGet("href")))
    ):
        token.attrSet("href", f"/docs/{link[1]}{link[2]}")
    for child in token.children or ():
        adapt(child)


def with_figures(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, with the drawing itself where a paragraph is a picture of it.

    The text of the picture is the drawing's own description.
    """
    found = list(tokens)
    for number, token in enumerate(tokens):
        match token.children:
            case [Token(type="image") as image]:
                drawing = FIGURES / Path(str(image.attrGet("src"))).name
                # Where it is wider than the window, the keyboard scrolls it, too.
                html = f'<figure tabindex="0">{drawing.read_text().strip()}</figure>\n'
                found[number - 1 : number + 2] = [
                    Token("html_block", "", 0, content=html),
                    Token("html_block", "", 0),
                    Token("html_block", "", 0),
                ]
    return found


def grouped_in_tabs(tokens: Sequence[Token]) -> list[Token]:
    """The tokens, with blocks of several languages in a row as the forms of a step."""
    found: list[Token] = []
    for is_form, row in groupby(tokens, lambda token: token.info in FORMS):
        forms = list(row)
        if not is_form or len(forms) == 1:
            found += forms
            continue
        found.append(Token("html_block", "", 0, content='<div class="forms">\n'))
        for form in forms:
            name = FORMS[form.info]
            opening = f'<div class="form" data-form="{name}"><p>{name}</p>\n'
            found.append(Token("html_block", "", 0, content=opening))
            found += [form, Token("html_block", "", 0, content="</div>\n")]
        found.append(Token("html_block", "", 0, content="</div>\n"))
    return found


def label_cells(tokens: Sequence[Token]) -> None:
    """Label each cell with its column: a narrow window shows no column headings."""
    names: list[str] = []
    column = 0
    for token, inline in zip(tokens, tokens[1:], strict=False):
        if token.type == "table_open":
            names = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open":
            names.append(inline.content)
        elif token.type == "td_open":
            token.attrSet("data-label", names[column])
            column += 1
