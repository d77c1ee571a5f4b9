"""FIX messages that no engine sends, made from messages that engines do send.

Standard library only. A mutant is a list of pieces to send one after the other.
"""

import random
import secrets
from collections.abc import Callable
from datetime import UTC, datetime

from marketdata.fix.protocol.wire import encode, utc_timestamp

Fields = list[tuple[object, object]]
Pieces = list[bytes]

MEGABYTE = 1_000_000
CLIENT_HELLO = bytes.fromhex(
    "16030100c8010000c40303" + "5a" * 32 + "20" + "a5" * 32 + "0006130113021303"
    "0100007500000010000e00000b6578616d706c652e636f6d"
)
NONSENSE = (
    "", " ", "-1", "+1", "0x10", "1e9", "NaN", "99999999999999999999", "1.5", "Y", "é",
    "\x00", "=", "|", "%s%n", "A" * 300, "20990101-00:00:00", "2026-13-45", "true",
)  # fmt: skip
COUNTS = ("0", "-1", "2", "200", "999999999", "2147483648", "18446744073709551616", "x")
LENGTH_FIELDS = {
    90: 91, 93: 89, 95: 96, 212: 213, 348: 349, 350: 351, 352: 353, 354: 355, 356: 357,
    358: 359, 360: 361, 362: 363, 364: 365, 445: 446, 618: 619, 621: 622,
}  # fmt: skip
"""Those that tell how long another one is, which may hold SOH, and that one."""
LENGTH_VALUES = (
    "-1", "-5", "0", "1", "2", "5", "99999", "2147483647", "2147483648", "-2147483648",
    "4294967295", "4294967297", "9223372036854775807", "18446744073709551616", "abc",
    "", " 1", "+1", "-01", "000001", "1e3", "0x7fffffff", "1.5", "-", "\x00",
)  # fmt: skip
SPELLINGS: tuple[Callable[[int], str], ...] = (
    str,
    lambda tag: f"0{tag}",
    lambda tag: f"{tag:09}",
    lambda tag: f"{tag:040}",
    lambda tag: str(2**32 + tag),
    lambda tag: str(tag - 2**32),
    lambda tag: str(2**64 + tag),
)
"""Of a tag, as a C++ int reads them."""
UNKNOWN_TYPES = ("ZZ", "U1", "?", "", "AAAA", "w", "X", "W", "y", "n", "BE", "35")


def message(
    type_: str, number: int, sender: str, target: str, *fields: tuple[int, object]
) -> Fields:
    header = [(35, type_), (34, number), (49, sender)]
    now = utc_timestamp(datetime.now(UTC))
    return [*header, (52, now), (56, target), *fields]


def logon(sender: str, target: str, key: str) -> Fields:
    terms = [(98, 0), (108, 30), (141, "Y"), (554, key)]
    return message("A", 1, sender, target, *terms)


def request(
    dice: random.Random, number: int, sender: str, target: str, symbol: str, key: str
) -> Fields:
    """Any message of a session, its own logic unharmed."""

    def own(type_: str, *fields: tuple[int, object]) -> Fields:
        return message(type_, number, sender, target, *fields)

    name = f"M{dice.randrange(10**9)}"
    return dice.choice(
        (
            own("V", (262, name), (263, dice.choice("012")), (264, 5), (265, 1),
                (267, 2), (269, 0), (269, 1), (146, 1), (55, symbol)),
            own("V", (262, name), (263, 0), (264, 0), (267, 1), (269, 0),
                (146, 2), (55, symbol), (55, "[N/A]"), (48, "FR0000120271"), (22, 4)),
            own("x", (320, name), (559, 4)),
            own("x", (320, name), (559, 0), (55, symbol)),
            own("D", (11, name), (55, symbol), (54, 1), (60, "20260101-00:00:00"),
                (38, 1), (40, 1)),
            own("0"),
            own("0", (112, name)),
            own("1", (112, name)),
            own("2", (7, dice.choice((0, 1, number, 10**9))), (16, 0)),
            own("3", (45, 1), (58, name)),
            own("4", (123, dice.choice("YN")), (36, number + dice.choice((0, 1, 9)))),
            own("A", (98, 0), (108, dice.choice((0, 30))), (141, "Y"), (554, key)),
            own("5", (58, name)),
            own("j", (45, 1), (372, "V"), (380, 3)),
            own("R", (131, name), (146, 1), (55, symbol)),
        )
    )  # fmt: skip


# Of fields: the message around them is well-formed.


def put(fields: Fields, place: int, value: object) -> Fields:
    return [*fields[:place], (fields[place][0], value), *fields[place + 1 :]]


def duplicate_tag(fields: Fields, dice: random.Random) -> Fields:
    place = dice.randrange(len(fields))
    twin = (fields[place][0], dice.choice((fields[place][1], *NONSENSE)))
    anywhere = dice.randrange(len(fields) + 1)
    return [*fields[:anywhere], twin, *fields[anywhere:]]


def missing_tag(fields: Fields, dice: random.Random) -> Fields:
    place = dice.randrange(len(fields))
    return fields[:place] + fields[place + 1 :]


def wrong_type(fields: Fields, dice: random.Random) -> Fields:
    return put(fields, dice.randrange(len(fields)), dice.choice(NONSENSE))


def negative_number(fields: Fields, dice: random.Random) -> Fields:
    numbers = [n for n, (_, value) in enumerate(fields) if str(value).isdecimal()]
    return put(fields, dice.choice(numbers), -dice.choice((1, 2**31, 2**63)))


def huge_count(fields: Fields, dice: random.Random) -> Fields:
    groups = [n for n, (tag, _) in enumerate(fields) if tag in (146, 267)]
    if groups:
        return put(fields, dice.choice(groups), dice.choice(COUNTS))
    return [*fields, (dice.choice((146, 267, 268, 384, 627)), dice.choice(COUNTS))]


def unknown_type(fields: Fields, dice: random.Random) -> Fields:
    return put(fields, 0, dice.choice(UNKNOWN_TYPES))


def unknown_tag(fields: Fields, dice: random.Random) -> Fields:
    tag = dice.choice((0, -5, 1, 5001, 99999, 2**31, 2**64, 8, 9, 10, 35, 96, 212))
    place = dice.randrange(len(fields) + 1)
    return [*fields[:place], (tag, dice.choice(NONSENSE)), *fields[place:]]


def other_order(fields: Fields, dice: random.Random) -> Fields:
    return dice.sample(fields, len(fields))


def other_number(fields: Fields, dice: random.Random) -> Fields:
    return put(fields, 1, dice.choice((0, 1, 2, 10**6, 2**31, 2**64)))


def other_value_elsewhere(fields: Fields, dice: random.Random) -> Fields:
    """A key in a field that is for something else, too."""
    value = dice.choice(fields)[1]
    return put(fields, dice.randrange(len(fields)), value)


def length_field(fields: Fields, dice: random.Random) -> Fields:
    """A field of type data with a wrong length, anywhere after the type."""
    length, data = dice.choice(tuple(LENGTH_FIELDS.items()))
    spell = dice.choice((str, *SPELLINGS))
    value, text = (
        dice.choice(LENGTH_VALUES),
        dice.choice(("a", "a\x01b", "", "a" * 300)),
    )
    told: list[tuple[object, object]] = [(spell(length), value), (spell(data), text)]
    match dice.randrange(6):
        case 0:
            told.reverse()
        case 1:
            # What is right comes first.
            told = [(length, len(text)), (data, text), *told]
        case 2:
            told = [(146, 1), (55, "X"), *told]
        case 3:
            told = told[dice.randrange(2) :][:1]
    place = dice.choice((len(fields), dice.randrange(1, len(fields) + 1)))
    return [*fields[:place], *told, *fields[place:]]


def large_field(fields: Fields, dice: random.Random) -> Fields:
    return [*fields, (58, "x" * MEGABYTE)]


# Of bytes.


def wrong_checksum(raw: bytes, dice: random.Random) -> Pieces:
    wrong = dice.choice((b"%03d" % dice.randrange(256), b"999", b"1", b"", b"-01"))
    return [raw[:-4] + wrong + b"\x01"]


def wrong_length(raw: bytes, dice: random.Random) -> Pieces:
    head, _, rest = raw.partition(b"\x019=")
    length, _, body = rest.partition(b"\x01")
    wrong = dice.choice(
        (
            b"%d" % max(0, int(length) + dice.choice((-40, -1, 1, 2, 500))),
            *(b"0", b"-1", b"999999", b"1000000000", b"99999999999999999999", b""),
            *(b"00000000000000000000001", b"x", b"1.5"),
        )
    )
    return [head + b"\x019=" + wrong + b"\x01" + body]


def split(raw: bytes, dice: random.Random) -> Pieces:
    places = sorted(dice.sample(range(1, len(raw)), dice.randrange(1, 5)))
    return [raw[a:b] for a, b in zip([0, *places], [*places, len(raw)], strict=True)]


def coalesced(raw: bytes, dice: random.Random) -> Pieces:
    return [raw * dice.randrange(2, 6)]


def without_soh(raw: bytes, dice: random.Random) -> Pieces:
    return [raw.replace(b"\x01", dice.choice((b"|", b"", b"\x00", b"^A")))]


def flipped(raw: bytes, dice: random.Random) -> Pieces:
    changed = bytearray(raw)
    for _ in range(dice.randrange(1, 6)):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return [bytes(changed)]


def half(raw: bytes, dice: random.Random) -> Pieces:
    return [raw[: dice.randrange(1, len(raw))]]


def garbage(raw: bytes, dice: random.Random) -> Pieces:
    return [secrets.token_bytes(dice.choice((1, 20, 500, 5_000)))]


def client_hello(raw: bytes, dice: random.Random) -> Pieces:
    return [CLIENT_HELLO]


def other_protocol(raw: bytes, dice: random.Random) -> Pieces:
    return [dice.choice((b"GET / HTTP/1.1\r\n\r\n", b"8=FIX.4.2" + raw[9:], b"\n" * 9))]


def as_it_is(raw: bytes, dice: random.Random) -> Pieces:
    return [raw]


FIELDS: tuple[Callable[[Fields, random.Random], Fields], ...] = (
    duplicate_tag, missing_tag, wrong_type, negative_number, huge_count, unknown_type,
    unknown_tag, other_order, other_number, other_value_elsewhere, length_field,
)  # fmt: skip
BYTES: tuple[Callable[[bytes, random.Random], Pieces], ...] = (
    wrong_checksum, wrong_length, split, coalesced, without_soh, flipped, half, garbage,
    client_hello, other_protocol, as_it_is,
)  # fmt: skip
LARGE_SHARE = 1 / 500


def mutant(fields: Fields, dice: random.Random) -> tuple[str, Pieces]:
    """Its name, and what to send."""
    if dice.random() < LARGE_SHARE:
        return "large_field", [encode(large_field(fields, dice))]
    of_fields, of_bytes = dice.choice(FIELDS), dice.choice(BYTES)
    which = dice.randrange(5)
    if which == 0:
        name = f"{of_fields.__name__}, {of_bytes.__name__}"
        return name, of_bytes(encode(of_fields(fields, dice)), dice)
    if which < 3:
        return of_fields.__name__, [encode(of_fields(fields, dice))]
    return of_bytes.__name__, of_bytes(encode(fields), dice)
