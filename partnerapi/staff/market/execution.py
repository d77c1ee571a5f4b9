"""An execution: the entry and the payment that settled it, both orders, its bust."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.cash.models import CashTransaction
from issuers.register.models import LedgerTransaction
from marketdata.trading.models import Bust, Execution, ExecutionFee
from partnerapi.core.money import euros
from partnerapi.staff.approvals.filing import address, may_file

OF_ACCOUNT = ("account__user", "account__partner")
ENDS = "source", "target"


def show_execution(request: HttpRequest, pk: UUID, trade: int) -> HttpResponse:
    """An execution; permitted staff request its bust here."""
    if not request.user.has_perm("trading.view_execution"):
        raise PermissionDenied
    rows = Execution.objects.select_related(
        "token",
        *(f"{side}_order__{name}" for side in ("buy", "sell") for name in OF_ACCOUNT),
    )
    execution = get_object_or_404(rows, token=pk, sequence=trade)
    token = execution.token
    bust = Bust.objects.filter(token=pk, sequence=trade).first()
    asked = ApprovalRequest.objects.open(timezone.now()).filter(
        kind=ApprovalKind.BUST, content__token=str(pk), content__trade=trade
    )
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"Trade {trade} of {token.symbol}",
        "execution": execution,
        "price": euros(execution.price),
        "value": euros(execution.price * execution.quantity),
        "entry": LedgerTransaction.objects.select_related(
            "source__holder", "source__issuer", "target__holder", "target__issuer"
        ).get(token=pk, seq=execution.ledger_seq),
        "payment": CashTransaction.objects.select_related(
            *(f"{end}__{name}" for end in ENDS for name in OF_ACCOUNT)
        ).get(pk=execution.cash_transaction),
        "fees": fees(execution),
        "orders": [
            ("Buyer’s", execution.buy_order),
            ("Seller’s", execution.sell_order),
        ],
        "bust": bust,
        "correction": Execution.objects.filter(
            token=pk, ledger_seq=bust.ledger_seq + 1, corrects=trade
        ).first()
        if bust
        else None,
        "asked": [*asked[:1]],
        "ask_bust": bust is None
        and may_file(request.user, ApprovalKind.BUST)
        and address(ApprovalKind.BUST, token=token.symbol, trade=trade),
    }
    return TemplateResponse(request, "admin/execution.html", context)


def fees(execution: Execution) -> list[tuple[CashTransaction, str, str, str]]:
    """The payments of both sides' fees, with the fee, the tax and their sum."""
    found = ExecutionFee.objects.filter(
        token=execution.token_id, sequence=execution.sequence
    ).order_by("cash_transaction")
    payments = CashTransaction.objects.select_related(
        *(f"{end}__{name}" for end in ENDS for name in OF_ACCOUNT)
    ).in_bulk([fee.cash_transaction for fee in found])
    return [
        (
            payments[fee.cash_transaction],
            euros(fee.net),
            euros(fee.vat),
            euros(fee.net + fee.vat),
        )
        for fee in found
    ]
