"""What the reading of reports costs where there are many orders."""

from collections.abc import Iterator
from typing import Any

import orjson
from django.db import connection

from marketdata.fix.acceptor.reports import AT_ONCE, REPORTS, Place, read_reports
from marketdata.fix.protocol.executions import TYPES
from tests.marketdata.fix.trader import Trader
from tests.owner import tamper

COPIES, APART = 400, 100_000
MULTIPLY = """
    INSERT INTO {table} SELECT (jsonb_populate_record(r, jsonb_build_object({new}))).*
    FROM {table} r, generate_series(1, {copies}) AS n
    WHERE {column} = '{value}'
"""
OTHER = "md5({}::text || n)::uuid"
NEW = {
    "trading_order": {"id": OTHER.format("r.id"), "client_order_id": "NULL"},
    "trading_orderevent": {
        "number": f"r.number + n * {APART}",
        "order_id": OTHER.format("r.order_id"),
        "trade": f"r.trade + n * {APART}",
    },
    "trading_execution": {
        "sequence": f"r.sequence + n * {APART}",
        "ledger_seq": f"r.ledger_seq + n * {APART}",
        "cash_transaction": f"r.cash_transaction + n * {APART}",
        "buy_order_id": OTHER.format("r.buy_order_id"),
        "sell_order_id": OTHER.format("r.sell_order_id"),
        "event": f"r.event + n * {APART}",
    },
    "issuers_event": {
        "id": OTHER.format("r.id"),
        "sequence": f"r.sequence + n * {APART}",
        "subject_id": OTHER.format("r.subject_id"),
        "order_event": f"r.order_event + n * {APART}",
        "trade": f"r.trade + n * {APART}",
    },
}
"""By table the columns that differ in a copy of a row."""


def multiply(trader: Trader) -> None:
    """Copy the orders of a partner and all that is of them, many times."""
    for table, columns in NEW.items():
        new = ", ".join(f"'{name}', {value}" for name, value in columns.items())
        of_partner = table == "issuers_event"
        column = "partner_id" if of_partner else "token_id"
        value = trader.partner.pk if of_partner else trader.token.pk
        tamper(
            MULTIPLY.format(
                table=table, new=new, copies=COPIES, column=column, value=value
            )
        )
    tamper(
        "UPDATE issuers_eventhead SET last_sequence = (SELECT max(sequence) FROM "
        f"issuers_event WHERE partner_id = '{trader.partner.pk}') "
        f"WHERE partner_id = '{trader.partner.pk}'"
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT partnerapi_analyze(%s)", [[*NEW, "trading_bust"]])


def nodes_of(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes_of(inner)


def rows_read(places: list[Place]) -> dict[str, float]:
    """By table how many rows the statement has read, also those it left out."""
    values = [
        list(range(len(places))),
        [place.partner_id for place in places],
        [place.after for place in places],
        list(TYPES),
        AT_ONCE,
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {REPORTS}", values)
        [[plan]] = cursor.fetchall()
    [root] = orjson.loads(plan) if isinstance(plan, str) else plan
    read: dict[str, float] = {}
    for node in nodes_of(root["Plan"]):
        if table := node.get("Relation Name"):
            rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            read[table] = read.get(table, 0) + rows * node["Actual Loops"]
    return read


def test_rows_that_are_read_grow_with_the_reports_only(trader: Trader):
    for _ in range(20):
        trader.trade()
    partner_id = str(trader.partner.pk)
    multiply(trader)
    events = trader.events()
    assert len(events) == 80 * (COPIES + 1)
    middle = events[len(events) // 2]
    for places in (1, 20):
        asked = [Place(partner_id, middle)] * places
        batches = read_reports(asked)
        assert [len(one.reports) for one in batches if one] == [AT_ONCE] * places
        read = rows_read(asked)
        most = 3 * AT_ONCE * places
        assert {table: rows for table, rows in read.items() if rows > most} == {}, read
        assert read["issuers_event"] >= AT_ONCE * places
