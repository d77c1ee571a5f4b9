"""Cells of lists: a state has its colour; what is too long is cut, yet readable."""

import re
import unicodedata
from html import escape, unescape

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html, strip_tags
from django.utils.safestring import mark_safe

register = template.Library()

CELL = re.compile(r"<(t[dh])([^>]*)>(.*)</\1>", re.DOTALL)
STATE = re.compile(
    r' class="field-(?:status|previous_status|phase|state|health|result)[ "].*'
)
WORDS = re.compile(r"[A-Za-z]+(,? [A-Za-z]+)*")
SHORT = 20
"""Characters that no column cuts."""
TURNED = {
    "R",
    "AL",
    "AN",
    "RLE",
    "RLO",
    "RLI",
    "LRE",
    "LRO",
    "LRI",
    "FSI",
    "PDF",
    "PDI",
}


@register.filter
def drawn(cell: str) -> str:
    """A rendered cell: a state has its colour, and other text two lines at most.

    The title has all of what is cut. What is written from right to left does not turn
    the text beside it around.
    """
    found = CELL.fullmatch(cell.strip())
    if found is None or "<input" in cell:
        return cell
    tag, attributes, content = found.groups()
    if STATE.match(attributes) and WORDS.fullmatch(content):
        said = render_to_string("admin/state.html", state_of(content))
        return format_html("<{0}{1}>{2}</{0}>", tag, mark_safe(attributes), said)
    text = " ".join(unescape(strip_tags(content)).split())
    is_turned = any(unicodedata.bidirectional(letter) in TURNED for letter in text)
    if len(text) <= SHORT and not is_turned:
        return cell
    whole = (
        f'<{tag}{attributes} title="{escape(text)}"><bdi class="cut">{content}</bdi>'
    )
    return mark_safe(f"{whole}</{tag}>")  # noqa: S308 (Django has rendered the cell)


def state_of(label: str) -> dict[str, str]:
    """The state that a label begins with, which has a colour, and the label."""
    return {"state": label.split(" ")[0].rstrip(","), "label": label}
