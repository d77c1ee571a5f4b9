"""The logs of order books in a storm: opened, pruned, looked at."""

import time
from uuid import UUID

from tests.chaos.installation import close_connection

REST_SECONDS = 15.0


def open_books(count: int) -> list[UUID]:
    from issuers.models import Token
    from tests.register import new_issuer

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
    """Delete what the newest snapshots cover."""
    from marketdata.models import BookChange, BookSnapshot

    for token_id in token_ids:
        snapshots = BookSnapshot.objects.filter(token=token_id)
        newest = snapshots.order_by("-sequence").first()
        if newest is not None:
            snapshots.filter(sequence__lt=newest.sequence).delete()
            BookChange.objects.filter(
                token=token_id, sequence__lt=newest.sequence
            ).delete()
    close_connection()


def heads(token_ids: list[UUID]) -> dict[UUID, tuple[int, int]]:
    """Where the logs end, once no killed writer's statement goes on."""
    from django.db import connection

    from marketdata.models import OrderBookHead

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
        head.token_id: (head.last_sequence, head.last_trade)
        for head in OrderBookHead.objects.filter(token__in=token_ids)
    }
    close_connection()
    return found
