"""Cells of lists: what is too long for its column is cut, and stays readable."""

import re
import unicodedata
from html import escape, unescape

from django import template
from django.utils.html import strip_tags
from django.utils.safestring import mark_safe

register = template.Library()

CELL = re.compile(r"<(t[dh])([^>]*)>(.*)</\1>", re.DOTALL)
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
def cut(cell: str) -> str:
    """A rendered cell whose text takes two lines at most; its title has all of it.

    What is written from right to left does not turn the text beside it around.
    """
    found = CELL.fullmatch(cell.strip())
    if found is None or "<input" in cell:
        return cell
    tag, attributes, content = found.groups()
    text = " ".join(unescape(strip_tags(content)).split())
    is_turned = any(unicodedata.bidirectional(letter) in TURNED for letter in text)
    if len(text) <= SHORT and not is_turned:
        return cell
    whole = (
        f'<{tag}{attributes} title="{escape(text)}"><bdi class="cut">{content}</bdi>'
    )
    return mark_safe(f"{whole}</{tag}>")  # noqa: S308 (Django has rendered the cell)
