"""Recordings of a venue's books: those of a model, Kraken's own, and damaged ones."""

import gzip
import io
import random
import re
from zlib import crc32

import pytest

from marketdata.books.orderbook import ASK, BID, Level, OrderBook
from tests.marketdata.replay.recordings import (
    BookName,
    Decimals,
    Mismatch,
    Replay,
    VenueBook,
    main,
    measure,
    replay,
)
from tests.marketdata.replay.venue import Venue

OPENED = "wss://ws.kraken.com <-> 1618678132.3858151\n"
SUBSCRIBED = (
    'wss://ws.kraken.com <- 1618678132.8: {"event":"subscribe","pair":["A/B"]}\n'
    '1618678132.9: {"connectionID":17843232920108168701,"event":"systemStatus"}\n'
    '1618678132.9: {"channelID":336,"event":"subscriptionStatus","pair":"A/B"}\n'
)
HEARTBEAT = '1618678133.1: {"event":"heartbeat"}\n'


def replayed(text: str | bytes) -> Replay:
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    return replay(file, measure(file))


@pytest.mark.parametrize(
    ("price", "quantity"), [(0, 0), (1, 8), (2, 2), (3, 8), (9, 8), (10, 5)]
)
@pytest.mark.parametrize("depth", [10, 25, 1000])
def test_reproduces_every_checksum(price, quantity, depth):
    venue = Venue("A/B", depth, price, quantity, seed=price * 100 + depth)
    found = replayed(OPENED + SUBSCRIBED + venue.recording(200))
    assert (found.checksums, found.matching) == (200, 200)
    assert found.first_mismatch is None
    [book] = found.books.values()
    assert book.name == BookName("A/B", depth)
    assert book.decimals == Decimals(price, quantity)
    assert (book.snapshots, book.updates) == (1, 200)
    for side, name in ((BID, "b"), (ASK, "a")):
        published = venue.published(name)
        held = [Level(level, venue.levels[name][level]) for level in published]
        assert list(book.book.ladder()[side]) == held


def test_reproduces_krakens_checksums(test_data):
    with (test_data / "l2" / "kraken_book_2021.ws").open("rb") as file:
        found = replay(file, measure(file))
    assert (found.checksums, found.matching) == (4269, 4269)
    assert {name.pair: book.matching for name, book in found.books.items()} == {
        "ADA/XBT": 347,
        "ETH/CHF": 317,
        "GRT/ETH": 20,
        "KSM/XBT": 335,
        "OCEAN/XBT": 148,
        "OMG/USD": 573,
        "SC/EUR": 818,
        "WAVES/EUR": 576,
        "XBT/CHF": 289,
        "XMR/USD": 846,
    }
    assert {kind: len(found.skipped[kind]) for kind in found.skipped} == {
        "connection": 2,
        "heartbeat": 31,
        "subscriptionStatus": 10,
        "systemStatus": 1,
    }


def test_follows_pairs_and_depths_side_by_side():
    venues = [Venue("A/B", 10), Venue("A/B", 100, seed=2), Venue("C/D", 10, 5, 4)]
    lines = [venue.snapshot() for venue in venues]
    lines += [venue.update() + HEARTBEAT for _ in range(50) for venue in venues]
    found = replayed("".join(lines))
    assert {name: book.matching for name, book in found.books.items()} == {
        BookName("A/B", 10): 50,
        BookName("A/B", 100): 50,
        BookName("C/D", 10): 50,
    }
    assert len(found.skipped["heartbeat"]) == 150


def test_a_snapshot_begins_a_book_anew():
    venue = Venue("A/B")
    again = OPENED + SUBSCRIBED + venue.recording(50) + OPENED + venue.recording(50)
    found = replayed(again)
    assert (found.checksums, found.matching) == (100, 100)
    [book] = found.books.values()
    assert (book.snapshots, book.updates) == (2, 100)


@pytest.mark.parametrize("seed", range(5))
def test_decimals_may_vary_in_the_text(seed):
    # Checksums over the texts as they are sent.
    found = replayed(Venue("A/B", 25, seed=seed, stripped=True).recording(100))
    assert (found.checksums, found.matching) == (100, 100)


def test_zeros_may_have_been_lost_after_the_checksum():
    # The venue meant all decimals; the recorder left trailing zeros out.
    text = Venue("A/B", 25).recording(100)
    stripped = re.sub(r'(?<=[1-9])0+(?=",")', "", text)
    assert len(re.findall(r'[1-9]0+","', text)) > 100
    assert re.findall(r'[1-9]0+","', stripped) == []
    found = replayed(stripped)
    assert (found.checksums, found.matching) == (100, 100)


def test_decimals_may_change_with_a_snapshot():
    text = Venue("A/B", price=1).recording(50) + Venue("A/B", price=4).recording(50)
    found = replayed(text)
    assert (found.checksums, found.matching) == (100, 100)


def test_passes_over_removals_of_what_is_not_there():
    venue = Venue("A/B")
    text = venue.snapshot()
    text += venue.frame(
        {"a": [["9.999", "0.00000000", "1"]], "c": str(venue.checksum())}
    )
    found = replayed(text + venue.update())
    assert (found.checksums, found.matching) == (2, 2)
    [book] = found.books.values()
    assert book.stray_removals == 1


def test_another_venues_book_may_be_crossed():
    venue = Venue("A/B")
    text = venue.snapshot()
    rows = venue.change("b", 5_003, 7)
    text += venue.frame({"b": rows, "c": str(venue.checksum())})
    found = replayed(text)
    assert (found.checksums, found.matching) == (1, 1)
    [book] = found.books.values()
    bids, asks = book.book.ladder(1)
    assert bids == (Level(5_003, 7),)
    assert asks[0].price == 5_001


def test_reads_gzip_and_crlf():
    text = OPENED + Venue("A/B").recording(50)
    assert replayed(gzip.compress(text.encode())).matching == 50
    assert replayed(text.replace("\n", "\r\n")).matching == 50
    assert replayed("\ufeff" + text).matching == 50


def test_names_what_it_skips():
    venue = Venue("A/B")
    late = Venue("C/D")
    late.snapshot()
    text = (
        OPENED
        + venue.snapshot()
        + "\n\nhello\n"
        + '1.5: {"event":"heartbeat"\n'
        + '1.5: [0,{"v":1},"trade","A/B"]\n'
        + '1.5: [336,{"a":[["1e5","1","1"]]},"book-10","A/B"]\n'
        + '1.5: [336,{"a":5},"book-10","A/B"]\n'
        + "1.5: []\n"
        + "[" * 100_000
        + "\n"
        + late.update()
        + '{"channel":"book","type":"snapshot"}\n'
        + venue.update()
        + venue.update()[:-20]
    )
    found = replayed(text)
    assert found.skipped == {
        "connection": [1],
        "unreadable line": [5, 6, 11],
        "message of trade": [7],
        "malformed message": [8, 9, 10],
        "update before the first snapshot": [12],
        "message of book": [13],
        "cut-off last line": [15],
    }
    assert (found.checksums, found.matching) == (1, 1)


def test_reads_compressed_data_as_far_as_they_go():
    text = Venue("A/B").recording(300)
    packed = gzip.compress(text.encode())
    found = replayed(packed[: len(packed) // 2])
    assert 50 < found.matching == found.checksums < 250
    [[line]] = found.skipped.values()
    assert list(found.skipped) in (
        ["compressed data cut off or damaged"],
        ["cut-off last line"],
    )
    assert line == found.checksums + 2


def test_tells_a_changed_checksum():
    venue = Venue("A/B")
    text = venue.recording(20)
    right = venue.checksum()
    wrong = text.replace(f'"{right}"', f'"{right ^ 1}"')
    found = replayed(wrong)
    assert (found.checksums, found.matching) == (20, 19)
    assert found.first_mismatch == Mismatch(21, "A/B", right ^ 1, right)
    assert str(found.first_mismatch) == (
        f"line 21, A/B: the checksum is {right ^ 1}, the book has {right}"
    )


@pytest.mark.parametrize("seed", range(4))
def test_tells_one_changed_digit(test_data, seed):
    """Of a quantity among the ten best asks, which every checksum covers."""
    text = (test_data / "l2" / "kraken_book_2021.ws").read_text()
    chance = random.Random(seed)
    best = chance.choice(list(re.finditer(r'"as":\[\["[\d.]+","(\d+)\.', text)))
    place = chance.randrange(*best.span(1))
    digit = str((int(text[place]) + chance.randint(1, 9)) % 10)
    found = replayed(text[:place] + digit + text[place + 1 :])
    assert found.checksums == 4269
    assert found.matching < 4269
    line = text.count("\n", 0, place) + 1
    assert found.first_mismatch.line > line
    assert found.first_mismatch.computed != found.first_mismatch.expected


BOOK = ((BID, 100, 5), (BID, 99, 7), (BID, 97, 1), (ASK, 102, 2), (ASK, 103, 9))


def test_drops_what_falls_out_of_a_depth():
    book = VenueBook(BOOK)
    for _ in range(2):
        book.truncate(2)
        assert book.ladder() == OrderBook([*BOOK[:2], *BOOK[3:]]).ladder()


def test_a_checksum_is_of_the_digits_asks_first():
    assert VenueBook().checksum() == 0
    assert VenueBook(BOOK).checksum() == crc32(b"102210391005997971")
    assert VenueBook(BOOK).checksum(1) == crc32(b"10221005")


def test_a_checksum_is_the_one_of_krakens_guide():
    # "Spot WebSockets (v1) book checksum": prices of five decimals, all of 0.00000500.
    asks = range(5005, 5055, 5)
    bids = [5000, 4995, 4990, 4980, 4975, 4970, 4965, 4960, 4955, 4950]
    levels = [(ASK, price, 500) for price in asks] + [(BID, n, 500) for n in bids]
    assert VenueBook(levels).checksum() == 974947235


def test_the_command_shows_each_book(tmp_path, capsys):
    path = tmp_path / "venue.ws"
    path.write_text(Venue("A/B").recording(30) + "rubbish\n")
    assert main([str(path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert "Skipped: unreadable line 1×, first line 32" in said
    assert re.fullmatch(
        r"venue\.ws: 30 of 30 checksums match, 1 books, \d+ changes in \d+\.\d s",
        said[-1],
    )
    [row] = [line for line in said if "A/B" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")][:5] == [
        "A/B",
        "10",
        "3, 8",
        "1",
        "30",
    ]
    assert "30 of 30" in row


def test_the_command_fails_where_a_checksum_differs(tmp_path, capsys):
    venue = Venue("A/B")
    text = venue.recording(30)
    right = venue.checksum()
    path = tmp_path / "venue.ws"
    path.write_text(text.replace(f'"{right}"', '"17"'))
    assert main([str(path)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-2] == (
        f"First mismatch of its book: line 31, A/B: the checksum is 17, the book has "
        f"{right}"
    )
    assert said[-1].startswith("venue.ws: 29 of 30 checksums match, ")


def test_the_command_fails_without_a_checksum(tmp_path, capsys):
    path = tmp_path / "venue.ws"
    path.write_text(Venue("A/B").snapshot())
    assert main([str(path)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == (
        "venue.ws holds no checksum of a book that a snapshot began; record the book "
        "channel from its subscription on."
    )
