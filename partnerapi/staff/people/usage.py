"""What partners' keys asked for, hour by hour: answered, and refused with an error."""

from datetime import datetime, timedelta

from django.db.models import QuerySet, Sum

from partnerapi.gateway.counts import RequestCount
from partnerapi.gateway.records import OK
from partnerapi.staff.charts import Chart, Series, hour_ticks, over_time

HOURS = 48


def by_hour(counts: QuerySet[RequestCount], at: datetime) -> Chart:
    """The counts of the last two days; one statement."""
    this = at.replace(minute=0, second=0, microsecond=0)
    hours = [this - timedelta(hours=back) for back in range(HOURS - 1, -1, -1)]
    rows = counts.filter(hour__gte=hours[0], hour__lte=hours[-1])
    answered, failed = dict[datetime, int](), dict[datetime, int]()
    for hour, code, number in rows.values_list("hour", "code").annotate(Sum("number")):
        into = answered if code == OK else failed
        into[hour] = into.get(hour, 0) + number
    return over_time(
        "requests-by-hour",
        "Requests by hour",
        [f"{hour:%Y-%m-%d %H:%M}" for hour in hours],
        hour_ticks(hours),
        columns=[
            Series("Answered", "column", [answered.get(hour, 0) for hour in hours]),
            Series("Errors", "column-bad", [failed.get(hour, 0) for hour in hours]),
        ],
        unit="requests, UTC",
        head="Hour, UTC",
        empty="No request in the last two days.",
    )
