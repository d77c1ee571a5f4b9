"""The engine on loopback, with sessions over sockets."""

import math
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest

from marketdata.books.livebook import TradeRow
from marketdata.fix.client.initiator import Initiator, LoggedOut
from marketdata.fix.protocol.dictionary import STOCK_DICTIONARY
from marketdata.fix.protocol.rules import (
    INTERNAL_ERROR,
    MD_REJECT_REASONS,
    MESSAGES_BURST,
    MOST_EARLY,
    PROBE_BYTES,
    TOO_MANY_EARLY,
    TOO_MANY_MESSAGES,
)
from marketdata.fix.protocol.wire import Message, encode
from tests.marketdata.books.feeds import rename
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.engines import (
    NOON,
    Bench,
    body_of,
    caller,
    logged_on,
    market_data_request,
    new_book,
    running_engine,
)
from tests.marketdata.fix.market import ladder_of, moving
from tests.waiting import PATIENCE_SECONDS, until

# After `engines`, which undoes what importing QuickFIX does to SIGINT.
import quickfix as fix  # isort: skip
from marketdata.fix.acceptor.quickfix.application import entries  # isort: skip

QUIET_SECONDS = 0.3
STAMP = "|272=19700101|273=00:00:00.000"
"""The time of the changes that tests make."""


@pytest.fixture(scope="module")
def module_bench() -> Iterator[Bench]:
    books = [new_book("LUM", "FR0000120271"), new_book("ORB")]
    with running_engine([*books, new_book("HID", is_public=False)]) as bench:
        yield bench


@pytest.fixture
def bench(module_bench: Bench) -> Bench:
    """An engine whose sessions of other tests have ended."""
    until(lambda: not module_bench.sessions.live)
    return module_bench


def book_of(bench, symbol):
    return next(one for one in bench.feed.books.values() if one.symbol == symbol)


def leads_to(client, tokens):
    """Receive until the client's books equal the logs, and stay equal."""
    ladders = {token.symbol: ladder_of(token) for token in tokens}

    def is_there() -> bool:
        return all(client.books[name].ladder() == ladders[name] for name in ladders)

    until(lambda: client.receive(0.05) is None and is_there())
    while client.receive(QUIET_SECONDS):
        pass
    assert is_there()


def until_logout(client):
    """The messages before the engine's Logout, and its reason."""
    messages = []
    try:
        while message := client.receive():
            messages.append(message)
    except LoggedOut as ended:
        return messages, ended.text
    raise AssertionError("no Logout came")


def test_leads_books_to_where_a_real_log_is(market: Market):
    with running_engine() as bench, bench.client() as client:
        with moving(market.listed, market.unnumbered):
            client.subscribe(["LUM", "ORB"], trades=True)
            for _ in range(12):
                assert client.receive(PATIENCE_SECONDS)
        leads_to(client, [market.listed, market.unnumbered])
        assert client.gaps == 0


def test_sends_a_snapshot_then_what_changed(bench):
    book = new_book("ONE")
    bench.feed.books[book.token_id] = book
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "ONE"))
        assert body_of(client.receive()) == (
            f"35=W|262=R1|55=ONE|48={book.token_id}|22=8|268=2|"
            f"269=0|270=10.00|15=EUR|271=100{STAMP}|290=1|"
            f"269=1|270=10.10|15=EUR|271=100{STAMP}|290=1"
        )
        bench.change(book, [(0, 1000, 0), (0, 999, 5)], [(1, 1010, 7)])
        assert body_of(client.receive()) == (
            f"35=X|262=R1|268=3|279=2|269=0|55=ONE|270=10.00{STAMP}|"
            f"279=0|269=0|55=ONE|270=9.99|15=EUR|271=5{STAMP}|"
            f"279=1|269=1|55=ONE|270=10.10|15=EUR|271=7{STAMP}"
        )


def test_a_message_that_undoes_another_sends_nothing(bench):
    book = book_of(bench, "LUM")
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "LUM"))
        assert client.receive().type == "W"
        bench.change(book, [(0, 900, 5)], [(0, 900, 0)])
        assert client.receive(QUIET_SECONDS) is None


def test_levels_that_leave_the_depth_are_deleted_and_come_back_as_new(bench):
    book = new_book("TWO")
    bench.feed.books[book.token_id] = book
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "TWO", entry_types="0", t264=1))
        assert client.receive().get(268) == "1"
        bench.change(book, [(0, 1001, 5)])
        assert body_of(client.receive()) == (
            f"35=X|262=R1|268=2|279=2|269=0|55=TWO|270=10.00{STAMP}|"
            f"279=0|269=0|55=TWO|270=10.01|15=EUR|271=5{STAMP}"
        )
        bench.change(book, [(0, 1001, 0)])
        assert body_of(client.receive()) == (
            f"35=X|262=R1|268=2|279=2|269=0|55=TWO|270=10.01{STAMP}|"
            f"279=0|269=0|55=TWO|270=10.00|15=EUR|271=100{STAMP}"
        )


@pytest.mark.parametrize("count", [51, 5_000])
def test_a_request_for_too_much_is_refused_by_its_counts(bench, count):
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", *["LUM"] * count))
        answer = client.receive()
        assert (answer.get(281), answer.get(58)) == (
            "2",
            f"{MD_REJECT_REASONS['2']}: NoRelatedSym(146) is too high",
        )
        client.send("V", *market_data_request("R1", "LUM", entry_types="0" * count))
        answer = client.receive()
        assert (answer.get(281), answer.get(58)) == (
            "8",
            f"{MD_REJECT_REASONS['8']}: NoMDEntryTypes(267) is too high",
        )


def test_no_more_entries_are_read_than_tell_that_there_are_too_many():
    fields = market_data_request("R1", *["LUM"] * 5_000)
    raw = encode([(35, "V"), (34, 2), (49, "A"), (52, "20260101-00:00:00"), *fields])
    dictionary = fix.DataDictionary(str(STOCK_DICTIONARY))
    request = fix.Message(raw.decode(), dictionary, False)
    assert len(entries(request, fix.Group(146, 55), 50)) == 51


def test_one_update_in_an_interval(bench, settings):
    book = book_of(bench, "LUM")
    with bench.client() as client:
        client.snapshots(["LUM"])
        began = time.monotonic()
        for n in range(50):
            bench.change(book, [(0, 990, 1 + n)])
            time.sleep(0.01)
        took = time.monotonic() - began
        while client.receive(QUIET_SECONDS):
            pass
        # The snapshot counts, as do the messages at either end.
        most = took * 1000 / settings.FIX_CONFLATION_MS + 3
        assert 3 <= client.books["LUM"].updates <= most
        bench.change(book, [(0, 990, 0)])


def test_trades_are_never_conflated(bench):
    book = book_of(bench, "LUM")
    before = book.last_trade
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "LUM", entry_types="2"))
        # The last trade, where there was one.
        assert client.receive().get(268) == str(min(1, before))
        bench.trade(book, 450)
        sizes, numbers = [], []
        while len(numbers) < 450:
            entries = client.receive(PATIENCE_SECONDS).group(268)
            sizes.append(len(entries))
            numbers += [int(entry[278]) for entry in entries]
        assert client.receive(QUIET_SECONDS) is None
        assert sizes == [200, 200, 50]
        assert numbers == list(range(before + 1, before + 451))


def test_a_single_snapshot_leaves_no_subscription(bench):
    book = book_of(bench, "LUM")
    with bench.initiator() as client:
        for _ in range(2):
            client.send("V", *market_data_request("R1", "LUM", t263=0, t265=None))
            assert client.receive().type == "W"
        bench.change(book, [(0, 1000, 101)])
        assert client.receive(QUIET_SECONDS) is None
        client.send("V", *market_data_request("R1", "LUM", t263=2))
        assert body_of(client.receive()).startswith("35=Y|262=R1|281=4|58=")
        bench.change(book, [(0, 1000, 100)])


def test_a_full_refresh_is_a_snapshot_on_every_change(bench):
    book = book_of(bench, "LUM")
    with bench.initiator() as client:
        fields = market_data_request("R1", "LUM", entry_types="02", t265=0)
        client.send("V", *fields)
        assert client.receive().get(271) == "100"
        bench.change(book, [(0, 1000, 7)])
        message = client.receive()
        assert (message.type, message.get(271)) == ("W", "7")
        bench.change(book, [(0, 1000, 100)])
        assert client.receive().type == "W"
        bench.trade(book, 1)
        assert client.receive().get(279) == "0"


EVERYTHING = "01245789B"
PAST = "272=20261120|273=12:00:00.000"


def entries_of(message):
    """279, 269 and the value of each entry."""
    return [
        (entry.get(279, ""), entry[269], entry.get(270) or entry[271])
        for entry in message.group(268)
    ]


def test_the_figures_of_the_day_follow_its_trades(bench):
    book = new_book("DAY")
    bench.feed.books[book.token_id] = book
    with bench.initiator() as client:
        fields = market_data_request("R1", "DAY", entry_types=EVERYTHING, t264=1)
        client.send("V", *fields)
        levels = [("", "0", "10.00"), ("", "1", "10.10")]
        assert entries_of(client.receive()) == levels
        # The price of the n-th trade is n cents.
        bench.trade(book, 4)
        assert entries_of(client.receive()) == [
            *[("0", "2", f"0.0{n}") for n in (1, 2, 3, 4)],
            *[("0", "4", "0.01"), ("0", "7", "0.04"), ("0", "8", "0.01")],
            *[("0", "9", "0.03"), ("0", "B", "4")],
        ]
        bench.trade(book, 1)
        figures = [("1", "7", "0.05"), ("1", "B", "5")]
        assert entries_of(client.receive()) == [("0", "2", "0.05"), *figures]
        book.end_day(NOON.date() + timedelta(days=1))
        bench.changed(book)
        assert body_of(client.receive()) == (
            f"35=X|262=R1|268=1|279=0|269=5|55=DAY|270=0.05|15=EUR|{PAST}"
        )
        book.extend_trades([TradeRow(6, 9, 2, NOON + timedelta(days=3))])
        bench.changed(book)
        new_day = [("0", type_, "0.09") for type_ in "24789"]
        assert entries_of(client.receive()) == [*new_day, ("0", "B", "2")]
        fields = market_data_request("R2", "DAY", entry_types="25B")
        client.send("V", *fields)
        snapshot = client.receive()
        assert entries_of(snapshot) == [
            ("", "2", "0.09"), ("", "5", "0.05"), ("", "B", "2")
        ]  # fmt: skip
        assert body_of(snapshot).endswith("|272=20261123|273=12:00:00.000")
        del bench.feed.books[book.token_id]


def test_who_does_not_ask_for_figures_is_sent_none(bench):
    book = new_book("OLD")
    bench.feed.books[book.token_id] = book
    bench.trade(book, 3)
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "OLD", entry_types="02", t264=1))
        # The last trade, once.
        assert entries_of(client.receive()) == [("", "0", "10.00"), ("", "2", "0.03")]
        bench.trade(book, 1)
        assert entries_of(client.receive()) == [("0", "2", "0.04")]
        del bench.feed.books[book.token_id]


def test_a_comp_id_may_ask_for_the_books_numbers(bench):
    book = new_book("NUM")
    bench.feed.books[book.token_id] = book
    with bench.initiator(is_numbered=True) as client:
        client.send("V", *market_data_request("R1", "NUM"))
        assert body_of(client.receive()).endswith("|290=1|5083=2")
        bench.change(book, [(0, 999, 5)])
        assert body_of(client.receive()).endswith(f"|271=5{STAMP}|5083=3")
        del bench.feed.books[book.token_id]


def test_an_unsubscription_ends_a_request(bench):
    book = book_of(bench, "LUM")
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "LUM", "ORB"))
        assert {client.receive().get(55), client.receive().get(55)} == {"LUM", "ORB"}
        client.send("V", *market_data_request("R1", "LUM", t263=2))
        until(lambda: bench.conflation.watched == {})
        bench.change(book, [(0, 995, 1)])
        assert client.receive(QUIET_SECONDS) is None
        bench.change(book, [(0, 995, 0)])


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (market_data_request("R2", "NIX"), "0"),
        (market_data_request("R2", "LUM", "HID"), "0"),
        (market_data_request("R1", "ORB"), "1"),
        (market_data_request("R2", *(f"T{n}" for n in range(51))), "2"),
        (market_data_request("R2", "ORB", t263=2), "4"),
        (market_data_request("R2", "ORB", t264=51), "5"),
        (market_data_request("R2", "ORB", t265=None), "6"),
        (market_data_request("R2", "ORB", t266="N"), "7"),
        (market_data_request("R2", "ORB", entry_types="6"), "8"),
    ],
)
def test_a_request_against_the_rules_holds_in_no_part(bench, fields, reason):
    with bench.initiator() as client:
        client.send("V", *market_data_request("R1", "LUM"))
        assert client.receive().type == "W"
        client.send("V", *fields)
        message = client.receive()
        assert (message.type, message.get(281)) == ("Y", reason)
        assert message.get(262) == dict(fields)[262]
        (session,) = bench.sessions.live.values()
        assert list(session.subscriptions.by_request) == ["R1"]


def test_a_hidden_book_is_for_who_has_a_grant_at_that_moment(bench):
    hidden = book_of(bench, "HID")
    with bench.initiator(granted=[hidden.issuer_id]) as client:
        client.send("V", *market_data_request("R1", "HID"))
        assert client.receive().type == "W"
        (session,) = bench.sessions.live.values()
        session.admission.caller = caller()
        client.send("V", *market_data_request("R2", "HID"))
        assert client.receive().get(281) == "0"


def test_a_renamed_token_leaves_no_book_under_its_old_symbol(market: Market):
    with running_engine() as bench, bench.client() as client:
        client.snapshots(["LUM", "ORB"])
        rename(market.listed, "LUMEN", market.listed.isin)
        assert body_of(client.receive()) == (
            "35=W|262=BOOK1|55=LUM|48=FR0000120271|22=4|268=0"
        )
        renamed = client.receive()
        assert [renamed.get(tag) for tag in (35, 262, 55)] == ["W", "BOOK1", "LUMEN"]
        with moving(market.listed, market.unnumbered):
            for _ in range(5):
                assert client.receive(PATIENCE_SECONDS)
        market.listed.refresh_from_db()
        leads_to(client, [market.listed, market.unnumbered])
        assert client.books.keys() == {"LUM", "LUMEN", "ORB"}
        assert client.books["LUM"].ladder() == ((), ())
        client.send("x", (320, "Q"), (559, 4))
        while (message := client.receive()).type != "y":
            assert message.get(268) == "0"
        assert {"55=HID"}.isdisjoint(body_of(message).split("|"))


def test_a_book_that_is_hidden_meanwhile_becomes_empty_and_ends(bench):
    hidden = book_of(bench, "HID")
    with bench.initiator(granted=[hidden.issuer_id]) as client:
        client.send("V", *market_data_request("R1", "HID", "LUM", entry_types="012"))
        # LUM may have a last trade.
        assert {client.receive().get(268), client.receive().get(268)} <= {"2", "3"}
        (session,) = bench.sessions.live.values()
        session.admission.caller = caller()
        bench.change(hidden, [(0, 1001, 5)])
        bench.trade(hidden, 1)
        identity = f"55=HID|48={hidden.token_id}|22=8"
        assert body_of(client.receive()) == f"35=W|262=R1|{identity}|268=0"
        assert client.receive().get(148) == "HID: subscription ended"
        bench.change(hidden, [(0, 1001, 0)])
        assert client.receive(QUIET_SECONDS) is None
        # The other subscriptions of the request continue.
        book = book_of(bench, "LUM")
        bench.change(book, [(0, 980, 5)])
        assert client.receive().get(55) == "LUM"
        bench.change(book, [(0, 980, 0)])


@pytest.mark.parametrize("update_type", [0, 1])
def test_what_changes_with_an_identity_is_sent_under_the_new_one(bench, update_type):
    book = book_of(bench, "LUM")
    facts = book.facts
    request = market_data_request("R1", "LUM", entry_types="02", t265=update_type)
    levels = f"268=1|269=0|270=10.00|15=EUR|271=100{STAMP}|290=1"
    with bench.initiator() as client:
        client.send("V", *request)
        identity = "55=LUM|48=FR0000120271|22=4"
        assert client.receive().get(55) == "LUM"
        for symbol, isin in (("LUX", "FR0000120271"), ("LUX", None)):
            book.describe(symbol, isin, *facts[2:])
            bench.trade(book, 1)
            assert body_of(client.receive()) == f"35=W|262=R1|{identity}|268=0"
            code = f"48={isin}|22=4" if isin else f"48={book.token_id}|22=8"
            identity = f"55=LUX|{code}"
            assert body_of(client.receive()) == f"35=W|262=R1|{identity}|{levels}"
            [trade] = client.receive().group(268)
            assert (trade[55], trade[278]) == ("LUX", str(book.last_trade))
        book.describe(*facts)
        bench.changed(book)
        assert body_of(client.receive()) == f"35=W|262=R1|{identity}|268=0"
        assert client.receive().get(55) == "LUM"
        assert client.receive(QUIET_SECONDS) is None


def test_lists_instruments(bench):
    lumen = (
        "55=LUM|48=FR0000120271|22=4|460=5|461=ESVUFR|106=LUM issuer|107=LUM shares|"
        "870=2|871=99|872=TICK=0.01|871=99|872=MARKET=FED|15=EUR|561=1|562=1"
    )
    with bench.initiator() as client:
        client.send(
            "x", (320, "Q1"), (559, 0), (55, "[N/A]"), (48, "FR0000120271"), (22, 4)
        )
        message = client.receive()
        head = f"35=y|320=Q1|322={message.get(322)}"
        assert body_of(message) == f"{head}|560=0|393=1|893=Y|146=1|{lumen}"
        client.send("x", (320, "Q2"), (559, 0), (55, "NIX"))
        assert client.receive().get(560) == "2"
        client.send("x", (320, "Q3"), (559, 3))
        assert client.receive().get(560) == "1"


def test_a_definition_is_given_or_refused(bench):
    with bench.initiator() as client:
        client.send("c", (320, "Q1"), (321, 0), (55, "LUM"))
        answer = client.receive()
        assert [answer.get(tag) for tag in (35, 320, 323, 55)] == [
            "d",
            "Q1",
            "1",
            "LUM",
        ]
        for symbol in ("NIX", "HID"):
            client.send("c", (320, "Q2"), (321, 0), (55, symbol))
            answer = client.receive()
            assert [answer.get(tag) for tag in (35, 323, 55)] == ["d", "6", ""]
            assert answer.get(58).startswith("Unknown symbol")
        client.send("c", (320, "Q3"), (321, 3))
        assert client.receive().get(323) == "5"


def test_a_list_that_is_watched_comes_again_when_it_changes(bench):
    hidden = book_of(bench, "HID")
    with bench.initiator() as client:
        client.send("x", (320, "Q1"), (559, 4), (263, 1))
        before = int(client.receive().get(393))
        [session] = bench.sessions.live.values()
        bench.call(bench.sessions.look)
        assert client.receive(QUIET_SECONDS) is None
        session.admission.caller = caller([hidden.issuer_id])
        bench.call(bench.sessions.look)
        again = client.receive()
        assert [again.get(tag) for tag in (35, 320)] == ["y", "Q1"]
        assert int(again.get(393)) == before + 1
        client.send("x", (320, "Q1"), (559, 4), (263, 2))
        until(lambda: not session.standing.standing)
        session.admission.caller = caller()
        bench.call(bench.sessions.look)
        assert client.receive(QUIET_SECONDS) is None


def test_states_follow_each_snapshot_and_change(bench):
    hidden = book_of(bench, "HID")
    with bench.initiator(granted=[hidden.issuer_id]) as client:
        client.hears_states = True
        client.send("V", *market_data_request("R1", "HID"))
        assert client.receive().type == "W"
        state = client.receive()
        assert [state.get(tag) for tag in (35, 55, 325, 326)] == ["f", "HID", "Y", "17"]
        client.send("e", (324, "S1"), (55, "HID"), (263, 1))
        assert [client.receive().get(t) for t in (324,)] == ["S1"]
        client.send("g", (335, "G1"), (263, 1))
        session = client.receive()
        assert [session.get(tag) for tag in (35, 335, 336, 340)] == [
            "h", "G1", "DAY", "2"
        ]  # fmt: skip
        for lag, code, market in ((-60, "20", "0"), (math.inf, "17", "2")):
            bench.feed.looked_at = time.monotonic() + lag
            bench.call(bench.sessions.look)
            told = [client.receive() for _ in range(3)]
            assert sorted(one.get(326) or one.get(340) for one in told) == sorted(
                [code, code, market]
            )
        (live,) = bench.sessions.live.values()
        live.admission.caller = caller()
        bench.call(bench.sessions.look)
        told = {}
        for _ in range(4):
            message = client.receive()
            told[message.type, message.get(324)] = message
        assert told["W", ""].get(268) == "0"
        assert told["f", ""].get(326) == "18"
        assert told["f", "S1"].get(326) == "20"
        assert told["B", ""].get(148) == "HID: subscription ended"


def test_phases_of_a_market_of_ours_are_told_as_states(bench):
    hidden = book_of(bench, "HID")
    usual = hidden.facts
    with bench.initiator(granted=[hidden.issuer_id]) as client:
        client.hears_states = True
        client.send("V", *market_data_request("R1", "HID"))
        assert [client.receive().type for _ in range(2)] == ["W", "f"]
        for phase, reason, state in (
            ("CLOSED", "", ["18", "The market is closed: its session has ended or"]),
            ("HALTED", "News", ["2", "The market is halted: News"]),
            (
                "AT_LAST",
                "",
                ["17", "Orders trade at the price of the last auction only."],
            ),
            ("CONTINUOUS", "", ["17", ""]),
        ):
            hidden.describe(*usual._replace(phase=phase, halt_reason=reason))
            bench.feed.described += 1
            bench.call(bench.sessions.look)
            told = client.receive()
            assert [told.get(tag) for tag in (35, 325, 326)] == ["f", "Y", state[0]]
            assert told.get(58).startswith(state[1])
    hidden.describe(*usual)


def test_a_bust_takes_its_trade_away(bench):
    book = book_of(bench, "ORB")
    usual = book.facts
    with bench.initiator() as client:
        book.describe(*usual._replace(busts=[[0, 900]]))
        client.send("V", *market_data_request("R1", "ORB", entry_types="012"))
        # Busts before the first W are not sent.
        assert client.receive().type == "W"
        book.describe(*usual._replace(busts=[[0, 900], [book.last_trade, 1_234]]))
        bench.feed.described += 1
        bench.call(bench.sessions.look)
        told = client.receive()
        assert [told.get(tag) for tag in (35, 268, 279, 269, 278, 55, 270)] == [
            "X", "1", "2", "2", str(book.last_trade), "ORB", "12.34"
        ]  # fmt: skip
        bench.call(bench.sessions.look)
        assert client.receive(QUIET_SECONDS) is None
    book.describe(*usual)


def test_a_state_of_what_may_not_be_seen_is_that_of_what_is_not_there(bench):
    with bench.initiator() as client:
        client.hears_states = True
        texts = []
        for symbol in ("NIX", "HID"):
            client.send("e", (324, "S1"), (55, symbol), (263, 0))
            texts.append(client.receive())
        assert [t.get(326) for t in texts] == ["20", "20"]
        assert texts[0].get(58) == texts[1].get(58)
        client.send("g", (335, "G1"), (336, "NIGHT"), (263, 0))
        answer = client.receive()
        assert [answer.get(tag) for tag in (340, 567)] == ["6", "1"]


ORDER = [(11, "o1"), (55, "LUM"), (54, 1), (60, "20261120-10:00:00"), (40, 1), (38, 1)]


def test_an_order_is_refused_for_what_it_is(bench):
    with bench.initiator() as client:
        client.send("D", *ORDER)
        assert body_of(client.receive()) == (
            "35=j|45=2|372=D|379=o1|380=3|"
            "58=read-only market data session: this message type is not supported"
        )


AT, NAMED = "20261120-10:00:00", (55, "LUM")


@pytest.mark.parametrize(
    ("message_type", "fields"),
    [
        ("AF", [(584, "id-1"), (585, 7)]),
        ("AE", [(571, "id-1"), (570, "N"), NAMED, (32, 1), (31, 1), (75, AT[:8]),
                (60, AT), (552, 1), (54, 1), (37, "o")]),
        ("a", [(649, "id-1"), NAMED]),
        ("a", [(117, "id-1"), NAMED]),
        ("BB", [(909, "id-1")]),
        ("J", [(70, "id-1"), (71, 0), (626, 1), (857, 0), (54, 1), NAMED, (53, 1),
               (6, 1), (75, AT[:8])]),
    ],
)  # fmt: skip
def test_a_refusal_names_the_id_that_was_given(bench, message_type, fields):
    with bench.initiator() as client:
        client.send(message_type, *fields)
        answer = client.receive()
        named = [answer.get(tag) for tag in (35, 372, 379, 380)]
        assert named == ["j", message_type, "id-1", "3"]


def test_an_id_that_is_too_long_is_refused_with_the_limit(bench):
    with bench.initiator() as client:
        client.send("V", *market_data_request("x" * 37, "LUM"))
        assert body_of(client.receive()) == (
            f"35=j|45=2|372=V|379={'x' * 37}|380=0|"
            "58=MDReqID(262) must be 1 to 36 printable ASCII characters"
        )
        client.send("x", (320, "y" * 37), (559, 4))
        assert body_of(client.receive()) == (
            f"35=j|45=3|372=x|379={'y' * 37}|380=0|"
            "58=SecurityReqID(320) must be 1 to 36 printable ASCII characters"
        )


@pytest.mark.parametrize(
    ("message_type", "fields", "answer"),
    [
        ("ZZ", [(58, "what is this")], {372: "ZZ", 373: "11"}),
        ("V", [(262, "R1")], {372: "V", 373: "1"}),
        ("V", market_data_request("R1", "LUM", t263=7), {371: "263", 373: "5"}),
        ("V", market_data_request("R1", "LUM", t83=1), {371: "83", 373: "2"}),
    ],
)
def test_what_breaks_fix_is_rejected(bench, message_type, fields, answer):
    with bench.initiator() as client:
        client.send(message_type, *fields)
        message = client.receive()
        assert message.type == "3"
        assert {tag: message.get(tag) for tag in answer} == answer


def test_after_a_gap_each_book_comes_anew():
    lum, orb = new_book("LUM"), new_book("ORB")
    with running_engine([lum, orb]) as bench, bench.initiator() as client:
        client.send("V", *market_data_request("R", "LUM", "ORB", entry_types="0"))
        assert {client.receive().get(55) for _ in range(2)} == {"LUM", "ORB"}
        bench.change(lum, [(0, 990, 5)])
        assert client.receive().type == "X"
        # As if it had not arrived: the next message shows the gap.
        client.expected -= 1
        client.send("1", (112, "gap"))
        again = [client.receive() for _ in range(2)]
        assert client.gaps == 1
        assert [(message.type, message.get(262)) for message in again] == [
            ("W", "R"),
            ("W", "R"),
        ]
        bids = {m.get(55): [entry[270] for entry in m.group(268)] for m in again}
        assert bids == {"LUM": ["10.00", "9.90"], "ORB": ["10.00"]}
        bench.change(lum, [(0, 980, 7)])
        [update] = client.receive().group(268)
        assert (update[279], update[270]) == ("0", "9.80")


def test_trades_that_wait_at_a_gap_come_after_the_book():
    lum = new_book("LUM")
    with running_engine([lum]) as bench, bench.initiator() as client:
        client.send("V", *market_data_request("R", "LUM", entry_types="02"))
        assert client.receive().type == "W"
        session = bench.sessions.live[client.sender]
        [subscription] = session.subscriptions.all()
        with bench.held():
            bench.trade(lum, 3)
            session.on_gap(1, 1)
        book, trades = client.receive(), client.receive()
        assert [entry[269] for entry in book.group(268)] == ["0"]
        assert [entry[278] for entry in trades.group(268)] == ["1", "2", "3"]


def test_what_was_lost_before_an_answered_test_request_is_sent_again():
    """The client reports a gap, then answers a TestRequest from behind it."""
    lum = new_book("LUM")
    with running_engine([lum]) as bench, bench.initiator() as client:
        client.send("V", *market_data_request("R", "LUM", entry_types="02"))
        assert client.receive().type == "W"
        session = bench.sessions.live[client.sender]
        bench.trade(lum, 1)
        lost = client.receive()
        bench.trade(lum, 1)
        assert trades_of(client.receive()) == ["2"]
        with bench.held():
            probe = session.window.new_probe(time.monotonic())
            session.on_gap(lost.sequence, lost.sequence + 2)
            assert session.on_heartbeat(probe)
        again = [client.receive() for _ in range(2)]
        assert [message.type for message in again] == ["W", "X"]
        assert trades_of(again[1]) == ["1", "2"]


def lose(client: Initiator, messages: int) -> None:
    """Act as if the last messages had not arrived: the next one shows the gap."""
    client.expected -= messages
    client.send("1", (112, "gap"))


def trades_of(*messages: Message) -> list[str]:
    return [e[278] for m in messages for e in m.group(268) if e[269] == "2"]


def test_trades_of_a_gap_are_told_after_the_book():
    lum = new_book("LUM")
    with running_engine([lum]) as bench, bench.initiator() as client:
        client.send("V", *market_data_request("R", "LUM", entry_types="02"))
        assert client.receive().type == "W"
        seen = []
        for _ in range(4):
            bench.trade(lum, 1)
            seen += trades_of(client.receive())
        assert seen == ["1", "2", "3", "4"]
        lose(client, 2)
        book, trades = client.receive(), client.receive()
        assert [book.type, trades.type] == ["W", "X"]
        assert trades_of(book, trades) == ["3", "4"]
        # Repeated trades may also be lost.
        lose(client, 1)
        assert trades_of(client.receive(), client.receive()) == ["3", "4"]
        bench.trade(lum, 1)
        assert trades_of(client.receive()) == ["5"]


def test_busts_of_a_gap_are_told_again():
    lum = new_book("LUM")
    usual = lum.facts
    with running_engine([lum]) as bench, bench.initiator() as client:
        bench.trade(lum, 2)
        client.send("V", *market_data_request("R", "LUM", entry_types="02"))
        assert client.receive().type == "W"
        lum.describe(*usual._replace(busts=[[2, 900]]))
        bench.changed(lum)
        assert trades_of(client.receive()) == ["2"]
        lose(client, 1)
        book, bust = client.receive(), client.receive()
        assert [(e[269], e[279], e[278]) for e in bust.group(268)] == [("2", "2", "2")]
        assert trades_of(book) == []


def test_a_first_book_that_is_lost_comes_as_the_first():
    lum = new_book("LUM")
    with running_engine([lum]) as bench, bench.initiator() as client:
        bench.trade(lum, 1)
        client.send("V", *market_data_request("R", "LUM", entry_types="02"))
        client.receive()
        bench.trade(lum, 1)
        assert trades_of(client.receive()) == ["2"]
        # The W, its state and the X.
        lose(client, 3)
        [entry] = [e for e in client.receive().group(268) if e[269] == "2"]
        assert entry[270] == "0.02"
        bench.trade(lum, 1)
        assert trades_of(client.receive()) == ["3"]


def test_what_the_client_has_read_is_not_told_again(bench):
    """A Heartbeat that answers a TestRequest acknowledges what was read."""
    book = book_of(bench, "ORB")
    with bench.initiator() as client:
        client.send("V", *market_data_request("R", "ORB", entry_types="02"))
        assert client.receive().type == "W"
        live = bench.sessions.live[client.sender]
        bench.trade(book, 1)
        assert client.receive().type == "X"
        live.window.sent += PROBE_BYTES
        bench.trade(book, 1)
        assert client.receive().type == "X"
        until(lambda: client.receive(0.05) is None and not live.window.probe)
        bench.trade(book, 1)
        [last] = trades_of(client.receive())
        lose(client, 1)
        assert client.receive().type == "W"
        assert trades_of(client.receive()) == [last]


def test_a_gap_is_filled_not_sent_again(bench):
    with bench.client() as client:
        client.hears_states = True
        client.snapshots(["LUM"])
        assert client.receive().type == "f"
        client.expected -= 1
        client.send("2", (7, 1), (16, 0))
        until(lambda: client.receive(0.05) is None and client.gaps == 1)


@pytest.mark.parametrize(
    ("first", "last", "wrong"),
    [(0, 0, 7), (3, 0, 7), (2**31 - 1, 0, 7), (2, 1, 16)],
)
def test_a_resend_of_what_was_never_sent_is_rejected(bench, first, last, wrong):
    client = bench.initiator()
    with logged_on(client, bench) as session:
        client.send("x", (320, "Q1"), (559, 4))
        assert client.receive().sequence == 2
        client.send("2", (7, first), (16, last))
        reject = client.receive()
        told = [reject.get(tag) for tag in (35, 34, 45, 371, 373)]
        assert told == ["3", "3", "3", str(wrong), "5"]
        client.send("2", (7, 1), (16, 0))
        client.send("x", (320, "Q2"), (559, 4))
        # The gap fill takes no number.
        assert client.receive().sequence == session.outbound.number - 1 == 4


@pytest.mark.parametrize(
    ("limit", "count", "text"),
    [
        (3, 4, TOO_MANY_EARLY),
        (MOST_EARLY, 2 * MESSAGES_BURST, TOO_MANY_MESSAGES.format(per_second=20)),
    ],
)
def test_messages_that_wait_for_a_missing_one_are_bounded(
    bench, monkeypatch, limit, count, text
):
    """The engine would keep them without a limit."""
    monkeypatch.setattr("marketdata.fix.acceptor.session.MOST_EARLY", limit)
    client = bench.initiator()
    with logged_on(client, bench):
        # One is missing.
        client.sent += 1
        for _ in range(count):
            client.send("0")
        assert until_logout(client) == ([], text)


def test_an_ended_session_is_told_why_and_may_come_back(bench):
    client = bench.initiator()
    with logged_on(client, bench):
        bench.call(bench.sessions.end, client.sender, "The key was revoked.")
        assert until_logout(client) == ([], "The key was revoked.")
    until(lambda: not bench.sessions.live)
    status = bench.sessions.status()[client.sender]
    assert status.connected_since is None
    assert status.last_logout_reason == "The key was revoked."
    bench.call(bench.sessions.end, client.sender, "No one is there.")
    with bench.client() as again:
        again.snapshots(["LUM"])


def test_who_sends_too_much_is_logged_out(bench, settings):
    # What it is allowed anew while it sends is less than what it sends.
    settings.FIX_MESSAGES_PER_SECOND = 1
    client = bench.initiator()
    client.logon()
    for n in range(60):
        client.send("x", (320, f"Q{n}"), (559, 0), (55, "NIX"))
    answers, reason = until_logout(client)
    assert reason.startswith("more than 1 messages a second")
    assert len(answers) <= 52


def test_rejected_messages_count_too(bench, settings):
    # What it is allowed anew while it sends is less than what it sends.
    settings.FIX_MESSAGES_PER_SECOND = 1
    client = bench.initiator()
    client.logon()
    for _ in range(60):
        client.send("ZZ", (58, "noise"))
    answers, reason = until_logout(client)
    assert reason.startswith("more than 1 messages a second")
    assert {answer.type for answer in answers} == {"3"}


def test_status_tells_how_a_session_fares(bench):
    client = bench.initiator()
    before = bench.sessions.status()[client.sender].messages_sent
    with logged_on(client, bench):
        client.hears_states = True
        client.send("V", *market_data_request("R1", "LUM"))
        assert [client.receive().type for _ in "Wf"] == ["W", "f"]
        status = bench.sessions.status()[client.sender]
        assert status.connected_since <= status.last_heartbeat_at
        assert status.messages_sent == before + 2
        # Text(58) goes into a table, which takes no NUL.
        client.logout("good\0 night")
    until(lambda: not bench.sessions.live)
    reason = "logged out by the partner: good? night"
    assert bench.sessions.status()[client.sender] == (None, None, before + 2, reason)


def test_a_session_whose_sending_fails_is_ended(bench):
    client = bench.initiator()
    with logged_on(client, bench) as session:
        client.send("V", *market_data_request("R", "LUM"))
        assert client.receive().type == "W"
        # No code here does this.
        [subscription] = session.subscriptions.all()
        subscription.shown = 1
        bench.change(book_of(bench, "LUM"), [(0, 999, 5)])
        assert until_logout(client) == ([], INTERNAL_ERROR)


def test_a_logon_that_the_engine_refuses_is_sent_nothing_more(bench):
    client = bench.initiator()
    client.connect()
    # PossDupFlag(43) must be Y or N.
    login = [(43, "x"), (98, 0), (108, 30), (141, "Y"), (554, client.key)]
    client.transmit("A", 1, login)
    until(lambda: bench.sessions.live)
    bench.call(bench.sessions.live[client.sender].notify, "News")
    until(lambda: not bench.sessions.live)
    assert client.socket.recv(1) == b""
    client.socket.close()


def test_an_ended_session_is_not_asked_whether_it_lives(bench):
    client = bench.initiator()
    with logged_on(client, bench) as session:
        bench.call(session.end_now, "over")
        number = session.outbound.number
        bench.call(session.test)
        assert session.outbound.number == number


def test_a_lost_connection_frees_its_comp_id(bench):
    client = bench.client()
    with logged_on(client, bench):
        client.snapshots(["LUM"])
    until(lambda: not bench.sessions.live)
    reason = bench.sessions.status()[client.sender].last_logout_reason
    assert reason == "the connection was lost"
    assert bench.conflation.watched == {}
    with bench.client() as again:
        again.snapshots(["LUM"])


def test_an_engine_that_stops_says_goodbye():
    with running_engine([new_book("LUM")]) as bench:
        client = bench.initiator()
        client.logon()
        until(lambda: bench.sessions.live)
    [notice], reason = until_logout(client)
    assert reason == "The test is over."
    assert [notice.get(tag) for tag in (35, 148, 58)] == [
        "B", "The acceptor stops", "The test is over."
    ]  # fmt: skip
