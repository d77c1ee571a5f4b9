"""ExecutionReports as text, judged by FIX's stock dictionary and by our own rules."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from marketdata.fix.protocol.executions import (
    TYPES,
    Execution,
    average,
    execution_report,
    request_answer,
)
from tests.marketdata.fix.stock import fields_of

ORDER, ACCOUNT = (UUID(int=number) for number in (1, 2))
AT = datetime(2026, 11, 20, 9, 8, 7, 65_999, UTC)
BASE = Execution(
    sequence=7,
    type="ORDER_ACCEPTED",
    at=AT,
    order=ORDER,
    account=ACCOUNT,
    client_order_id="mine-1",
    identity="55=LUM\x0148=FR0000120271\x0122=4\x01",
    side=0,
    time_in_force="GTD",
    expires_at=AT,
    last_price=1005,
    last_quantity=10,
    trade=None,
    is_maker=None,
    busts=None,
    state="ORDER_ACCEPTED",
    filled=0,
    remaining=10,
    value=0,
    busted=0,
    busted_value=0,
    text="",
)


def told(**changed: object) -> dict[int, str]:
    return dict(fields_of("8", execution_report(BASE._replace(**changed))))  # type: ignore[arg-type]


def test_an_accepted_order_has_its_terms():
    assert fields_of("8", execution_report(BASE)) == [
        (37, f"Order|{ORDER}"), (11, "mine-1"), (17, "7"), (150, "0"), (39, "0"),
        (1, f"Account|{ACCOUNT}"), (55, "LUM"), (48, "FR0000120271"), (22, "4"),
        (54, "1"), (38, "10"), (40, "2"), (44, "10.05"), (15, "EUR"), (59, "6"),
        (126, "20261120-09:08:07.065"), (151, "10"), (14, "0"), (6, "0"),
        (60, "20261120-09:08:07.065"),
    ]  # fmt: skip


def test_a_trade_has_its_number_and_what_is_left():
    fields = told(
        type="ORDER_TRADED", state="ORDER_TRADED", trade=3, is_maker=True,
        last_quantity=4, filled=7, remaining=3, value=7_001, time_in_force="GTC",
    )  # fmt: skip
    assert [fields.get(tag) for tag in (150, 39, 527, 32, 31, 151, 14, 6, 851)] == [
        "F", "1", "3", "4", "10.05", "3", "7", "10.001429", "1",
    ]  # fmt: skip
    assert 44 not in fields
    assert 126 not in fields


@pytest.mark.parametrize(
    ("type_", "exec_type", "status"),
    [("ORDER_CANCELLED", "4", "4"), ("ORDER_EXPIRED", "C", "C")],
)
def test_an_order_that_has_ended_has_nothing_left(type_, exec_type, status):
    fields = told(type=type_, state=type_, last_price=None, last_quantity=None,
                  filled=4, remaining=6, value=400, text="Très tard.")  # fmt: skip
    assert [fields.get(tag) for tag in (150, 39, 38, 151, 14, 6, 58)] == [
        exec_type, status, "10", "0", "4", "1.000000", "Tres tard.",
    ]  # fmt: skip


def test_a_bust_is_taken_off_and_names_its_trade():
    fields = told(type="TRADE_BUSTED", state="ORDER_TRADED", trade=3, busts=5,
                  last_quantity=4, filled=10, remaining=0, value=10_000, busted=4,
                  busted_value=4_000)  # fmt: skip
    assert [fields.get(tag) for tag in (150, 39, 19, 527, 32, 151, 14, 6)] == [
        "H", "2", "5", "3", "4", "0", "6", "10.000000",
    ]  # fmt: skip
    assert 851 not in fields


def test_an_amended_order_has_its_new_terms():
    fields = told(type="ORDER_AMENDED", state="ORDER_AMENDED", last_price=990,
                  filled=2, remaining=3, value=2_010)  # fmt: skip
    assert [fields.get(tag) for tag in (150, 39, 38, 44, 151, 14)] == [
        "5", "1", "5", "9.90", "3", "2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "quantity", "text"),
    [
        (0, 0, "0"),
        (100, 3, "0.333333"),
        (200, 3, "0.666667"),
        (10**15, 1, f"{10**13}.000000"),
    ],
)
def test_an_average_is_rounded_to_a_millionth(value, quantity, text):
    assert average(value, quantity) == text


def test_a_request_is_accepted_or_refused_with_a_reason():
    accepted = fields_of("AQ", request_answer("R", "1"))
    assert accepted == [
        (568, "R"), (569, "1"), (749, "0"), (750, "0"), (55, "[N/A]")
    ]  # fmt: skip
    refused = dict(fields_of("AQ", request_answer("R", "1", "99", "Nö")))
    assert [refused[tag] for tag in (749, 750, 58)] == ["99", "2", "No"]


def test_all_types_of_events_of_orders_are_reported():
    from issuers.models.events import EventType

    named = {t for t in EventType if t.startswith(("ORDER_", "TRADE_"))}
    # It says what will happen; the order itself has not changed.
    others = {EventType.ORDER_ENDS_AT_OPENING, EventType.TRADE_BUST_REQUESTED}
    assert set(TYPES) == named - others
