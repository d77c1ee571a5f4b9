"""Payments of an issuer's cash to its bank account: two people decide each."""

from typing import Any
from uuid import UUID

from stdnum import iban as stdnum_iban
from uuid_utils.compat import uuid7

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.cash.models import CashHead, Withdrawal
from issuers.models.issuers import Issuer
from issuers.offerings.models import IssuerCash
from partnerapi.core.money import euros


def payout_content(issuer: Issuer, cents: int, payee: str, iban: str) -> dict[str, Any]:
    """The content of a request to pay an issuer; `iban` without spaces."""
    return {
        "withdrawal": str(uuid7()),
        "issuer": str(issuer.pk),
        "cents": str(cents),
        "payee": payee,
        "iban": iban,
    }


def payout_title(issuer: Issuer, cents: int) -> str:
    return f"Payment of {euros(cents)} to {issuer}"[:200]


def cash_head(issuer: Issuer) -> CashHead | None:
    """The issuer's cash; None before its first offering."""
    found = IssuerCash.objects.filter(issuer=issuer).select_related(
        "cash_account__head"
    )
    cash = found.first()
    return cash.cash_account.head if cash else None


def pay_out(
    issuer: Issuer, withdrawal: UUID, cents: int, payee: str, iban: str, actor: str
) -> Withdrawal:
    """Reserve the cents for the payment, in a transaction that carries its approval."""
    ordered: Withdrawal
    [ordered] = Withdrawal.objects.raw(
        PAY_OUT, [actor, withdrawal, issuer.pk, cents, payee, iban]
    )
    return ordered


PAY_OUT = "SELECT * FROM offerings_pay_out(%s, %s, %s, %s, %s, %s)"


class PayIssuer:
    """A payment of an issuer's cash; superseded if less is available by now."""

    def preview(self, request: ApprovalRequest) -> Preview:
        issuer, cents, head = self.read(request.content)
        available = head.balance - head.reserved
        rows = [
            ("Company", "", str(issuer)),
            ("Amount", "", euros(cents)),
            ("Payee", "", request.content["payee"]),
            ("IBAN of the payee", "", stdnum_iban.format(request.content["iban"])),
            ("Available", euros(available), euros(available - cents)),
        ]
        said = "The bank's statement confirms the payment by its reference."
        return Preview(
            rows, [said], {"Company": issuer, "Available": head.cash_account}
        )

    def execute(self, request: ApprovalRequest) -> Withdrawal:
        content = request.content
        issuer, cents, _ = self.read(content)
        return pay_out(
            issuer, UUID(content["withdrawal"]), cents, content["payee"],
            content["iban"], request.filed_by.email or "",
        )  # fmt: skip

    def read(self, content: dict[str, Any]) -> tuple[Issuer, int, CashHead]:
        issuer = Issuer.objects.get(pk=content["issuer"])
        cents, head = int(content["cents"]), cash_head(issuer)
        if head is None or head.balance - head.reserved < cents:
            raise Superseded("The issuer has less cash available by now.")
        return issuer, cents, head
