"""Our messages as text, judged by FIX's stock dictionary and by our own rules."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from marketdata.books.livebook import Facts, LiveBook, TradeRow
from marketdata.books.orderbook import (
    ASK,
    BID,
    CHANGE,
    DELETE,
    NEW,
    Ladder,
    Level,
    Update,
)
from marketdata.fix.protocol import instruments, messages, statuses
from tests.marketdata.fix.stock import fields_of

TOKEN_ID = UUID("018f3c1e-0000-7000-8000-000000000001")
LUMEN = Facts(
    symbol="LUM",
    isin="FR0000120271",
    name="Société Lumière",
    issuer_id="",
    is_public=True,
    issuer_name="Lumière",
    authorized_units=5000,
    country="FR",
)
ORBIT = Facts(
    symbol="ORB",
    isin=None,
    name="Orb\x01Ω",
    issuer_id="",
    is_public=True,
    issuer_name="Orbit",
    class_type="PREFERRED",
    votes_per_share=0,
)
LUM, ORB = LiveBook(TOKEN_ID, *LUMEN), LiveBook(TOKEN_ID, *ORBIT)
LADDER = Ladder((Level(99, 5), Level(7, 3)), (Level(1_000_000_05, 1),))
BOTH = frozenset("01")
AT = datetime(2026, 11, 20, 9, 8, 7, 65_999, UTC)
STAMP = "272=20261120|273=09:08:07.065|"


def pieces(body: str) -> list[str]:
    return body.replace("\x01", "|").split("|")[:-1]


def test_a_snapshot_has_bids_then_asks_each_with_its_rank():
    rest = messages.full_refresh(instruments.identity(LUM), LADDER, AT, BOTH)
    body = messages.named("R1") + rest
    fields_of("W", body)
    assert body.replace("\x01", "|") == (
        "262=R1|55=LUM|48=FR0000120271|22=4|268=3|"
        f"269=0|270=0.99|15=EUR|271=5|{STAMP}290=1|"
        f"269=0|270=0.07|15=EUR|271=3|{STAMP}290=2|"
        f"269=1|270=1000000.05|15=EUR|271=1|{STAMP}290=1|"
    )


def test_a_snapshot_has_only_the_sides_that_were_asked_for():
    rest = messages.full_refresh(instruments.identity(LUM), LADDER, AT, frozenset("1"))
    fields = fields_of("W", messages.named("R1") + rest)
    assert [value for tag, value in fields if tag == 269] == ["1"]


def test_an_empty_book_is_a_snapshot_without_entries():
    rest = messages.full_refresh(instruments.identity(ORB), Ladder((), ()), None, BOTH)
    body = messages.named("R1") + rest
    fields_of("W", body)
    assert pieces(body) == ["262=R1", "55=ORB", f"48={TOKEN_ID}", "22=8", "268=0"]


def test_an_increment_names_levels_by_side_and_price():
    updates = [
        Update(DELETE, BID, 99, 0),
        Update(NEW, ASK, 1234, 10),
        Update(CHANGE, BID, 100, 7),
    ]
    rest = messages.incremental_refresh(messages.level_entries("LUM", updates, AT))
    body = messages.named("R1") + rest
    fields_of("X", body)
    assert body.replace("\x01", "|") == (
        f"262=R1|268=3|279=2|269=0|55=LUM|270=0.99|{STAMP}"
        f"279=0|269=1|55=LUM|270=12.34|15=EUR|271=10|{STAMP}"
        f"279=1|269=0|55=LUM|270=1.00|15=EUR|271=7|{STAMP}"
    )


def test_a_trade_is_a_new_entry_with_its_number_and_instant():
    trade = TradeRow(42, 1005, 3, AT)
    rest = messages.incremental_refresh(messages.trade_entries("LUM", [trade]))
    body = messages.named("R1") + rest
    fields_of("X", body)
    assert body.replace("\x01", "|") == (
        f"262=R1|268=1|279=0|269=2|278=42|55=LUM|270=10.05|15=EUR|271=3|{STAMP}"
    )


def test_figures_of_the_day_have_a_price_or_a_volume():
    entries = [
        messages.figure_update("LUM", NEW, messages.VWAP, 1005, AT),
        messages.figure_update("LUM", CHANGE, messages.VOLUME, 40, AT),
    ]
    body = messages.named("R1") + messages.incremental_refresh(entries)
    fields_of("X", body)
    assert body.replace("\x01", "|") == (
        f"262=R1|268=2|279=0|269=9|55=LUM|270=10.05|15=EUR|{STAMP}"
        f"279=1|269=B|55=LUM|271=40|{STAMP}"
    )
    more = [
        messages.last_trade_entry(TradeRow(42, 1005, 3, AT)),
        messages.figure_entry(messages.VOLUME, 40, AT),
    ]
    rest = messages.full_refresh(
        instruments.identity(LUM), Ladder((), ()), AT, BOTH, more
    )
    body = messages.named("R1") + rest
    fields_of("W", body)
    assert body.replace("\x01", "|") == (
        "262=R1|55=LUM|48=FR0000120271|22=4|268=2|"
        f"269=2|270=10.05|15=EUR|271=3|{STAMP}269=B|271=40|{STAMP}"
    )


def test_the_books_number_follows_the_last_entry():
    rest = messages.incremental_refresh(
        messages.trade_entries("LUM", [TradeRow(1, 5, 3, AT)])
    )
    body = messages.named("R1") + rest + messages.numbering(77)
    assert pieces(body)[-2:] == ["273=09:08:07.065", "5083=77"]


@pytest.mark.parametrize("reason", [*"012345678"])
def test_a_request_reject_has_a_reason_that_fix_knows(reason):
    body = messages.request_reject("R1", reason, "Unknown symbol: Ä")
    fields_of("Y", body)
    assert pieces(body) == ["262=R1", f"281={reason}", "58=Unknown symbol: A"]


def test_a_list_of_instruments_is_plain_text():
    (body,) = instruments.security_list("Q", "A1", instruments.FOUND, [LUM, ORB], "")
    fields_of("y", body)
    assert body.replace("\x01", "|") == (
        "320=Q|322=A1|560=0|393=2|893=Y|146=2|"
        "55=LUM|48=FR0000120271|22=4|460=5|461=ESVUFR|470=FR|106=Lumiere|"
        "107=Societe Lumiere|870=3|871=99|872=TICK=0.01|871=99|872=AUTHORISED=5000|"
        "871=99|872=MARKET=FED|15=EUR|561=1|562=1|"
        f"55=ORB|48={TOKEN_ID}|22=8|460=5|461=EPNXXR|106=Orbit|107=Orb??|"
        "870=2|871=99|872=TICK=0.01|871=99|872=MARKET=FED|15=EUR|561=1|562=1|"
    )


def test_a_market_of_ours_has_limits_a_tick_and_a_lot():
    facts = ORBIT._replace(
        phase="CONTINUOUS",
        tick_cents=5,
        tick_table=[[1000, 10], [5000, 50]],
        lot_units=10,
        reference_price=1000,
        collar_bps=2000,
    )
    ours = LiveBook(TOKEN_ID, *facts)
    body = instruments.security_definition("Q", "A", "1", ours, "")
    fields_of("d", body)
    assert pieces(body)[-16:] == [
        *("870=6", "871=99", "872=TICK=0.05", "871=99", "872=TICK_FROM_10.00=0.10"),
        *("871=99", "872=TICK_FROM_50.00=0.50", "871=99", "872=FLOOR=8.00"),
        *("871=99", "872=CAP=12.00", "871=99", "872=MARKET=OWN"),
        *("15=EUR", "561=10", "562=10"),
    ]


def test_a_token_on_the_primary_market_has_no_book_yet():
    sold = LiveBook(TOKEN_ID, *ORBIT._replace(is_primary=True))
    body = instruments.security_definition("Q", "A", "1", sold, "")
    fields_of("d", body)
    assert "872=MARKET=PRIMARY" in pieces(body)


def test_a_market_with_an_identifier_names_it():
    (body,) = instruments.security_list("Q", "A1", instruments.FOUND, [LUM], "XPAR")
    assert (207, "XPAR") in fields_of("y", body)


def test_a_definition_has_the_instrument_or_a_reason():
    accepted = instruments.security_definition("Q", "A", "1", ORB, "")
    assert fields_of("d", accepted)[3:5] == [(55, "ORB"), (48, str(TOKEN_ID))]
    body = instruments.security_definition("Q", "A", "6", None, "", "Unknown")
    assert fields_of("d", body) == [
        (320, "Q"), (322, "A"), (323, "6"), (58, "Unknown")
    ]  # fmt: skip


def test_states_and_notices_are_known_to_the_dictionary():
    hidden = statuses.TradingStatus(statuses.NOT_AVAILABLE, "It left.")
    body = statuses.security_status(instruments.identity(LUM), hidden, AT)
    assert fields_of("f", body)[3:] == [
        (15, "EUR"), (325, "Y"), (326, "18"), (60, "20261120-09:08:07.065"),
        (58, "It left."),
    ]  # fmt: skip
    fields_of("f", statuses.security_status("55=NIX\x01", hidden, AT, "S1"))
    fields_of("h", statuses.session_status("G", "DAY", statuses.OPEN, ""))
    fields_of("h", statuses.session_status("G", "DAY", "6", "Unknown"))
    assert fields_of("B", statuses.news("Stop", ["At noon.", "For a minute."])) == [
        (148, "Stop"), (33, "2"), (58, "At noon."), (58, "For a minute.")
    ]  # fmt: skip


def test_a_long_list_comes_in_parts():
    many = [LiveBook(TOKEN_ID, *LUMEN._replace(symbol=f"T{n}")) for n in range(401)]
    parts = instruments.security_list("Q", "A1", instruments.FOUND, many, "")
    read = [dict(fields_of("y", part)) for part in parts]
    assert [(one[393], one[893], one[146]) for one in read] == [
        ("401", "N", "200"),
        ("401", "N", "200"),
        ("401", "Y", "1"),
    ]


def test_a_list_of_nothing_says_so():
    (body,) = instruments.security_list("Q", "A1", instruments.NONE_FOUND, [], "")
    fields_of("y", body)
    assert pieces(body) == ["320=Q", "322=A1", "560=2"]


@pytest.mark.parametrize("reference", ["", "order-1"])
def test_a_business_reject_names_what_it_rejects(reference):
    body = messages.business_reject("7", "D", reference)
    fields_of("j", body)
    named = ["379=order-1"] if reference else []
    text = "58=read-only market data session: this message type is not supported"
    assert pieces(body) == ["45=7", "372=D", *named, "380=3", text]


@pytest.mark.parametrize(
    ("cents", "text"),
    [(0, "0.00"), (5, "0.05"), (100, "1.00"), (10**15, f"{10**13}.00")],
)
def test_a_price_is_exact(cents, text):
    assert instruments.price(cents) == text
