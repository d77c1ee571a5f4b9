import random
from datetime import UTC, datetime

import pytest

from marketdata.fix.protocol.wire import (
    Decoder,
    GarbledMessage,
    encode,
    read_timestamp,
    readable,
    utc_timestamp,
)

HEARTBEAT = b"8=FIX.4.4\x019=5\x0135=0\x0110=163\x01"


def wire(text: str) -> bytes:
    return text.replace("|", "\x01").encode()


def decoded(*pieces: bytes) -> tuple[list[str], list[str]]:
    """What a stream that comes in these pieces holds, and what was wrong with it."""
    decoder, found, wrong = Decoder(), [], []
    for piece in pieces:
        decoder.feed(piece)
        while True:
            try:
                message = decoder.next()
            except GarbledMessage as error:
                wrong.append(str(error))
                continue
            if message is None:
                break
            found.append(readable(message.raw))
    return found, wrong


def test_counts_the_body_and_sums_the_bytes():
    assert encode([(35, "0")]) == HEARTBEAT
    # Bytes, not characters.
    assert encode([(35, "B"), (148, "é")]) == wire("8=FIX.4.4|9=12|35=B|148=é|10=042|")


def test_finds_messages_wherever_the_stream_is_cut():
    messages = [
        encode([(35, "1"), (34, n), (112, "x" * n)]) for n in (1, 2, 30, 400, 5000)
    ]
    stream = b"".join(messages)
    expected = [readable(message) for message in messages]
    chance = random.Random(7)
    for _ in range(200):
        cuts = sorted(chance.sample(range(1, len(stream)), 6))
        pieces = [
            stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        ]
        assert decoded(*pieces) == (expected, [])
    assert decoded(*(bytes([byte]) for byte in stream[:200])) == (expected[:3], [])


@pytest.mark.parametrize(
    ("garbage", "told"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "found b'HTTP/1.1 400 Bad Request"),
        (b"\x15\x03\x03\x00\x02\x02\x16", "expected 8=FIX.4.4 and 9=length"),
        (wire("8=FIX.4.2|9=5|35=0|10=161|"), "expected 8=FIX.4.4 and 9=length"),
        (wire("8=FIX.4.4|9=x|35=0|10=163|"), "expected 8=FIX.4.4 and 9=length"),
        (wire("8=FIX.4.4|9=4|35=0|10=163|"), "9=4: no 10=nnn after that many bytes"),
        (wire("8=FIX.4.4|9=6|35=0|10=163|"), "9=6: no 10=nnn after that many bytes"),
        (wire("8=FIX.4.4|9=5|35=0|10=164|"), "10=164, but the bytes add up to 163"),
        (wire("8=FIX.4.4|9=9999999|35=0|"), "9=9999999: more than 1,000,000 bytes"),
        (
            wire("8=FIX.4.4|9=9|35=0|x=1|10=142|"),
            "'x=1' is not a field: expected tag=value",
        ),
    ],
)
def test_tells_what_is_wrong_and_goes_on_with_the_next_message(garbage, told):
    found, wrong = decoded(garbage, HEARTBEAT)

    assert found == [readable(HEARTBEAT)]
    assert told in wrong[0]


def test_survives_a_hundred_thousand_random_bytes():
    chance = random.Random(11)
    for _ in range(100):
        noise = bytearray(HEARTBEAT * 20 + chance.randbytes(800))
        for _ in range(10):
            noise[chance.randrange(len(noise))] = chance.choice(b"8=FIX.4\x0190")
        # A flaw may announce a body of up to a million bytes: nothing else is to come.
        found, _ = decoded(bytes(noise), HEARTBEAT)
        assert set(found) <= {readable(HEARTBEAT)}


def test_parts_repeating_groups():
    decoder = Decoder()
    decoder.feed(
        encode(
            [
                *((35, "X"), (262, "R"), (268, 2)),
                *((279, 2), (269, 0), (55, "LUM"), (270, "9.95")),
                *((279, 0), (269, 1), (55, "LUM"), (270, "10.05"), (271, 7)),
            ]
        )
    )
    message = decoder.next()

    assert message.group(268) == [
        {279: "2", 269: "0", 55: "LUM", 270: "9.95"},
        {279: "0", 269: "1", 55: "LUM", 270: "10.05", 271: "7"},
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_refuses_a_group_that_holds_another_number_of_entries(count):
    decoder = Decoder()
    entries = [(269, 0), (270, "1.00"), (269, 1), (270, "1.01")]
    decoder.feed(encode([(35, "W"), (262, "R"), (268, count), *entries]))

    with pytest.raises(GarbledMessage, match=f"268={count} in a W with 2 entries"):
        decoder.next().group(268)


def test_shows_no_secret():
    logon = encode([(35, "A"), (96, "s1"), (554, "s2"), (925, "s3"), (1554, "shown")])

    assert readable(logon) == (
        "8=FIX.4.4|9=36|35=A|96=***|554=***|925=***|1554=shown|10=122|"
    )


def test_writes_and_reads_the_time():
    at = datetime(2026, 3, 1, 9, 8, 7, 65_999, tzinfo=UTC)

    assert utc_timestamp(at) == "20260301-09:08:07.065"
    assert read_timestamp("20260301-09:08:07.065") == at.replace(microsecond=65_000)
    assert read_timestamp("20260301-09:08:07") == at.replace(microsecond=0)
