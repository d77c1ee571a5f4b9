"""Reads the events of drop copies' partners, and makes their ExecutionReports (8).

The events are the truth, and a report a copy: whatever a session has to send or
repeat is read here.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from marketdata.fix.acceptor.outbound import Text, as_text
from marketdata.fix.protocol.executions import TYPES, Execution, execution_report
from marketdata.fix.protocol.instruments import identity_of
from marketdata.trading.in_force import OrderStatusReason
from partnerapi.core.database import rows_of

AT_ONCE, SESSIONS_AT_ONCE = 200, 20
"""Reports of a session that are read together, and sessions."""


class Head(NamedTuple):
    """The last event of a partner, and the last that is no longer kept."""

    last: int
    pruned: int


class Report(NamedTuple):
    """An ExecutionReport; `sequence` is its event's."""

    sequence: int
    text: Text


class Batch(NamedTuple):
    """What follows an event; `end` is the last event that was looked at."""

    head: Head
    reports: list[Report]
    end: int


NO_EVENTS = Head(0, 0)


class Place(NamedTuple):
    """Where a session is in the events of its partner."""

    partner_id: str
    after: int


def read_reports(places: Mapping[str, Place]) -> dict[str, Batch]:
    """The next reports of sessions, by CompID, in two statements.

    Those of SESSIONS_AT_ONCE at most: the others are left out.

    Raises:
        django.db.Error
    """
    heads = read_heads({place.partner_id for place in places.values()})
    head_of = {
        comp_id: heads.get(place.partner_id, NO_EVENTS)
        for comp_id, place in places.items()
    }
    behind = [c for c, place in places.items() if place.after < head_of[c].last]
    now = behind[:SESSIONS_AT_ONCE]
    found: dict[str, list[Report]] = {comp_id: [] for comp_id in now}
    if now:
        of = [
            [places[comp_id].partner_id for comp_id in now],
            [places[comp_id].after for comp_id in now],
            [head_of[comp_id].last for comp_id in now],
        ]
        for comp_id, *row in rows_of(REPORTS, [now, *of, list(TYPES), AT_ONCE]):
            found[comp_id].append(report_of(row))
    later = set(behind[SESSIONS_AT_ONCE:])
    return {
        comp_id: batch_of(head_of[comp_id], place.after, found.get(comp_id, []))
        for comp_id, place in places.items()
        if comp_id not in later
    }


def read_heads(partner_ids: Collection[str]) -> dict[str, Head]:
    return {one: Head(*row) for one, *row in rows_of(HEADS, [list(partner_ids)])}


def batch_of(head: Head, after: int, reports: list[Report]) -> Batch:
    is_whole = len(reports) < AT_ONCE
    end = max(after, head.last) if is_whole else reports[-1].sequence
    return Batch(head, reports, end)


def report_of(row: list[Any]) -> Report:
    *fields, symbol, isin, token_id, reason = row
    identity = identity_of(symbol, isin, token_id)
    text = OrderStatusReason(reason).meaning if reason else ""
    execution = Execution._make([*fields[:6], identity, *fields[6:], text])
    return Report(execution.sequence, as_text(execution_report(execution)))


HEADS = """
    SELECT partner_id::text, last_sequence, pruned_sequence FROM issuers_eventhead
    WHERE partner_id = ANY (%s::uuid[])
"""
REPORTS = """
    SELECT w.comp_id, e.sequence, e.type, e.at, e.subject_id, e.account_id,
        o.client_order_id, o.side, o.time_in_force, o.expires_at, e.price, e.quantity,
        e.trade, x.aggressor <> o.side, d.sequence, s.kind, s.filled, s.remaining,
        s.value, coalesce(b.units, 0)::bigint, coalesce(b.value, 0)::bigint,
        t.symbol, t.isin, e.token_id, e.reason
    FROM unnest(%s::text[], %s::uuid[], %s::bigint[], %s::bigint[])
        AS w (comp_id, partner_id, after, last)
    CROSS JOIN LATERAL (
        SELECT * FROM issuers_event v
        WHERE v.partner_id = w.partner_id AND v.sequence > w.after
            AND v.sequence <= w.last AND v.type = ANY (%s::text[])
        ORDER BY v.sequence LIMIT %s
    ) e
    JOIN trading_order o ON o.id = e.subject_id
    JOIN issuers_token t ON t.id = e.token_id
    CROSS JOIN LATERAL (
        SELECT * FROM trading_orderevent l
        WHERE l.order_id = e.subject_id AND l.number <= e.order_event
            AND l.filled IS NOT NULL
        ORDER BY l.number DESC LIMIT 1
    ) s
    LEFT JOIN LATERAL (
        SELECT sum(y.quantity) AS units, sum(y.quantity * y.price) AS value
        FROM trading_bust c JOIN trading_execution y
            ON y.token_id = c.token_id AND y.sequence = c.sequence
        WHERE c.token_id = e.token_id
            AND (y.buy_order_id = o.id AND c.event <= e.order_event
                OR y.sell_order_id = o.id AND c.event + 1 <= e.order_event)
    ) b ON TRUE
    LEFT JOIN trading_execution x ON x.token_id = e.token_id AND x.sequence = e.trade
    LEFT JOIN LATERAL (
        SELECT f.sequence FROM issuers_event f
        WHERE e.type = 'TRADE_BUSTED' AND f.partner_id = w.partner_id
            AND f.account_id = e.account_id AND f.sequence < e.sequence
            AND f.type = 'ORDER_TRADED' AND f.subject_id = e.subject_id
            AND f.trade = e.trade
        LIMIT 1
    ) d ON TRUE
    ORDER BY w.comp_id, e.sequence
"""
