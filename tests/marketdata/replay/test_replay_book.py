"""Where a test asks for no database, the command is not to need one."""

import gzip
import io
import json
import re
import time

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from issuers.models import Token
from issuers.register.models import TokenPrice
from marketdata.books.current_books import read_books
from marketdata.books.log import Message, record
from marketdata.books.orderbook import Change
from marketdata.management.book import replay
from marketdata.models import BookChange, BookLevel, Trade
from tests.characters import World

DRY = " (dry run: nothing was written)"
HEADER = "time,message,kind,side,price_cents,quantity\n"
ROWS = """\
2026-03-02T09:00:00Z,1,change,bid,1250,40
2026-03-02T09:00:00Z,1,change,ask,1260,25
2026-03-02T09:00:00Z,1,change,ask,1261,5

2026-03-02T09:00:00.5+00:00,4,change,ask,1260,15
2026-03-02T09:00:00.5+00:00,4,trade,,1260,10
2026-03-02T10:00:01+01:00,5,change,bid,1260,7
2026-03-02T10:00:01+01:00,5,change,ask,1260,0
"""
CHANGES = [
    (1, 0, 1250, 40, False),
    (2, 1, 1260, 25, False),
    (3, 1, 1261, 5, True),
    (4, 1, 1260, 15, True),
    (5, 0, 1260, 7, False),
    (6, 1, 1260, 0, True),
]
LEVELS = {(0, 1250, 40), (0, 1260, 7), (1, 1261, 5)}
SUMMARY = re.compile(
    r"3 messages, 6 changes, 1 trade in \d+\.\d s \([\d,]+ changes/s\); "
    r"best bid 7 at 1,260 cents, best ask 5 at 1,261 cents"
)


@pytest.fixture
def token(world: World) -> Token:
    """LUM, on the secondary market."""
    world.public_token.market_type = Token.MarketType.SECONDARY_MARKET
    world.public_token.save()
    return world.public_token


@pytest.fixture
def monday(tmp_path):
    path = tmp_path / "monday.csv"
    path.write_text(HEADER + ROWS)
    return path


def run(*arguments):
    output = io.StringIO()
    call_command("book", "replay", *map(str, arguments), stdout=output)
    return output.getvalue().strip()


def refused(*arguments):
    """The refusal, and what was said before it, a line each."""
    output, problems = io.StringIO(), io.StringIO()
    with pytest.raises(CommandError) as refusal:
        call_command(
            "book", "replay", *map(str, arguments), stdout=output, stderr=problems
        )
    return str(refusal.value), (problems.getvalue() + output.getvalue()).splitlines()


def log(token):
    return list(
        BookChange.objects.filter(token=token)
        .order_by("sequence")
        .values_list("sequence", "side", "price_cents", "quantity", "ends_message")
    )


def levels(token):
    found = BookLevel.objects.filter(token=token)
    return set(found.values_list("side", "price_cents", "quantity"))


def test_replays_a_csv_into_the_log(token, monday):
    said = run(monday, "--token", "lum")
    assert said.startswith("LUM: recorded ")
    assert SUMMARY.fullmatch(said.removeprefix("LUM: recorded "))
    assert log(token) == CHANGES
    assert levels(token) == LEVELS
    [trade] = Trade.objects.all()
    assert (trade.token, trade.sequence) == (token, 1)
    assert (trade.price_cents, trade.quantity) == (1260, 10)
    price = TokenPrice.objects.get(token=token)
    assert (price.price_cents, price.source) == (1260, TokenPrice.Source.TRADE)


def test_replays_json_lines_and_gzip(token, tmp_path):
    rows = [line.split(",") for line in ROWS.split()]
    names = HEADER.strip().split(",")
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    for number, row in enumerate(objects):
        row["message"] = int(row["message"])
        row["price_cents"] = int(row["price_cents"])
        row["quantity"] = int(row["quantity"])
        row["venue"] = "passed over"
        if not row["side"]:
            row["side"] = None if number % 2 else ""
    path = tmp_path / "monday.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, objects)).encode()))
    run(path, "--token", "LUM")
    assert log(token) == CHANGES
    assert levels(token) == LEVELS


def test_a_dry_run_checks_and_writes_nothing(token, monday):
    said = run(monday, "--token", "LUM", "--dry-run")
    good = "monday.csv is valid: "
    assert said.startswith(good)
    assert SUMMARY.fullmatch(said.removeprefix(good).removesuffix(DRY))
    assert log(token) == []
    assert SUMMARY.search(run(monday, "--dry-run"))


def test_columns_may_stand_in_any_order(token, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(
        "\ufeffQuantity, price_cents ,side,kind,message,time,note\r\n"
        "40,1250,bid,change,1,2026-03-02T09:00:00Z,a\r\n"
    )
    run(path, "--token", "LUM")
    assert log(token) == [(1, 0, 1250, 40, True)]


def test_leaves_a_book_alone_that_is_not_empty(token, monday):
    run(monday, "--token", "LUM")
    for more in ([], ["--dry-run"]):
        refusal, _ = refused(monday, "--token", "LUM", *more)
        assert refusal == (
            "The book of LUM is not empty: it has 3 levels. Remove them with "
            "--clear, continue from them with --append, or begin the file with a "
            "reset."
        )
    assert log(token) == CHANGES


def test_clears_a_book_first_in_one_message(token, monday):
    run(monday, "--token", "LUM")
    run(monday, "--token", "LUM", "--clear")
    assert log(token)[6:9] == [
        (7, 0, 1260, 0, False),
        (8, 0, 1250, 0, False),
        (9, 1, 1261, 0, True),
    ]
    assert [row[1:] for row in log(token)[9:]] == [row[1:] for row in CHANGES]
    assert levels(token) == LEVELS


def test_a_reset_empties_the_book_in_its_message(token, monday, tmp_path):
    run(monday, "--token", "LUM")
    path = tmp_path / "tuesday.csv"
    path.write_text(
        HEADER
        + "2026-03-03T09:00:00Z,1,reset,,,\n"
        + "2026-03-03T09:00:00Z,1,change,ask,1200,3\n"
        + "2026-03-03T09:00:00Z,2,reset,,,\n"
    )
    said = run(path, "--token", "LUM")
    assert said.endswith("; no bid, no ask")
    assert log(token)[6:] == [
        (7, 0, 1260, 0, False),
        (8, 0, 1250, 0, False),
        (9, 1, 1261, 0, False),
        (10, 1, 1200, 3, True),
        (11, 1, 1200, 0, True),
    ]


def test_replays_many_messages(token, tmp_path):
    path = tmp_path / "long.csv"
    rows = (
        f"2026-03-02T09:00:00Z,{n},change,bid,{1000 + n % 7},{n}\n"
        for n in range(1, 1_703)
    )
    path.write_text(HEADER + "".join(rows))
    assert "1,702 messages, 1,702 changes, 0 trades" in run(path, "--token", "LUM")
    found = log(token)
    assert [row[0] for row in found] == list(range(1, 1_703))
    assert [row[3] for row in found] == list(range(1, 1_703))


def test_keeps_up_with_the_recorded_time(token, monday):
    began = timezone.now()
    run(monday, "--token", "LUM", "--speed", "4")
    # The file's second is a quarter; a busy machine writes its first message late.
    first, *_, last = BookChange.objects.order_by("sequence")
    assert first.at < last.at
    assert (last.at - began).total_seconds() >= 0.25
    assert levels(token) == LEVELS


@pytest.mark.parametrize("speed", ["0", "-1", "nan", "inf", "fast"])
def test_refuses_a_speed_that_is_none(speed, monday):
    with pytest.raises(CommandError, match=f"{speed} is not a number above 0"):
        run(monday, "--token", "LUM", f"--speed={speed}")


def test_reports_every_wrong_row_and_writes_nothing(token, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(
        HEADER
        + "2026-03-02T09:00:00Z,1,change,bid,1250,40\n"
        + "2026-03-02T09:00:00,1,change,bid,1250,40\n"
        + "2026-03-02T09:00:00Z,1,change,buy,12.50,-1\n"
        + "2026-03-02T09:00:00Z,1,trade,bid,0,0\n"
        + "2026-03-02T09:00:00Z,1,cancel,bid,1250,40\n"
        + "2026-03-02T09:00:00Z,one,reset,ask,1,1\n"
        + "2026-03-02T09:00:00Z,1,reset,,,\n"
        + "2026-03-02T08:59:59Z,0,change,ask,9223372036854775808,1\n"
        + "2026-03-02T08:59:59Z,0,change,ask,1260,1\n"
        + "2026-03-02T09:00:00Z,1\n"
        + '2026-03-02T09:00:00Z,1,"change,bid,1250,40\n'
    )
    refusal, problems = refused(path, "--token", "LUM")
    assert refusal == (
        "bad.csv has 18 problems, listed above. Nothing was changed; correct the file "
        "and run this again."
    )
    most = 2**63 - 1
    assert problems == [
        "bad.csv, line 3, time: '2026-03-02T09:00:00' is not a time with a zone; write "
        "it as 2026-03-02T09:00:00.250Z",
        "bad.csv, line 4, side: 'buy' is not bid or ask",
        "bad.csv, line 4, price_cents: '12.50' is not a whole number from 1 to "
        f"{most}; write 12.50 euros as 1250",
        f"bad.csv, line 4, quantity: '-1' is not a whole number from 0 to {most}",
        "bad.csv, line 5, side: 'bid': a trade has no such value; leave it empty",
        f"bad.csv, line 5, price_cents: '0' is not a whole number from 1 to {most}; "
        "write 12.50 euros as 1250",
        f"bad.csv, line 5, quantity: '0' is not a whole number from 1 to {most}",
        "bad.csv, line 6, kind: 'cancel' is not change, trade or reset",
        f"bad.csv, line 7, message: 'one' is not a whole number from 0 to {most}",
        "bad.csv, line 7, side: 'ask': a reset has no such value; leave it empty",
        "bad.csv, line 7, price_cents: '1': a reset has no such value; leave it empty",
        "bad.csv, line 7, quantity: '1': a reset has no such value; leave it empty",
        "bad.csv, line 8, kind: a reset is not the first row of message 1; make it "
        "the first",
        f"bad.csv, line 9, price_cents: '{most + 1}' is not a whole number from 1 to "
        f"{most}; write 12.50 euros as 1250",
        "bad.csv, line 10, message: 0 comes after 1; number messages in ascending "
        "order and keep the rows of each together",
        "bad.csv, line 10, time: 2026-03-02T08:59:59+00:00 is earlier than the row "
        "above, 2026-03-02T09:00:00+00:00; sort the rows by time",
        "bad.csv, line 11: 2 fields, the header has 6",
        "bad.csv, line 12: not a row of CSV: unexpected end of data",
    ]
    assert log(token) == []


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (
            "2026-03-02T09:00:02Z,6,change,bid,1261,1\n",
            "line 11, message: message 6 does not fit the book before it. After the "
            "message the best bid 1261 is not below the best ask 1261.",
        ),
    ],
)
def test_refuses_what_can_not_happen_to_the_book(token, tmp_path, row, problem):
    path = tmp_path / "bad.csv"
    path.write_text(HEADER + ROWS + "\n" + row)
    _, problems = refused(path, "--token", "LUM")
    assert problems == [f"bad.csv, {problem}"]
    assert log(token) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "line 1: the file has no rows"),
        (HEADER.encode(), "line 1: the file has no rows"),
        (
            b"time,message,kind,side,price\n",
            "line 1, price_cents, quantity: the header must have each of "
            "time,message,kind,side,price_cents,quantity once",
        ),
        (
            b'{"time": 5\n',
            "line 1: not JSON, Expecting ',' delimiter: line 2 column 1 (char 11); "
            "write one object per line",
        ),
        (b"{}\n", "line 1, kind: '' is not change, trade or reset"),
        (
            b'{"kind": "reset", "time": "2026-03-02T09:00:00Z", "message": %s}\n'
            % (b"1" * 5_000),
            f"line 1, message: '{'1' * 5_000}' is not a whole number from 0 to "
            f"{2**63 - 1}",
        ),
        (
            gzip.compress((HEADER + ROWS).encode(), mtime=0)[:-12],
            "line 9: the compressed data cannot be read further: Compressed file "
            "ended before the end-of-stream marker was reached; create the file "
            "again",
        ),
    ],
)
def test_refuses_a_file_of_another_kind(tmp_path, content, problem):
    path = tmp_path / "bad"
    path.write_bytes(content)
    _, problems = refused(path, "--dry-run")
    assert f"bad, {problem}" in problems


def test_tells_a_hundred_problems_and_counts_the_others(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(HEADER + "2026-03-02T09:00:00Z,1,change,bid,1250,x\n" * 1_000)
    refusal, problems = refused(path, "--dry-run")
    assert refusal.startswith("bad.csv has 1,000 problems, ")
    assert (len(problems), problems[-1]) == (101, "and 900 more")


def test_passes_over_the_removal_of_a_level_that_is_not_there(token, tmp_path):
    path = tmp_path / "sent.csv"
    path.write_text(
        HEADER
        + ROWS
        + "2026-03-02T09:00:02Z,6,change,ask,1260,0\n"
        + "2026-03-02T09:00:03Z,7,change,bid,1240,3\n"
        + "2026-03-02T09:00:03Z,7,change,bid,1240,0\n"
        + "2026-03-02T09:00:03Z,7,change,bid,1240,0\n"
    )
    said = run(path, "--token", "LUM")
    assert ", 2 removals of levels that were not there passed over; best bid" in said
    gone = [(7, 0, 1240, 3, False), (8, 0, 1240, 0, True)]
    assert log(token) == [*CHANGES, *gone]
    assert levels(token) == LEVELS


def test_goes_on_from_the_book_as_it_is(token, monday, tmp_path):
    run(monday, "--token", "LUM")
    tuesday = tmp_path / "tuesday.csv"
    tuesday.write_text(
        HEADER
        + "2026-03-03T09:00:00Z,1,change,bid,1260,0\n"
        + "2026-03-03T09:00:00Z,1,change,ask,1258,2\n"
    )
    assert "continue from them with --append" in refused(tuesday, "--token", "LUM")[0]
    append = ("--token", "LUM", "--append")
    assert "best ask 2 at 1,258" in run(tuesday, *append, "--dry-run")
    assert log(token) == CHANGES
    assert "best ask 2 at 1,258 cents" in run(tuesday, *append)
    assert levels(token) == {(0, 1250, 40), (1, 1261, 5), (1, 1258, 2)}
    assert log(token)[6:] == [(7, 0, 1260, 0, False), (8, 1, 1258, 2, True)]


def test_needs_a_token_with_a_book(world, monday, tmp_path):
    assert refused(monday)[0] == (
        "Pass --token SYMBOL to write this token's book, or --dry-run to check the "
        "file only."
    )
    assert refused(monday, "--token", "LUM")[0] == (
        "LUM is not on the secondary market and has no order book; "
        "market open-secondary LUM opens one."
    )
    assert refused(monday, "--token", "NONE")[0] == (
        "There is no token NONE. The admin lists tokens with their symbols."
    )
    absent = tmp_path / "absent.csv"
    assert (
        refused(absent, "--dry-run")[0]
        == f"{absent} cannot be read: No such file or directory."
    )


def test_a_reset_of_an_empty_book_changes_nothing(token, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(HEADER + "2026-03-02T09:00:00Z,1,reset,,,\n")
    assert run(path, "--token", "LUM").startswith(
        "LUM: recorded 1 message, 0 changes, 0 trades in "
    )
    assert log(token) == []


def test_ended_early_it_says_what_stays(token, monday, monkeypatch):
    def interrupt(seconds):
        if seconds:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupt)
    refusal, _ = refused(monday, "--token", "LUM", "--speed", "1")
    assert re.fullmatch(
        r"Stopped early: 1 message, 3 changes, 0 trades in .* are recorded and "
        r"stay\. Run this again with --clear for the whole file\.",
        refusal,
    )
    assert log(token) == CHANGES[:3]


def test_stops_where_the_file_is_changed_meanwhile(token, tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text(
        HEADER
        + "2026-03-02T09:00:00Z,1,change,bid,1250,40\n"
        + "2026-03-02T09:00:01Z,2,change,bid,1250,41\n" * 2_000
        + "2026-03-02T09:00:02Z,3,change,bid,1250,41\n"
    )

    def change_the_file(seconds):
        if seconds:
            path.write_text("rubbish\n" * 20_000)

    monkeypatch.setattr(time, "sleep", change_the_file)
    refusal, _ = refused(path, "--token", "LUM", "--speed", "1")
    assert re.fullmatch(
        r"x\.csv changed during the replay, after 1 message, 1 change, 0 trades in "
        r".* had been recorded\. Leave the file unchanged and run this again with "
        r"--clear\.",
        refusal,
    )
    assert log(token) == [(1, 0, 1250, 40, True)]


@pytest.mark.parametrize(
    ("other", "told", "recorded"),
    [
        (
            Change(0, 1270, 1),
            "After the message the best bid 1270 is not below the best ask 1260.",
            "1 message, 1 change",
        ),
        (
            Change(0, 1200, 1),
            "change 3 was recorded where change 2 was expected.",
            "2 messages, 2 changes",
        ),
    ],
)
def test_stops_where_somebody_else_writes_the_book(
    token, tmp_path, monkeypatch, other, told, recorded
):
    path = tmp_path / "x.csv"
    path.write_text(
        HEADER
        + "2026-03-02T09:00:00Z,1,change,bid,1250,40\n"
        + "2026-03-02T09:00:01Z,2,change,ask,1260,25\n"
        + "2026-03-02T09:00:03Z,3,change,ask,1260,26\n"
    )

    def other_writer(seconds):
        if seconds:
            record(token.pk, [Message([other])], "other")

    monkeypatch.setattr(time, "sleep", other_writer)
    refusal, _ = refused(path, "--token", "LUM", "--speed", "0.01")
    assert re.fullmatch(
        rf"LUM: {re.escape(told)} Another process writes this book\. {recorded}, 0 "
        r"trades in .* are recorded and stay; stop the other writer and run this "
        r"again with --clear\.",
        refusal,
    )
    assert log(token)[:2] == [(1, 0, 1250, 40, True), (2, *other, True)]
    assert BookLevel.objects.filter(quantity=26).count() == 0


def test_stops_where_somebody_else_wrote_before_it_began(token, monday, monkeypatch):
    def other_writer_then_read(current):
        monkeypatch.undo()
        books = read_books(current)
        record(token.pk, [Message([Change(0, 1200, 1)])], "other")
        return books

    monkeypatch.setattr(replay, "read_books", other_writer_then_read)
    refusal, _ = refused(monday, "--token", "LUM")
    assert refusal.startswith(
        "LUM: change 7 was recorded where change 6 was expected. Another process writes"
    )
