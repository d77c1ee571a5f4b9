"""Refused orders: noted with the answer, and kept aside in a transaction of its own.

No request waits for it. A process that is killed loses what it noted last.
"""

import logging
import threading
from collections import Counter
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import uuid_utils.compat as uuid
from django.conf import settings
from django.db import Error, connection

from accounts.keys.asides import Aside
from marketdata.trading.round import Request
from partnerapi.core.database import delete_in_batches, execute
from partnerapi.core.errors import PartnerAPIError
from partnerapi.core.lengths import REASON_LENGTH

logger = logging.getLogger(__name__)

MOST_A_MINUTE = 600
"""Refusals of a partner and a minute that one process keeps one by one."""
MOST_NOTED = 20_000
"""What one process holds until it is written. The rest is counted, too."""
WRITE_SECONDS = 0.5
PRUNED_AT_ONCE = 1_000


class Refused(NamedTuple):
    """A row of the table; `number` is how many refused orders it stands for."""

    id: UUID
    partner_id: UUID
    at: datetime
    code: str
    number: int
    message: str | None = None
    account_id: UUID | None = None
    token_id: UUID | None = None
    order_id: UUID | None = None
    side: int | None = None
    quantity: int | None = None
    limit_price: int | None = None
    time_in_force: str | None = None
    client_order_id: str | None = None


class RefusedOrders:
    """What this process has refused and not written yet. Thread-safe."""

    def __init__(self) -> None:
        self.noted: list[Refused] = []
        self.counted: Counter[tuple[UUID, datetime, str]] = Counter()
        # Of each partner the minute of its last refusal, and how many it has had.
        self.minutes: dict[UUID, tuple[datetime, int]] = {}
        self.lock = threading.Lock()
        self.aside = Aside(self.write_or_wait, WRITE_SECONDS)

    def note(
        self,
        partner_id: UUID,
        at: datetime,
        token_id: UUID,
        sent: Request,
        refusal: PartnerAPIError,
        order_id: UUID | None = None,
    ) -> None:
        """Note a refusal; of an amendment with the order, and what it would be."""
        minute = at.replace(second=0, microsecond=0)
        with self.lock:
            last, number = self.minutes.get(partner_id, (minute, 0))
            number = number + 1 if last == minute else 1
            self.minutes[partner_id] = minute, number
            if number > MOST_A_MINUTE or len(self.noted) >= MOST_NOTED:
                self.counted[partner_id, minute, refusal.code] += 1
            else:
                self.noted.append(
                    Refused(
                        uuid.uuid7(), partner_id, at, refusal.code, 1,
                        str(refusal)[:REASON_LENGTH], sent.account_id, token_id,
                        order_id, sent.side, sent.quantity, sent.limit_price,
                        sent.time_in_force, sent.client_order_id,
                    )
                )  # fmt: skip
        self.aside.start_writer()

    def write(self) -> None:
        """Write the notes; one statement, or none.

        Raises:
            django.db.Error: the notes stay.
        """
        with self.lock:
            noted, self.noted = self.noted, []
            counted, self.counted = self.counted, Counter()
        rows = noted + [
            Refused(uuid.uuid7(), partner_id, minute, code, number)
            for (partner_id, minute, code), number in counted.items()
        ]
        if not rows:
            return
        try:
            execute(KEEP, [[*column] for column in zip(*rows, strict=True)])
        except Error:
            with self.lock:
                self.noted = noted + self.noted
                self.counted.update(counted)
            raise

    def write_or_wait(self) -> None:
        try:
            self.write()
        except Error as error:
            logger.warning("Refused orders are kept a little later: %s", error)
        finally:
            connection.close()


def prune() -> int:
    """Delete what is older than partners' events, in batches; return how many rows."""
    return delete_in_batches(PRUNE, [settings.PARTNER_API_EVENT_DAYS, PRUNED_AT_ONCE])


KEEP = """
    SELECT trading_keep_refused(%s::uuid[], %s::uuid[], %s::timestamptz[], %s::text[],
        %s::bigint[], %s::text[], %s::uuid[], %s::uuid[], %s::uuid[], %s::smallint[],
        %s::numeric[], %s::numeric[], %s::text[], %s::text[])
"""
PRUNE = "SELECT trading_prune_refused(%s, %s)"
refused_orders = RefusedOrders()
