"""When a market's sessions open and close; times of day are those of the market."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from django.conf import settings

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Session:
    """The times of day; one that closes no later than it opens lasts until the next
    day. `holidays` are days on which none opens.

    If clocks pass a time twice, the second time counts. If they skip a time, it counts
    an hour later. PostgreSQL reads times the same way.
    """

    opens: time
    closes: time
    weekdays_only: bool
    holidays: frozenset[date] = frozenset()

    def following(self, at: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The sessions that end after an instant, first to last, as begin and end."""
        day = at.astimezone(ZoneInfo(settings.MARKET_TIME_ZONE)).date() - DAY
        while True:
            if not (self.weekdays_only and day.weekday() > 4 or day in self.holidays):
                begins = instant(day, self.opens)
                lasts = DAY if self.closes <= self.opens else timedelta(0)
                ends = instant(day + lasts, self.closes)
                if ends > at:
                    yield begins, ends
            day += DAY

    def next_open(self, at: datetime) -> datetime:
        """The first opening after an instant, or at it."""
        return next(begins for begins, _ in self.following(at) if begins >= at)

    def last_open(self, at: datetime) -> datetime:
        """The last opening before an instant, or at it."""
        since = at
        while True:
            since -= 7 * DAY
            found = [*takewhile(lambda one: one[0] <= at, self.following(since))]
            if found:
                return found[-1][0]

    def next_close(self, at: datetime) -> datetime:
        """The first closing after an instant."""
        return next(self.following(at))[1]

    def is_open(self, at: datetime) -> bool:
        """Whether a session is open at an instant."""
        return next(self.following(at))[0] <= at

    def begins(self, at: datetime) -> datetime:
        """When a closed market opens: at once during a session."""
        return at if self.is_open(at) else self.next_open(at)


def instant(day: date, wanted: time) -> datetime:
    zone = ZoneInfo(settings.MARKET_TIME_ZONE)
    either = (datetime.combine(day, wanted.replace(fold=n), zone) for n in (0, 1))
    return max(either, key=datetime.timestamp)


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
