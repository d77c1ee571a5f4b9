"""Which locks a text of SQL takes, as far as it names them."""

import re
from dataclasses import dataclass

from partnerapi.core.sql_objects import respace


@dataclass(frozen=True, slots=True, order=True)
class Lock:
    """What is locked, rows of a table or a name that was agreed, and how."""

    what: str
    mode: str

    def __str__(self) -> str:
        return f"{self.what} ({self.mode})"


COMMENT = re.compile(r"--[^\n]*")
TEXT = re.compile(r"'(?:[^']|'')*'")
ROWS = re.compile(
    r"\bFOR\s+(?P<mode>NO\s+KEY\s+UPDATE|KEY\s+SHARE|UPDATE|SHARE)\b"
    r"(?:\s+OF\s+(?P<of>\w+))?(?P<passes>\s+SKIP\s+LOCKED)?"
)
TABLE = re.compile(
    r"\b(?:FROM|JOIN)\s+(?:public\.)?(?P<table>[a-z]\w*)"
    r"(?:\s+(?:AS\s+)?(?P<alias>[a-z]\w*))?"
)
ADVISORY = re.compile(
    r"\bpg_(?P<tries>try_)?advisory_(?:xact_)?lock(?P<shared>_shared)?\s*\("
    r"\s*hashtext(?:extended)?\s*\(\s*(?:'(?P<what>[^']*)'|%s)"
)
LOCK_TABLE = re.compile(
    r"\bLOCK\s+TABLE\s+(?P<table>\w+)\s+IN\s+(?P<mode>[A-Z ]+?)\s+MODE"
)


PARAMETER = "a name that is a parameter"


def locks(sql: str) -> set[Lock]:
    """The rows, advisory locks and tables that statements lock by name.

    An UPDATE or DELETE also locks its rows; those locks are left out.
    """
    found = set()
    said = COMMENT.sub("", sql)
    for match in ADVISORY.finditer(said):
        mode = "advisory, shared" if match["shared"] else "advisory"
        mode += ", not waited for" * bool(match["tries"])
        found.add(Lock(match["what"] or PARAMETER, mode))
    said = TEXT.sub("''", said)
    for match in LOCK_TABLE.finditer(said):
        found.add(Lock(match["table"], f"table, {match['mode']}"))
    for match in ROWS.finditer(said):
        named = tables_before(said[: match.start()])
        tables = [named[match["of"]]] if match["of"] else list(named.values())
        mode = "FOR " + respace(match["mode"]) + " SKIP LOCKED" * bool(match["passes"])
        found |= {Lock(table, mode) for table in tables}
    return found


def tables_before(text: str) -> dict[str, str]:
    """The tables, by alias, of the SELECT that ends with a text.

    It begins at the last bracket that stays open, or after the last semicolon.
    """
    depth = 0
    kept: list[str] = []
    for character in reversed(text):
        depth += (character == ")") - (character == "(")
        if depth < 0 or (depth == 0 and character == ";"):
            break
        if depth == 0:
            kept.append(character)
    said = "".join(reversed(kept))
    said = said[max(said.rfind(word) for word in ("SELECT", "PERFORM")) :]
    return {m["alias"] or m["table"]: m["table"] for m in TABLE.finditer(said)}
