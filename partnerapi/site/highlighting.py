"""Code as HTML: spans whose classes, Pygments' short names, `pages.css` colours."""

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

formatter = HtmlFormatter(nowrap=True)


def highlighted(content: str, language: str, attributes: str = "") -> str:
    """Code of a language that Pygments knows; "" for text, which needs escaping only.

    `attributes` are what follows the language in Markdown: none is in use.
    """
    if language in ("", "text"):
        return ""
    return highlight(content, get_lexer_by_name(language), formatter)
