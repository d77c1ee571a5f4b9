"""Files that /docs/fix offers: programs, settings of an engine, a dictionary."""

import ast
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from types import ModuleType

from marketdata.books import orderbook
from marketdata.fix.client import client, initiator, program, replica
from marketdata.fix.conformance import (
    examination,
    http_relay,
    order_entry,
    relay,
    rulebook,
)
from marketdata.fix.conformance import program as conformance
from marketdata.fix.protocol import rules, wire
from marketdata.fix.protocol.dictionary import STOCK_DICTIONARY
from marketdata.fix.reference import engine_settings

Parts = tuple[tuple[ModuleType, AbstractSet[str] | None], ...]
"""Modules, in the order in which they need each other, and what is taken of each."""
BOOKS: Parts = (
    (orderbook, {"BID", "ASK", "Level", "Ladder"}),
    (rules, {"SOH", "VERSION"}),
    (wire, None),
    (replica, None),
)
CLIENT: Parts = (*BOOKS, (initiator, None), (client, None), (program, None))
CONFORMANCE: Parts = (
    *BOOKS,
    (initiator, {"tls_context"}),
    (rulebook, None),
    (relay, None),
    (examination, None),
    (http_relay, None),
    (order_entry, None),
    (conformance, None),
)
CLIENT_HEAD = '''"""A FIX 4.4 client of the Partner API's order books.

For Python 3.11 or newer, without further packages.
It lists instruments, rebuilds books, and switches to the other address when a session
ends. Start it with --help. The same client tests every release.
"""
'''
CONFORMANCE_HEAD = '''"""Judges a partner's program by the Partner API's rules.

For Python 3.11 or newer, without further packages.
It runs between your program and the sandbox. Your program connects to it with its own
CompID and key, and receives what production may send one day. Start it with --help.
"""
'''
START = """

if __name__ == "__main__":
    main()
"""


@cache
def client_program() -> str:
    """The client as one file, which needs the standard library only."""
    return one_file(CLIENT_HEAD, CLIENT)


@cache
def conformance_program() -> str:
    """The examination of partners' programs, also as one file."""
    return one_file(CONFORMANCE_HEAD, CONFORMANCE)


def one_file(head: str, modules: Parts) -> str:
    imports: set[str] = set()
    parts = []
    for module, wanted in modules:
        assert module.__file__
        source = Path(module.__file__).read_text()
        for node in ast.parse(source).body:
            text = ast.get_source_segment(source, node) or ""
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports.update([] if "marketdata" in text else [text])
            elif not isinstance(node, ast.Expr) and (
                wanted is None or wanted & names_of(node)
            ):
                parts.append(decorators_of(source, node) + text)
    body = "\n\n\n".join(parts)
    return "\n".join([head, *sorted(imports), "", body, START])


def names_of(node: ast.stmt) -> set[str]:
    """The names that a top-level statement of a module defines."""
    targets = [one for each in getattr(node, "targets", []) for one in ast.walk(each)]
    names = {one.id for one in targets if isinstance(one, ast.Name)}
    return names | {getattr(node, "name", "")}


def decorators_of(source: str, node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    texts = [ast.get_source_segment(source, one) for one in decorators]
    return "".join(f"@{text}\n" for text in texts)


@cache
def dictionary() -> str:
    """FIX44.xml with BookSequence(5083) at the end of W and X."""
    text = STOCK_DICTIONARY.read_text()
    field = f"<field number='{rules.BOOK_SEQUENCE}' name='BookSequence' type='INT' />"
    text = text.replace(" </fields>", f"  {field}\n </fields>")
    for type_ in "WX":
        text = re.sub(
            rf"(<message name='\w+' msgtype='{type_}' .*?)(\s*</message>)",
            r"\1\n   <field name='BookSequence' required='N' />\2",
            text,
            count=1,
            flags=re.DOTALL,
        )
    return text


FILES: dict[str, tuple[Callable[[], str], str]] = {
    "fix_client.py": (client_program, "text/x-python; charset=utf-8"),
    "conformance.py": (conformance_program, "text/x-python; charset=utf-8"),
    "quickfix.cfg": (engine_settings, "text/plain; charset=utf-8"),
    "FIX44.xml": (dictionary, "application/xml; charset=utf-8"),
}
"""What makes each file, and its type."""
