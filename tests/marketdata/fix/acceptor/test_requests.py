"""A MarketDataRequest is accepted in full or not at all."""

from uuid import uuid4

import pytest

from marketdata.books.livebook import LiveBook
from marketdata.fix.acceptor.requests import (
    Directory,
    InstrumentKey,
    MarketDataRequest,
    RequestRefused,
    is_request_id,
    requested_books,
)

LUM = LiveBook(uuid4(), "LUM", "FR0000120271", "Lumen", str(uuid4()), True)
ORB = LiveBook(uuid4(), "ORB", None, "Orbit", str(uuid4()), True)
REQUEST = MarketDataRequest(
    "R1", "1", 0, "1", "", ("0", "1", "2"), (InstrumentKey("LUM"),)
)


def asked_for(active=None, books=(LUM, ORB), **fields):
    request = REQUEST._replace(**fields)
    return requested_books(request, active or {}, Directory(books))


def refusal(active=None, books=(LUM, ORB), **fields):
    with pytest.raises(RequestRefused) as refused:
        asked_for(active, books, **fields)
    return refused.value.reason, str(refused.value)


@pytest.mark.parametrize(
    "named",
    [
        InstrumentKey("ORB"),
        InstrumentKey("[N/A]", str(ORB.token_id), "8"),
        InstrumentKey("ORB", "what else is said does not matter", "4"),
    ],
)
def test_finds_an_instrument_by_its_symbol_or_its_id(named):
    assert asked_for(instruments=(named,)) == [ORB]


def test_finds_an_instrument_by_its_isin():
    assert asked_for(instruments=(InstrumentKey("[N/A]", "FR0000120271", "4"),)) == [
        LUM
    ]


def test_an_instrument_named_twice_is_subscribed_once():
    named = (
        InstrumentKey("LUM"),
        InstrumentKey("ORB"),
        InstrumentKey("[N/A]", "FR0000120271", "4"),
    )
    assert asked_for(instruments=named) == [LUM, ORB]


@pytest.mark.parametrize(
    "named",
    [
        InstrumentKey("NIX"),
        InstrumentKey("[N/A]", "FR0000120271", "8"),
        InstrumentKey("[N/A]"),
        InstrumentKey("lum"),
    ],
)
def test_one_unknown_instrument_refuses_all(named):
    reason, text = refusal(instruments=(InstrumentKey("LUM"), named))
    assert reason == "0"
    assert text.startswith("Unknown symbol")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"depth": -1}, "5"),
        ({"depth": 51}, "5"),
        ({"update_type": ""}, "6"),
        ({"aggregated": "N"}, "7"),
        ({"entry_types": ("0", "6")}, "8"),
        ({"entry_types": ()}, "8"),
        ({"instruments": ()}, "0"),
        ({"instruments": tuple(InstrumentKey(f"T{n}") for n in range(51))}, "2"),
    ],
)
def test_a_value_out_of_the_rules_is_refused_with_its_reason(fields, reason):
    assert refusal(**fields)[0] == reason


@pytest.mark.parametrize("depth", [0, 1, 50])
def test_accepts_depths_to_fifty(depth):
    assert asked_for(depth=depth) == [LUM]


@pytest.mark.parametrize("update_type", ["", "0", "1"])
def test_a_single_snapshot_needs_no_update_type(update_type):
    assert asked_for(action="0", update_type=update_type) == [LUM]


def test_an_active_request_id_is_refused():
    assert refusal({"R1": 1}) == (
        "1",
        "MDReqID(262) is in use by a subscription of this session: R1",
    )


def test_the_two_hundredth_subscription_is_the_last():
    assert asked_for({"other": 199}) == [LUM]
    reason, text = refusal({"other": 150, "more": 50})
    assert reason == "2"
    assert text.endswith(": this would be subscription number 201")


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("R1", True), ("x" * 36, True), ("x" * 37, False), ("", False), ("é", False)],
)
def test_a_request_id_is_short_printable_ascii(text, is_one):
    assert is_request_id(text) is is_one
