"""Unallocated money: booked to SUSPENSE, until staff assign it."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.cash.models import CashAccount, CashTransaction
from accounts.cash.writer import lock_heads
from partnerapi.core.database import value_of
from partnerapi.core.money import euros


def unassigned_deposits() -> QuerySet[CashTransaction]:
    """Deposits that are booked to SUSPENSE."""
    assigned = CashTransaction.objects.filter(
        assigns=OuterRef("pk"), reversed_by__isnull=True
    )
    return CashTransaction.objects.filter(
        ~Exists(assigned),
        kind=CashTransaction.Kind.DEPOSIT,
        assigns__isnull=True,
        target__kind=CashAccount.Kind.SUSPENSE,
    )


def assignment_content(
    deposit: CashTransaction, account: CashAccount, reason: str
) -> dict[str, Any]:
    """A deposit's money, from SUSPENSE to a client's account."""
    return {
        "assigns": deposit.pk,
        "reverses": None,
        "to": account.pk,
        "cents": str(deposit.amount),
        "reason": reason,
    }


def assignment_title(deposit: CashTransaction, account: CashAccount) -> str:
    return f"{euros(deposit.amount)} from bank line {deposit.reference_id} to {account}"


def return_content(assignment: CashTransaction, reason: str) -> dict[str, Any]:
    """A wrong assignment's money, back to SUSPENSE."""
    return {
        "assigns": None,
        "reverses": assignment.pk,
        "to": assignment.source_id,
        "cents": str(assignment.amount),
        "reason": reason,
    }


def return_title(assignment: CashTransaction) -> str:
    return f"{euros(assignment.amount)} back to suspense from {assignment.target}"


class AssignMoney:
    """Assign money to a client's account, or take a wrong assignment back."""

    def preview(self, request: ApprovalRequest) -> Preview:
        content = request.content
        source, target, amount = self.movement(content)
        places = CashAccount.objects.select_related(
            "account__partner", "account__user", "head"
        ).in_bulk([source, target])
        of = CashTransaction.objects.get(pk=content["assigns"] or content["reverses"])
        first = of.assigns or of
        line = first.reference
        assert line is not None
        rows = [
            ("Amount", "", euros(amount)),
            ("Bank line", "", line.reference),
            ("Text of the bank line", "", line.text),
            ("Date of the bank line", "", str(line.date)),
        ]
        links: dict[str, Model] = {"Bank line": line}
        for name, place, moved in (
            ("From", places[source], -amount),
            ("To", places[target], amount),
        ):
            rows.append((name, "", str(place)))
            links[name] = place.account or place
            before = place.head.balance
            whose = f"Balance of {place}"
            rows.append((whose, euros(before), euros(before + moved)))
            links[whose] = place
        return Preview(rows, links=links)

    def execute(self, request: ApprovalRequest) -> CashTransaction:
        content = request.content
        of = CashTransaction.objects.get(pk=content["assigns"] or content["reverses"])
        # From here on, any other writer that would move this money waits.
        lock_heads([of.source_id, of.target_id, content["to"]])
        self.movement(content)
        moved = [content[name] for name in ("assigns", "reverses", "to", "reason")]
        entered = value_of(MOVE, [request.filed_by.email or "", *moved])
        return CashTransaction.objects.get(pk=entered)

    def movement(self, content: Mapping[str, Any]) -> tuple[int, int, int]:
        """From where to where how much moves, by the present balances.

        Raises:
            Superseded
        """
        if content["assigns"]:
            deposit = unassigned_deposits().filter(pk=content["assigns"]).first()
            if deposit is None:
                raise Superseded("This receipt has already been assigned.")
            client = CashAccount.objects.select_related("account").get(pk=content["to"])
            account = client.account
            assert account is not None
            if account.status not in (Account.Status.ACTIVE, Account.Status.SUSPENDED):
                raise Superseded(f"The account is {account.status}.")
            return deposit.target_id, client.pk, deposit.amount
        assignment = CashTransaction.objects.select_related("target__head").get(
            pk=content["reverses"]
        )
        if hasattr(assignment, "reversed_by"):
            raise Superseded("This assignment has already been reversed.")
        head = assignment.target.head
        if (available := head.balance - head.reserved) < assignment.amount:
            raise Superseded(
                f"The account has {euros(available)} available; "
                f"{euros(assignment.amount)} would be returned."
            )
        return assignment.target_id, assignment.source_id, assignment.amount


MOVE = "SELECT cash_move_receipt(%s, %s, %s, %s, %s)"
