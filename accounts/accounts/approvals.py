"""Requests to close an account."""

from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.accounts.models import (
    Account,
    AccountNotEmpty,
    Actor,
    InvalidStatusTransition,
    Right,
    allowed_statuses,
)
from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from partnerapi.core.money import euros


def closing_content(account: Account, reason: str) -> dict[str, Any]:
    return {
        "account": str(account.pk),
        "number": account.changes + 1,
        "reason": reason,
    }


def closing_title(account: Account) -> str:
    return f"Closing of the account of {account}"


class CloseAccount:
    def preview(self, request: ApprovalRequest) -> Preview:
        account = self.account(request.content)
        rows = [
            ("Account", "", str(account.pk)),
            ("Client", "", str(account.user)),
            ("Partner", "", str(account.partner)),
            ("Cash", "", euros(account.cash_account.head.balance)),
            ("Reason (visible to the partner)", "", request.content["reason"]),
            ("Status", account.get_status_display(), Account.Status.CLOSED.label),
        ]
        final = "Closed is final: the account is never opened again."
        links = {"Account": account, "Client": account.user, "Partner": account.partner}
        return Preview(rows, [final], links)

    def execute(self, request: ApprovalRequest) -> Account:
        account = self.account(request.content)
        decided_by = request.decision.decided_by
        actor = Actor(
            request.filed_by.email or "",
            is_staff=True,
            approved_by=decided_by.email or "",
        )
        try:
            with transaction.atomic():
                account.change_status(
                    Account.Status.CLOSED,
                    actor,
                    request.content["reason"],
                )
        except (InvalidStatusTransition, AccountNotEmpty) as error:
            raise Superseded(str(error)) from None
        if account.changes != request.content["number"]:
            raise Superseded(CHANGED)
        return account

    def account(self, content: dict[str, Any]) -> Account:
        account = Account.objects.select_related(
            "partner", "user", "cash_account__head"
        ).get(pk=UUID(content["account"]))
        if account.changes + 1 != content["number"]:
            raise Superseded(CHANGED)
        allowed = allowed_statuses(account.status, {Right.STAFF_APPROVED})
        if Account.Status.CLOSED not in allowed:
            raise Superseded(
                f"An account with the status {account.status} cannot be closed."
            )
        if account.cash_account.head.balance:
            raise Superseded("An account that has cash cannot be closed.")
        return account


CHANGED = "The account's status has changed since the request."
