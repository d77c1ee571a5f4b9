"""Finds a partner's events of some types, in order, however rare they are.

The events of one type are a range of an index, so a page reads at most its own length
from each type.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import connection

from accounts.access import Caller
from issuers.models.events import EventType, number_of_events
from partnerapi.core.database import PlannedAnew, fetch


class EventPlace(NamedTuple):
    """Where an event stands in its partner's feed."""

    sequence: int
    event_id: str


@dataclass(frozen=True, slots=True)
class TypedEvents:
    """The events of some types that a caller sees.

    `condition` is SQL that narrows them, with `values`.
    """

    types: Sequence[EventType]
    condition: str
    values: tuple[Any, ...]
    caller: Caller

    def places(
        self,
        after: EventPlace | None = None,
        before: EventPlace | None = None,
        *,
        backward: bool = False,
        inclusive: bool = False,
        limit: int,
    ) -> list[EventPlace]:
        """At most `limit` places between two others, from the requested end."""
        where, values = self.condition, list(self.values)
        for place, sign in ((after, ">"), (before, "<")):
            if place is not None:
                sign = f"{sign}=" if inclusive else sign
                where += f" AND issuers_event.sequence {sign} %s::bigint"
                values.append(place.sequence)
        order = f"ORDER BY sequence {'DESC' if backward else 'ASC'} LIMIT %s"
        statement = (
            "SELECT e.sequence, e.id::text FROM unnest(%s::text[]) AS wanted (type)"
            " CROSS JOIN LATERAL (SELECT sequence, id FROM issuers_event"
            f" WHERE issuers_event.type = wanted.type AND {where} {order}) AS e {order}"
        )
        # In a generic plan, PostgreSQL would expect most events to be of each type.
        found = fetch(
            statement, [list(self.types), *values, limit, limit], tuple, PlannedAnew
        )
        return [EventPlace(*place) for place in found]

    def count(self) -> int:
        if not connection.in_atomic_block:
            return number_of_events(self.caller, self.types)
        statement = f"SELECT count(*) FROM issuers_event WHERE {self.condition}"
        [(count,)] = fetch(statement, list(self.values), tuple, PlannedAnew)
        return count
