"""Trades of some days, and their figures by SQL over the tape."""

import random
from datetime import UTC, datetime, timedelta

from django.db import connection

from issuers.models import Token
from marketdata.books.days import DayFigures
from marketdata.books.livebook import TradeRow
from tests.owner import tamper

OVER_THE_TAPE = """
    SELECT (at AT TIME ZONE 'Europe/Paris')::date AS day,
        (array_agg(price_cents ORDER BY sequence))[1], max(price_cents),
        min(price_cents), (array_agg(price_cents ORDER BY sequence DESC))[1],
        sum(quantity)::bigint, sum(price_cents * quantity)::bigint, count(*), max(at),
        max(sequence)
    FROM marketdata_trade t WHERE token_id = %s AND NOT EXISTS (
        SELECT FROM trading_bust b
        WHERE b.token_id = t.token_id AND b.sequence = t.sequence)
    GROUP BY 1 ORDER BY 1
"""
# Summer time begins at night: this day has 23 hours.
SHORT_DAY = datetime(2026, 3, 28, 22, 0, tzinfo=UTC)


def over_the_tape(token: Token) -> list[DayFigures]:
    with connection.cursor() as cursor:
        cursor.execute(OVER_THE_TAPE, [token.pk])
        return [DayFigures(*row) for row in cursor.fetchall()]


def tape(token: Token, count: int, seed: int = 3) -> list[TradeRow]:
    """Trades over some nights, about one an hour, written as the log would be."""
    chance = random.Random(seed)
    at, trades = SHORT_DAY, []
    for number in range(1, count + 1):
        at += timedelta(minutes=chance.randint(0, 120), microseconds=number)
        price, units = chance.randint(1, 2_000), chance.randint(1, 90)
        trades.append(TradeRow(number, price, units, at))
    done = 0
    while done < count:
        some = trades[done : done + chance.randint(1, 9)]
        rows = ", ".join(
            f"('{token.pk}'::uuid, {n}, {price}, {units}, '{at.isoformat()}')"
            for n, price, units, at in some
        )
        tamper(
            "UPDATE marketdata_orderbookhead SET last_trade = "
            f"{some[-1].number}, last_at = clock_timestamp() "
            f"WHERE token_id = '{token.pk}'; INSERT INTO marketdata_trade "
            f"(token_id, sequence, price_cents, quantity, at) VALUES {rows}",
            guarded=True,
        )
        done += len(some)
    return trades
