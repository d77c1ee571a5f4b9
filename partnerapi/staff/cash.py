"""Cash against the bank by day, and what the platform's own cash accounts have."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.cash.models import BankStatement, CashAccount
from partnerapi.core.money import euros
from partnerapi.staff.charts import Chart, Mark, Series, day_ticks, last_days, over_time

DAYS = 60
MOST_STATEMENTS = 400
"""The newest ones, which the chart reads."""


def show_cash(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("accounts.view_bankstatement"):
        raise PermissionDenied
    at = timezone.now()
    kinds = CashAccount.Kind
    accounts = CashAccount.objects.filter(
        kind__in=[kinds.BANK, kinds.FEES, kinds.SUSPENSE]
    ).select_related("head")
    own = {account.kind: account.head for account in accounts}
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Cash and the bank",
        # What lies in the bank is owed to clients and to suspense.
        "booked": euros(-own[kinds.BANK].balance),
        "suspense": euros(own[kinds.SUSPENSE].balance),
        "suspense_id": own[kinds.SUSPENSE].pk,
        "fees": euros(own[kinds.FEES].balance),
        "chart": by_day(at),
    }
    return TemplateResponse(request, "admin/cash.html", context)


def by_day(at: datetime) -> Chart:
    """The booked and the bank's balance after the last statement of each day.

    The booked one stays as it is until the next statement. One statement of SQL.
    """
    days = last_days(at.date(), DAYS)
    rows = BankStatement.objects.order_by("-id")[:MOST_STATEMENTS]
    columns = [*rows.values_list("booked_at", "booked_balance", "closing_balance")]
    last: dict[Any, tuple[int, int | None]] = {}
    before: int | None = None
    for booked_at, booked, closing in reversed(columns):
        if booked_at.date() < days[0]:
            before = booked
        else:
            last[booked_at.date()] = booked, closing
    booked_series: list[int | None] = []
    for day in days:
        before = last[day][0] if day in last else before
        booked_series.append(before)
    bank = [last[day][1] if day in last else None for day in days]
    marks = [
        (
            place,
            Mark(
                f"{day.day} {day:%b}",
                f"The bank says {euros(said)}, {euros(abs(said - booked))} "
                f"{'more' if said > booked else 'less'} than booked",
            ),
        )
        for place, day in enumerate(days)
        for booked, said in [last.get(day, (0, None))]
        if said is not None and said != booked
    ]
    return over_time(
        "cash-by-day",
        "Cash against the bank by day",
        [day.isoformat() for day in days],
        day_ticks(days),
        [
            Series("Booked", "line-supply", booked_series),
            Series("The bank’s closing balance", "line-held", bank),
        ],
        marks=marks,
        number=euros,
        unit="euros",
        empty="No bank statement was booked yet. Import one.",
        from_zero=False,
    )
