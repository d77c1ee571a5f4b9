"""Reads the events of drop copies' partners, and makes their ExecutionReports (8).

The events are the truth, and a report a copy: whatever a session has to send or
repeat is read here.
"""

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
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
    """What follows an event; `end` is the last event that was looked at.

    `broken` is the first event that cannot be reported: the row of its order, of the
    order's state or of its token is missing.
    """

    head: Head
    reports: list[Report]
    end: int
    broken: int | None = None


NO_EVENTS = Head(0, 0)


class Place(NamedTuple):
    """Where a session is in the events of its partner."""

    partner_id: str
    after: int


def read_reports(places: Sequence[Place]) -> list[Batch | None]:
    """What follows each place, in two statements; None: to be read later.

    Of the places that have events, the first SESSIONS_AT_ONCE are read.

    Raises:
        django.db.Error
    """
    heads = read_heads({place.partner_id for place in places})
    found: list[Batch | None] = []
    for place in places:
        head = heads.get(place.partner_id, NO_EVENTS)
        found.append(None if place.after < head.last else Batch(head, [], place.after))
    behind = [n for n, batch in enumerate(found) if batch is None][:SESSIONS_AT_ONCE]
    if behind:
        partner_ids = [places[n].partner_id for n in behind]
        afters = [places[n].after for n in behind]
        rows = rows_of(REPORTS, [behind, partner_ids, afters, list(TYPES), AT_ONCE])
        for n, of_place in groupby(rows, itemgetter(0)):
            found[n] = batch_of(list(of_place))
    return found


def read_heads(partner_ids: Collection[str]) -> dict[str, Head]:
    return {one: Head(*row) for one, *row in rows_of(HEADS, [list(partner_ids)])}


def batch_of(rows: Sequence[Sequence[Any]]) -> Batch:
    """Of the rows of a place: one for each event, or one without an event."""
    head = Head(*rows[0][1:3])
    events = [row[3:] for row in rows if row[4] is not None]
    return Batch(
        head,
        [report_of(fields) for is_broken, *fields in events if not is_broken],
        end=head.last if len(events) < AT_ONCE else events[-1][1],
        broken=next((fields[0] for is_broken, *fields in events if is_broken), None),
    )


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
    SELECT w.place, h.last_sequence, h.pruned_sequence,
        o.id IS NULL OR t.id IS NULL OR s.kind IS NULL,
        e.sequence, e.type, e.at, e.subject_id, e.account_id,
        o.client_order_id, o.side, o.time_in_force, o.expires_at, e.price, e.quantity,
        e.trade, x.aggressor <> o.side, d.sequence, s.kind, s.filled, s.remaining,
        s.value, coalesce(b.units, 0)::bigint, coalesce(b.value, 0)::bigint,
        t.symbol, t.isin, e.token_id, e.reason
    FROM unnest(%s::int[], %s::uuid[], %s::bigint[]) AS w (place, partner_id, after)
    JOIN issuers_eventhead h ON h.partner_id = w.partner_id
    LEFT JOIN LATERAL (
        SELECT * FROM issuers_event v
        WHERE v.partner_id = w.partner_id AND v.sequence > w.after
            AND v.sequence <= h.last_sequence AND v.type = ANY (%s::text[])
        ORDER BY v.sequence LIMIT %s
    ) e ON TRUE
    LEFT JOIN trading_order o ON o.id = e.subject_id
    LEFT JOIN issuers_token t ON t.id = e.token_id
    LEFT JOIN LATERAL (
        SELECT * FROM trading_orderevent l
        WHERE l.order_id = e.subject_id AND l.number <= e.order_event
            AND l.filled IS NOT NULL
        ORDER BY l.number DESC LIMIT 1
    ) s ON TRUE
    LEFT JOIN LATERAL (
        -- A correction takes the place of the units.
        SELECT sum(y.quantity) - coalesce(sum(z.quantity), 0) AS units,
            sum(y.quantity * y.price) - coalesce(sum(z.quantity * z.price), 0) AS value
        FROM trading_bust c JOIN trading_execution y
            ON y.token_id = c.token_id AND y.sequence = c.sequence
        LEFT JOIN trading_execution z ON z.token_id = c.token_id
            AND z.ledger_seq = c.ledger_seq + 1 AND z.corrects = c.sequence
            AND e.order_event >= c.event
                + CASE WHEN y.buy_order_id = o.id THEN 2 ELSE 3 END
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
    ORDER BY w.place, e.sequence
"""
