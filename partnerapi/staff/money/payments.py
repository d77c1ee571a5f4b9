"""Payments to clients: the approved withdrawals, and the files that the bank gets."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils import timezone
from stdnum import iban

from accounts.cash.models import Withdrawal
from accounts.history.models import RowChange
from accounts.payments.models import HouseAccount, PaymentFile
from accounts.payments.paying import (
    MOST_PAYMENTS,
    NotPayable,
    order_payments,
    payable,
)
from partnerapi.core import lock_waits
from partnerapi.core.database import confirm
from partnerapi.core.money import euros, plural
from partnerapi.staff.log.authorship import written_by_user
from partnerapi.staff.lookup import as_uuid

MAY_PAY = "accounts.add_paymentfile"
FILES = 20
"""How many the page lists, newest first."""


def show_payments(request: HttpRequest) -> HttpResponse:
    """The withdrawals that wait; staff with the right order the bank to pay some."""
    if not request.user.has_perm("accounts.view_withdrawal"):
        raise PermissionDenied
    may_pay = request.user.has_perm(MAY_PAY)
    problem = ""
    if request.method == "POST":
        if not may_pay:
            raise PermissionDenied
        keys = [key for text in request.POST.getlist("pay") if (key := as_uuid(text))]
        problem = pay(request, keys)
        if not problem:
            return HttpResponseRedirect(request.path)
    waiting = [*payable()[:MOST_PAYMENTS]]
    approved = Withdrawal.objects.filter(status=Withdrawal.Status.APPROVED)
    nameless = approved.filter(payee__isnull=True).select_related(
        "cash_account__account__user", "cash_account__account__partner"
    )
    requested = Withdrawal.objects.filter(status=Withdrawal.Status.REQUESTED)
    house = HouseAccount.now()
    files = [*PaymentFile.objects.defer("content").order_by("-id")[:FILES]]
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Payments",
        "house": house,
        "house_iban": house and iban.format(house.iban),
        "waiting": [
            (row, euros(row.amount), iban.format(row.payee.iban)) for row in waiting
        ],
        "requested": not waiting and requested.exists(),
        "total": euros(sum(row.amount for row in waiting)),
        "nameless": [
            (row, euros(row.amount)) for row in nameless.order_by("created_at")[:FILES]
        ],
        "files": [
            (file, euros(file.total), takers)
            for file, takers in zip(files, takers_of(files), strict=True)
        ],
        "may_pay": may_pay,
        "problem": problem,
    }
    return TemplateResponse(
        request, "admin/payments.html", context, status=400 if problem else 200
    )


def pay(request: HttpRequest, keys: list[UUID]) -> str:
    """Why no file was made; empty: it was."""
    if not keys:
        return "Choose at least one withdrawal."
    who = str(request.user.get_username())
    try:
        with lock_waits.name_locked_row():
            made = order_payments(keys, who, timezone.now())
    except (NotPayable, lock_waits.LockTimeout) as error:
        return str(error)
    messages.success(
        request,
        f"{made}: {plural(made.payments, 'payment')}, {euros(made.total)}. Download "
        "it below and upload it at the bank.",
    )
    return ""


def takers_of(files: list[PaymentFile]) -> list[list[str]]:
    """The people that downloaded each file, with the times."""
    table = PaymentFile._meta.db_table
    keys = [str(file.pk) for file in files]
    rows = RowChange.objects.filter(
        table_name=table, operation="EXPORT", row_id__in=keys
    ).order_by("id")
    found: dict[str, list[str]] = {}
    for key, who, at in rows.values_list("row_id", "who", "at"):
        found.setdefault(key, []).append(f"{who}, {at:%Y-%m-%d %H:%M}")
    return [found.get(key, []) for key in keys]


def download_payments(request: HttpRequest, pk: int) -> HttpResponse:
    """The file, once the log has who takes it. Each time it is the same file."""
    if not request.user.has_perm(MAY_PAY):
        raise PermissionDenied
    file = get_object_or_404(PaymentFile, pk=pk)
    name = f"{file.message}.xml"
    with written_by_user(request):
        RowChange.objects.note_export(
            file, what="Payment file", file=name, lines=file.payments
        )
        confirm()
    return HttpResponse(
        file.content,
        content_type="application/xml",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
