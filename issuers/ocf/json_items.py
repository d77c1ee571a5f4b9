"""Reads a JSON object whose member `items` is long, item by item."""

import codecs
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

LONGEST = 2**20
"""Characters of one value that are read, such as of an object: a list of empty lists
takes twenty times as much memory as text."""
SPACE = re.compile(r"[ \t\n\r]*")
ITEMS = "items"


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=refuse)


def members(chunks: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
    """The members of the object that UTF-8 chunks hold, in their order.

    A list that is called `items` comes as itself, empty, and then as each of its items
    under the name of "".

    Raises:
        ValueError: it is no JSON, or no object, or a value in it is too long.
        RecursionError: it is nested too deeply.
    """
    text = Text(chunks)
    if text.next() != "{":
        text.value()
        raise ValueError("it does not contain a JSON object")
    text.skip("{")
    separator = "" if text.next() == "}" else ","
    while separator == ",":
        name = text.value()
        if not isinstance(name, str):
            raise ValueError(f"a member has the name {name!r:.40}, which is not a text")
        text.skip(":")
        if name == ITEMS and text.next() == "[":
            yield name, []
            yield from items(text)
        else:
            yield name, text.value()
        separator = text.next()
        if separator == ",":
            text.skip(",")
    text.skip("}")
    if text.next():
        raise text.error("Extra data")


def items(text: "Text") -> Iterator[tuple[str, Any]]:
    text.skip("[")
    separator = "" if text.next() == "]" else ","
    while separator == ",":
        yield "", text.value()
        separator = text.next()
        if separator == ",":
            text.skip(",")
    text.skip("]")


class Text:
    """What is not read yet of a text that comes in chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks = chunks
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.place, self.passed, self.has_ended = "", 0, 0, False

    def grow(self, least: int = 1) -> None:
        """Read on, `least` characters or to the end."""
        parts, length = [self.text[self.place :]], 0
        while length < least and not self.has_ended:
            chunk = next(self.chunks, b"")
            self.has_ended = not chunk
            parts.append(self.decoder.decode(chunk, final=self.has_ended))
            length += len(parts[-1])
        self.passed += self.place
        self.text, self.place = "".join(parts), 0

    def next(self) -> str:
        """The next character that is no space, which stays; empty at the end."""
        while True:
            self.place = SPACE.match(self.text, self.place).end()  # type: ignore[union-attr]
            if self.place < len(self.text):
                return self.text[self.place]
            if self.has_ended:
                return ""
            self.grow()

    def skip(self, character: str) -> None:
        if self.next() != character:
            raise self.error(f"Expecting {character!r}")
        self.place += 1

    def value(self) -> Any:
        self.next()
        while True:
            try:
                value, end = DECODER.raw_decode(self.text, self.place)
            except json.JSONDecodeError as error:
                if self.has_ended:
                    raise self.error(error.msg, error.pos) from None
            else:
                # A number may go on in the next chunk.
                if end < len(self.text) or self.has_ended:
                    self.place = end
                    return value
            if len(self.text) - self.place > LONGEST:
                raise self.error(f"A value of more than {LONGEST:,} characters")
            self.grow(len(self.text) - self.place)

    def error(self, what: str, place: int | None = None) -> ValueError:
        at = self.passed + (self.place if place is None else place)
        return ValueError(f"{what}: character {at:,}")
