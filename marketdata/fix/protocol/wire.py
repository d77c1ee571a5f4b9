"""FIX 4.4 on the wire: fields to bytes, and a byte stream to messages.

Independent of sockets and sessions. Standard library only. Fields of type data, such as
RawData(96), may hold SOH, and are not supported: the bytes after one are read as far as
they are tag=value.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

SOH = "\x01"
BEGIN = b"8=FIX.4.4\x01"
HEAD = re.compile(rb"8=FIX\.4\.4\x019=([0-9]{1,7})\x01")
TRAILER_LENGTH = len(b"10=000\x01")
LONGEST_BODY = 1_000_000
TAG, NUMBER = re.compile("[0-9]{1,9}"), re.compile("[0-9]{1,19}")
DATA_FIELDS = frozenset(
    {89, 91, 96, 213, 446, 619, 622, *range(349, 366, 2)}
    | {93, 90, 95, 212, 445, 618, 621, *range(348, 365, 2)}
)
"""Of FIX 4.4: the fields of type data, and those that tell how long they are."""
SECRETS = re.compile(r"(?<![^\x01])(554|925|96)=[^\x01]*")
SECRET_START = re.compile("((?:554|925|96)=|service-apikey_)|[0-9A-Za-z]{20}")
"""Password(554), NewPassword(925), RawData(96), and a key wherever it was put: by its
beginning, or, where that was damaged on the way, by its long secret."""
GROUPS: dict[tuple[str, int], frozenset[int]] = {
    ("V", 267): frozenset({269}),
    ("V", 146): frozenset({55, 48, 22}),
    ("W", 268): frozenset({269, 270, 15, 271, 272, 273, 278, 290}),
    ("X", 268): frozenset({279, 269, 278, 55, 48, 22, 270, 15, 271, 272, 273, 290}),
    ("y", 146): frozenset(
        {55, 48, 22, 460, 461, 470, 107, 106, 207, 15, 561, 562, 870, 871, 872}
    ),
}
"""(MsgType(35), the tag that counts) → the tags that an entry may hold."""


class GarbledMessage(ValueError):
    """The bytes are not a FIX 4.4 message; they are skipped when this is raised."""


class Message:
    """A message that arrived whole; its fields in order."""

    __slots__ = ("fields", "raw")

    def __init__(self, raw: bytes) -> None:
        """Split a message, including BodyLength(9) and CheckSum(10).

        Raises:
            GarbledMessage: a field is not tag=value.
        """
        self.raw = raw
        self.fields: list[tuple[int, str]] = []
        holds_data = False
        for field in raw.decode(errors="replace").split(SOH)[:-1]:
            tag, equals, value = field.partition("=")
            if equals and TAG.fullmatch(tag):
                self.fields.append((int(tag), value))
                holds_data |= int(tag) in DATA_FIELDS
            elif not holds_data:
                raise GarbledMessage(
                    f"{field[:40]!r} is not a field: expected tag=value"
                )

    def __repr__(self) -> str:
        return f"<Message {readable(self.raw)}>"

    def get(self, tag: int, default: str = "") -> str:
        """The value of a tag's first occurrence."""
        return next((value for known, value in self.fields if known == tag), default)

    @property
    def type(self) -> str:
        return self.get(35)

    @property
    def sequence(self) -> int:
        """MsgSeqNum(34); 0: none."""
        text = self.get(34)
        return int(text) if NUMBER.fullmatch(text) else 0

    def number(self, tag: int) -> int:
        """A tag's value as a whole number.

        Raises:
            GarbledMessage: it is not a whole number.
        """
        text = self.get(tag)
        if not NUMBER.fullmatch(text):
            raise GarbledMessage(f"{tag}={text[:40]} in a {self.type} is not a number")
        return int(text)

    def group(self, count: int) -> list[dict[int, str]]:
        """The entries of the repeating group that the tag `count` counts.

        Raises:
            GarbledMessage: there are more or fewer entries than stated.
        """
        members = GROUPS[self.type, count]
        fields = iter(self.fields)
        announced = next((value for tag, value in fields if tag == count), "0")
        entries: list[dict[int, str]] = []
        first = 0
        for tag, value in fields:
            if tag not in members:
                break
            if not entries:
                first = tag
            if tag == first:
                entries.append({})
            entries[-1][tag] = value
        if announced != str(len(entries)):
            raise GarbledMessage(
                f"{count}={announced[:10]} in a {self.type} with {len(entries)} entries"
            )
        return entries


def encode(fields: Iterable[tuple[int | str, object]]) -> bytes:
    """A whole message from its fields, MsgType(35) first: adds tags 8, 9 and 10."""
    body = "".join(f"{tag}={value}{SOH}" for tag, value in fields).encode()
    message = b"%s9=%d\x01%s" % (BEGIN, len(body), body)
    return b"%s10=%03d\x01" % (message, sum(message) % 256)


def readable(raw: bytes) -> str:
    """For people and logs: | for SOH, without secrets."""
    text = raw.decode(errors="replace")
    return SECRETS.sub(r"\1=***", text).replace(SOH, "|")


def mask(text: str) -> str:
    """A message up to its first secret field, in one line, | for SOH.

    The rest is dropped: in a garbled message no one knows where a field ends.
    """
    found = SECRET_START.search(text)
    if found:
        text = f"{text[: found.start()]}{found[1] or ''}***"
    return plain(text.replace("\x01", "|"))


def plain(text: str) -> str:
    """Printable ASCII; letters lose their accents, anything else becomes "?"."""
    bare = (
        c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)
    )
    return "".join(c if " " <= c <= "~" else "?" for c in bare)


def utc_timestamp(at: datetime) -> str:
    """UTCTimestamp with milliseconds, as SendingTime(52) has it."""
    return f"{at.astimezone(UTC):%Y%m%d-%H:%M:%S}.{at.microsecond // 1000:03d}"


def read_timestamp(text: str) -> datetime:
    """The instant of a UTCTimestamp, with or without fractional seconds.

    Raises:
        ValueError: it is not a UTCTimestamp.
    """
    form = "%Y%m%d-%H:%M:%S.%f" if "." in text else "%Y%m%d-%H:%M:%S"
    return datetime.strptime(text, form).replace(tzinfo=UTC)


class Decoder:
    """Finds messages in a byte stream, at any split."""

    def __init__(self) -> None:
        self.buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self.buffer += data

    def __iter__(self) -> Iterator[Message]:
        while (message := self.next()) is not None:
            yield message

    def next(self) -> Message | None:
        """The next whole message; None when more bytes are needed.

        Raises:
            GarbledMessage: what is wrong with the bytes that come next. They are
                skipped, up to where the next message may begin.
        """
        head = HEAD.match(self.buffer)
        if head is None:
            if self.may_begin():
                return None
            seen = bytes(self.buffer[:40])
            self.skip()
            raise GarbledMessage(f"expected 8=FIX.4.4 and 9=length, found {seen!r}")
        length = int(head[1])
        if length > LONGEST_BODY:
            self.skip()
            raise GarbledMessage(f"9={length}: more than {LONGEST_BODY:,} bytes")
        body_end = head.end() + length
        end = body_end + TRAILER_LENGTH
        if len(self.buffer) < end:
            return None
        raw = bytes(self.buffer[:end])
        trailer = raw[body_end:]
        if raw[body_end - 1] != 1 or re.fullmatch(rb"10=\d{3}\x01", trailer) is None:
            self.skip()
            raise GarbledMessage(f"9={length}: no 10=nnn after that many bytes")
        del self.buffer[:end]
        computed = sum(raw[:body_end]) % 256
        if int(trailer[3:6]) != computed:
            raise GarbledMessage(
                f"10={int(trailer[3:6]):03d}, but the bytes add up to "
                f"{computed:03d}: {readable(raw)[:80]}"
            )
        return Message(raw)

    def may_begin(self) -> bool:
        """Whether the bytes so far can become the head of a message."""
        if len(self.buffer) < len(BEGIN):
            return BEGIN.startswith(self.buffer)
        rest = bytes(self.buffer[len(BEGIN) : len(BEGIN) + 10])
        return self.buffer.startswith(BEGIN) and (
            re.fullmatch(rb"9?|9=[0-9]{0,7}", rest) is not None
        )

    def skip(self) -> None:
        """Skip to the possible beginning of a message; drops at least one byte."""
        begin = self.buffer.find(BEGIN, 1)
        if begin < 0:
            # The last bytes so far may be the first bytes of a head.
            begin = next(
                n
                for n in range(
                    max(1, len(self.buffer) - len(BEGIN)), len(self.buffer) + 1
                )
                if BEGIN.startswith(self.buffer[n:])
            )
        del self.buffer[:begin]
