"""The logs of order books in a storm: opened, pruned, looked at."""

import time
from typing import NamedTuple
from uuid import UUID

from tests.chaos.installation import close_connection

REST_SECONDS = 150.0


class End(NamedTuple):
    """The last numbers of a log, and how many trades were not pruned."""

    sequence: int
    trade: int
    trades_left: int


def open_books(count: int) -> list[UUID]:
    from issuers.models import Token
    from tests.issuers.register import new_issuer

    issuer = new_issuer()
    ids = [
        Token.objects.create(
            issuer=issuer,
            name="Stormy",
            symbol=f"S{time.time_ns()}",
            market_type=Token.MarketType.SECONDARY_MARKET,
        ).pk
        for _ in range(count)
    ]
    close_connection()
    return ids


def prune(token_ids: list[UUID]) -> None:
    """Delete what is covered, however young it is."""
    from tests.marketdata.books.markets import prune_at_once

    prune_at_once(token_ids)
    close_connection()


def ends_of(token_ids: list[UUID]) -> dict[UUID, End]:
    """Where the logs end, once no killed writer's statement goes on."""
    from django.db import connection

    from marketdata.models import OrderBookHead, Trade

    deadline = time.monotonic() + REST_SECONDS
    with connection.cursor() as cursor:
        while time.monotonic() < deadline:
            cursor.execute(
                "SELECT FROM pg_stat_activity WHERE state <> 'idle'"
                " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            if not cursor.rowcount:
                break
            time.sleep(0.002)
    found = {
        head.token_id: End(
            head.last_sequence,
            head.last_trade,
            Trade.objects.filter(token=head.token_id).count(),
        )
        for head in OrderBookHead.objects.filter(token__in=token_ids)
    }
    close_connection()
    return found
