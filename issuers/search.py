"""Finds issuers by what someone types, best first.

There are three classes: an identifier that is the text; a trading name that begins
with it; every word of it a word of the issuer, the last one perhaps its beginning.
Within a class issuers stand by trading name. Each class is one range or two of
`IssuerTerm`, whose index is in this order: a page reads as many rows as it holds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from accounts.access import Caller
from partnerapi.core.database import PlannedAnew, fetch
from partnerapi.core.errors import BadUserInput

MOST_WORDS = 8
WORD_LETTERS = 20
NAME_LETTERS = 100
SHORTEST_BEGINNING = 3
RARE = 1000
"""Up to here the issuers of a term are counted, to find the rarest of several."""
FEW = 50
"""Up to here the issuers of a filter are found first, and then their terms."""
LAST_LETTER = "\U0010ffff"


class Place(NamedTuple):
    """Where an issuer stands in the answers to a text."""

    kind: int
    name: str
    issuer_id: str


class Range(NamedTuple):
    """The issuers of one class that have a term, by name: from `low` to below `high`.

    They have all `others`, too, and none of `without`.
    """

    kind: int
    term: str
    low: str = ""
    high: str | None = None
    others: tuple[str, ...] = ()
    without: str | None = None


def check_search(text: str) -> None:
    """Refuse a text that the database cannot hold.

    Raises:
        BadUserInput: `argument` is `search`.
    """
    if "\0" in text:
        raise BadUserInput(
            "`search` contains a NUL character; send plain text.", argument="search"
        )


@dataclass(frozen=True, slots=True)
class Search:
    """The answers to a text for a caller.

    `condition` is SQL over the table of issuers that narrows them, with its `values`;
    `few` are the issuers that fulfil it, where they are no more than FEW.
    """

    ranges: list[Range]
    caller: Caller | None
    condition: str
    values: tuple[Any, ...]
    few: list[str] | None

    def places(
        self,
        after: Place | None = None,
        before: Place | None = None,
        *,
        backward: bool = False,
        inclusive: bool = False,
        limit: int,
    ) -> list[Place]:
        """At most `limit` places between two others, from the requested end."""
        found: list[Place] = []
        for part in reversed(self.ranges) if backward else self.ranges:
            if after and part.kind < after.kind or before and part.kind > before.kind:
                continue
            if len(found) == limit:
                break
            where, values = self.where(part)
            for place, sign in ((after, ">"), (before, "<")):
                if place and place.kind == part.kind:
                    sign = f"{sign}=" if inclusive else sign
                    where += f" AND (t.name, t.issuer_id) {sign} (%s, %s::uuid)"
                    values += [place.name, place.issuer_id]
            direction = "DESC" if backward else "ASC"
            statement = (
                f"SELECT t.name, t.issuer_id::text {where} ORDER BY t.name {direction},"
                f" t.issuer_id {direction} LIMIT %s"
            )
            rows = fetch(statement, [*values, limit - len(found)], tuple)
            found += [Place(part.kind, name, issuer_id) for name, issuer_id in rows]
        return found

    def count(self) -> int:
        counts = []
        for part in self.ranges:
            where, values = self.where(part)
            [(count,)] = fetch(f"SELECT count(*) {where}", values, tuple)
            counts.append(count)
        return sum(counts)

    def where(self, part: Range) -> tuple[str, list[Any]]:
        """FROM and WHERE of a range; every other table is asked row by row, by key."""
        joins, joined = "issuers_issuerterm t", []
        if self.few is not None:
            # OFFSET keeps it row by row: the planner cannot know that none may match.
            joins = (
                "unnest(%s::uuid[]) AS few (id) CROSS JOIN LATERAL (SELECT * FROM"
                " issuers_issuerterm WHERE issuer_id = few.id AND term = %s OFFSET 0)"
                " AS t"
            )
            joined = [self.few, part.term]
        for number, other in enumerate(part.others):
            joins += (
                " CROSS JOIN LATERAL (SELECT FROM issuers_issuerterm o WHERE o.term ="
                " %s AND o.name = t.name AND o.issuer_id = t.issuer_id AND"
                f" {self.visible('o')} LIMIT 1) AS other_{number}"
            )
            joined += [other, *self.granted_ids()]
        if self.few is None and self.condition != "TRUE":
            joins += (
                " CROSS JOIN LATERAL (SELECT FROM issuers_issuer WHERE"
                f" issuers_issuer.id = t.issuer_id AND ({self.condition}) LIMIT 1)"
                " AS narrowed"
            )
            joined += self.values
        conditions = ["t.term = %s", "t.name >= %s", self.visible("t")]
        values = [part.term, part.low, *self.granted_ids()]
        if part.high is not None:
            conditions.append("t.name < %s")
            values.append(part.high)
        if part.without is not None:
            conditions.append(
                "NOT EXISTS (SELECT FROM issuers_issuerterm w WHERE w.term = %s AND"
                " w.name = t.name AND w.issuer_id = t.issuer_id AND"
                f" {self.visible('w')})"
            )
            values += [part.without, *self.granted_ids()]
        where = f"FROM {joins} WHERE {' AND '.join(conditions)}"
        return where, [*joined, *values]

    def visible(self, table: str) -> str:
        """That a term is not known from private tokens only, which others may see."""
        if self.caller and self.caller.granted_issuers is None:
            return "TRUE"
        if self.granted_ids():
            return f"(NOT {table}.private OR {table}.issuer_id = ANY (%s::uuid[]))"
        return f"NOT {table}.private"

    def granted_ids(self) -> list[list[str]]:
        if self.caller is None or not self.caller.granted_issuers:
            return []
        return [sorted(self.caller.granted_issuers)]


def search(
    text: str, caller: Caller | None, condition: str, values: tuple[Any, ...]
) -> Search | None:
    """The answers to a text; None where it is blank, and so narrows nothing.

    Raises:
        BadUserInput: it is too long, or has too many words.
    """
    check_search(text)
    [(folded, words)] = fetch(FOLDED, [text], tuple)
    if len(words) > MOST_WORDS:
        raise BadUserInput(
            f"`search` has {len(words)} words; send at most {MOST_WORDS}.",
            argument="search",
            maximum=MOST_WORDS,
        )
    if not folded:
        return None
    few = None if condition == "TRUE" else few_of(condition, values)
    found = [] if few == [] else [*ranges(folded, words)]
    return Search(found, caller, condition, values, few)


def few_of(condition: str, values: tuple[Any, ...]) -> list[str] | None:
    """The issuers that fulfil a condition; None where they are more than FEW."""
    statement = f"SELECT id::text FROM issuers_issuer WHERE {condition} LIMIT %s"
    found = fetch(statement, [*values, FEW + 1], tuple, PlannedAnew)
    return [issuer_id for (issuer_id,) in found] if len(found) <= FEW else None


def ranges(folded: str, words: list[str]) -> Iterator[Range]:
    """The classes of a folded text, in order; no issuer is in two of them."""
    identifier, beginning = f"#{folded}", folded[:NAME_LETTERS]
    yield Range(1, identifier)
    high = beginning + LAST_LETTER
    yield Range(2, "", beginning, high, without=identifier)
    if words:
        rarest, *others = by_rarity(terms_of(words))
        of_words = Range(3, rarest, others=tuple(others), without=identifier)
        yield of_words._replace(high=beginning)
        yield of_words._replace(low=high)


def terms_of(words: list[str]) -> list[str]:
    *whole, last = [word[:WORD_LETTERS] for word in words]
    terms = [f"={word}" for word in whole]
    terms.append(last if len(last) >= SHORTEST_BEGINNING else f"={last}")
    return [*dict.fromkeys(terms)]


def by_rarity(terms: list[str]) -> list[str]:
    if len(terms) == 1:
        return terms
    return [term for (term,) in fetch(BY_RARITY, [terms, RARE + 1], tuple)]


FOLDED = "SELECT folded, search_words(folded) FROM search_fold(%s) AS folded"
BY_RARITY = """
    SELECT asked.term FROM unnest(%s::text[]) AS asked (term)
    CROSS JOIN LATERAL (SELECT count(*) FROM (
        SELECT FROM issuers_issuerterm k WHERE k.term = asked.term LIMIT %s) AS counted
    ) AS issuers (count)
    ORDER BY issuers.count
"""
