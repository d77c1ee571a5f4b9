"""A day's records of our markets, for supervisory authorities: JSON lines.

The lines of a day alone rebuild every book at every instant of it: MARKET and ORDER
have the state in which the day began, EVENT what happened, in the order of its numbers.
Nothing in them changes after the day, so an export of it is the same, byte for byte,
whenever it is made. The last line has the number of the lines before it and their
SHA-256 digest, line ends included.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

import orjson
from django.db import connection, transaction
from django.utils import timezone

from marketdata.books.days import midnight

AT_ONCE = 1_000
LONGEST_WRITE = timedelta(minutes=1)
"""After it, no transaction of before the end of a day can still commit."""


def records(
    begins: datetime,
    ends: datetime,
    advance: Callable[[int], object] = lambda done: None,
) -> Iterator[bytes]:
    """The lines from one instant to before another, each with its line end.

    All are read at one instant. `isComplete` of the last one says whether the time was
    over then.
    """
    bounds = {"begins": begins, "ends": ends}
    digest, count = hashlib.sha256(), 0
    is_complete = timezone.now() >= ends + LONGEST_WRITE
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for record, statement in STATEMENTS.items():
            for row in rows(statement, bounds):
                line = as_line({"record": record} | row)
                digest.update(line)
                count += 1
                advance(1)
                yield line
    yield as_line(
        {"record": "END"}
        | bounds
        | {
            "lines": count,
            "sha256": digest.hexdigest(),
            "isComplete": is_complete,
        }
    )


def day_of_markets(day: date) -> tuple[datetime, datetime]:
    """Its beginning and its end in MARKET_TIME_ZONE."""
    return midnight(day), midnight(day + timedelta(days=1))


def as_line(row: dict[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z)


def rows(statement: str, bounds: dict[str, datetime]) -> Iterator[dict[str, Any]]:
    """Rows by column names, from a server-side cursor."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, bounds)
        names: list[str] = []
        while found := cursor.fetchmany(AT_ONCE):
            names = names or [column.name for column in cursor.description or ()]
            for row in found:
                yield dict(zip(names, row, strict=True))


# An end after the day is not in its records.
ENDED = """
        CASE WHEN r.ended_at < %(ends)s THEN r.ended_by ELSE '' END AS ended_by,
        CASE WHEN r.ended_at < %(ends)s THEN r.ended_at END AS ended_at
"""

STATEMENTS = {
    "MARKET": """
        SELECT t.id AS token_id, coalesce(renamed.symbol, t.symbol) AS symbol,
            coalesce(before.number, 0) AS last_event, phase.phase,
            phase.price AS reference_price
        FROM trading_market m JOIN issuers_token t ON t.id = m.token_id
        JOIN trading_orderevent first ON first.token_id = t.id AND first.number = 1
            AND first.at < %(ends)s
        LEFT JOIN LATERAL (
            SELECT c.before ->> 'symbol' AS symbol FROM accounts_rowchange c
            WHERE c.row_id = t.id::text AND c.table_name = 'issuers_token'
                AND c.at >= %(ends)s AND c.before ? 'symbol'
            ORDER BY c.id LIMIT 1
        ) renamed ON TRUE
        LEFT JOIN LATERAL (
            SELECT e.number FROM trading_orderevent e
            WHERE e.token_id = t.id AND e.at < %(begins)s ORDER BY e.number DESC LIMIT 1
        ) before ON TRUE
        LEFT JOIN LATERAL (
            SELECT e.phase, e.price FROM trading_orderevent e
            WHERE e.token_id = t.id AND e.order_id IS NULL AND e.number <= before.number
            ORDER BY e.number DESC LIMIT 1
        ) phase ON TRUE
        ORDER BY t.id
    """,
    "ORDER": """
        WITH since AS (
            SELECT order_id AS id, bool_or(at < %(ends)s) AS is_of_the_day
            FROM trading_orderevent WHERE at >= %(begins)s AND order_id IS NOT NULL
            GROUP BY order_id
            UNION ALL
            SELECT id, FALSE FROM trading_order
            WHERE status = 'OPEN' AND created_at < %(begins)s
        ), there AS (
            SELECT id, bool_or(is_of_the_day) AS is_of_the_day FROM since GROUP BY id
        )
        SELECT o.id, o.token_id, o.partner_id, o.account_id, o.user_id, o.side,
            o.time_in_force, o.expires_at, o.client_order_id, o.created_at,
            placed.price AS limit_price, placed.quantity, state.filled, state.remaining,
            state.value, placed.priority
        FROM there JOIN trading_order o ON o.id = there.id AND o.created_at < %(ends)s
        LEFT JOIN LATERAL (
            SELECT e.price, e.quantity, e.priority FROM trading_orderevent e
            WHERE e.order_id = o.id AND e.at < %(begins)s
                AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
            ORDER BY e.number DESC LIMIT 1
        ) placed ON TRUE
        LEFT JOIN LATERAL (
            SELECT e.kind, e.filled, e.remaining, e.value FROM trading_orderevent e
            WHERE e.order_id = o.id AND e.at < %(begins)s
                AND e.kind NOT IN ('TRADE_BUSTED', 'TRADE_CORRECTED')
            ORDER BY e.number DESC LIMIT 1
        ) state ON TRUE
        WHERE there.is_of_the_day OR state.remaining > 0
            AND state.kind NOT IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
        ORDER BY o.created_at, o.id
    """,
    "EVENT": """
        SELECT e.token_id, e.number, e.kind, e.order_id, e.price, e.quantity, e.filled,
            e.remaining, e.value, e.priority, e.trade, e.phase, e.reason, e.actor, e.at
        FROM trading_orderevent e
        WHERE e.at >= %(begins)s AND e.at < %(ends)s ORDER BY e.token_id, e.number
    """,
    "EXECUTION": """
        SELECT x.token_id, x.sequence, x.buy_order_id, x.sell_order_id,
            x.buyer_account_id, x.seller_account_id, x.price, x.quantity, x.aggressor,
            x.ledger_seq, x.cash_transaction, x.event, x.at
        FROM trading_execution x
        WHERE x.at >= %(begins)s AND x.at < %(ends)s ORDER BY x.token_id, x.sequence
    """,
    "BUST": """
        SELECT b.token_id, b.sequence, b.ledger_seq, b.cash_transaction, b.reason,
            b.requested_by, b.approved_by, b.event, b.at
        FROM trading_bust b
        WHERE b.at >= %(begins)s AND b.at < %(ends)s ORDER BY b.token_id, b.sequence
    """,
    "RULE": f"""
        SELECT r.id, r.token_id, r.kind, r.parameters, r.reason, r.replaces_id,
            r.created_by, r.approved_by, r.created_at, {ENDED}
        FROM issuers_tokenrule r
        WHERE r.created_at >= %(begins)s AND r.created_at < %(ends)s
            OR r.ended_at >= %(begins)s AND r.ended_at < %(ends)s ORDER BY r.id
    """,
    "RESTRICTION": f"""
        SELECT r.id, r.kind, r.ledger_account_id, r.token_id, r.units, r.until,
            r.beneficiary, r.reason, r.created_by, r.created_at, {ENDED}
        FROM issuers_restriction r
        WHERE r.created_at >= %(begins)s AND r.created_at < %(ends)s
            OR r.ended_at >= %(begins)s AND r.ended_at < %(ends)s ORDER BY r.id
    """,
    "INVESTOR": """
        SELECT i.id, i.user_id, i.number, i.verification, i.verified_until,
            i.tax_country_id, i.investor_class, i.evidence, i.attestation_id,
            i.partner_id, i.actor, i.is_staff, i.created_at
        FROM accounts_investorchange i
        WHERE i.created_at >= %(begins)s AND i.created_at < %(ends)s ORDER BY i.id
    """,
}
"""By the kind of record, in the order of the lines.

ORDER has the orders that were open when the day began or have an event on it. Its limit
price, quantity, filled and remaining units, value and priority are those of before the
day: null where the order came on it.
"""
