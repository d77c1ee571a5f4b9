"""When a market's sessions open and close; times of day are those of the market."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Session:
    """The times of day; one that opens when it closes lasts all day.

    If clocks pass a time twice, the second time counts. If they skip a time, it counts
    an hour later. PostgreSQL reads times the same way.
    """

    opens: time
    closes: time
    weekdays_only: bool

    def next_open(self, at: datetime) -> datetime:
        """The first opening after an instant, or at it."""
        return self.next(self.opens, at)

    def last_open(self, at: datetime) -> datetime:
        """The last opening before an instant, or at it."""
        found = self.next_open(at - timedelta(days=7))
        while (later := self.next_open(found + timedelta(microseconds=1))) <= at:
            found = later
        return found

    def next_close(self, at: datetime) -> datetime:
        """The first closing after an instant."""
        return self.next(self.closes, at + timedelta(microseconds=1))

    def next(self, wanted: time, at: datetime) -> datetime:
        zone = ZoneInfo(settings.MARKET_TIME_ZONE)
        day = at.astimezone(zone).date()
        while True:
            either = (
                datetime.combine(day, wanted.replace(fold=n), zone) for n in (0, 1)
            )
            found = max(either, key=datetime.timestamp)
            if found >= at and not (self.weekdays_only and day.weekday() > 4):
                return found
            day += timedelta(days=1)

    def is_open(self, at: datetime) -> bool:
        """Whether a session is open at an instant."""
        begins, ends = self.next_open(at), self.next_close(at)
        return self.opens == self.closes or begins <= at or ends < begins

    def begins(self, at: datetime) -> datetime:
        """When a closed market opens: at once during a session."""
        return at if self.is_open(at) else self.next_open(at)


def parse(text: str, weekdays_only: bool) -> Session:
    """A session as commands name it, such as 09:00-17:30.

    Raises:
        ValueError: or one of weekdays that would last to the next one, over a weekend.
    """
    begins, _, ends = text.partition("-")
    opens, closes = time.fromisoformat(begins), time.fromisoformat(ends)
    if weekdays_only and opens >= closes:
        raise ValueError(
            "a session of weekdays opens and closes on one day, such as 09:00-17:30"
        )
    return Session(opens, closes, weekdays_only)
