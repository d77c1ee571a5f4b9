"""Legacy lines by issuer: how many wait for their delivery, and how many had it."""

from typing import NamedTuple
from uuid import UUID

from accounts.people.models import TURNS_AROUND
from partnerapi.core.backoffice import MOST_COUNTED
from partnerapi.core.database import rows_of

ISSUERS = 12
"""With the most pending lines."""
WIDTH = 1000


class Lines(NamedTuple):
    """An issuer's lines; `is_more`: there are more than were counted."""

    issuer_id: UUID
    name: str
    slug: str
    pending: int
    delivered: int
    is_more: bool
    pending_width: float
    delivered_width: float


def lines_by_issuer() -> list[Lines]:
    """One statement, which counts no further than MOST_COUNTED of each."""
    asked = {"most": MOST_COUNTED + 1, "issuers": ISSUERS}
    rows = rows_of(BY_ISSUER, asked)
    longest = max((row[3] + row[4] for row in rows), default=1)
    return [
        Lines(
            pk,
            TURNS_AROUND.sub("", name),
            slug,
            min(pending, MOST_COUNTED),
            min(delivered, MOST_COUNTED),
            max(pending, delivered) > MOST_COUNTED,
            round(WIDTH * pending / longest, 1),
            round(WIDTH * delivered / longest, 1),
        )
        for pk, name, slug, pending, delivered in rows
    ]


BY_ISSUER = """
    SELECT i.id, i.trading_name, i.slug, i.pending, delivered.count FROM (
        SELECT i.id, i.trading_name, i.slug, pending.count AS pending
        FROM issuers_issuer i CROSS JOIN LATERAL (SELECT count(*) FROM (
            SELECT FROM issuers_legacyshareholder l
            WHERE l.issuer_id = i.id AND l.status = 'PENDING' LIMIT %(most)s
        ) AS l) AS pending
        ORDER BY pending.count DESC, i.trading_name LIMIT %(issuers)s
    ) AS i CROSS JOIN LATERAL (SELECT count(*) FROM (
        SELECT FROM issuers_legacyshareholder l
        WHERE l.issuer_id = i.id AND l.status = 'DELIVERED' LIMIT %(most)s
    ) AS l) AS delivered
    WHERE i.pending + delivered.count > 0
    ORDER BY i.pending DESC, i.trading_name
"""
