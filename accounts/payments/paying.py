"""The file with which the bank pays approved withdrawals: pain.001.001.09 for SEPA."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from django.db import transaction
from django.db.models import QuerySet
from uuid_utils.compat import uuid7

from accounts.cash.models import Withdrawal
from accounts.payments.models import HouseAccount, PaymentFile
from partnerapi.core.database import value_of

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
MOST_PAYMENTS = 1_000
"""Payments of a file; the others wait for the next."""


class NotPayable(Exception):
    """No payment file can be made; the message says why."""


def name_bank(name: str, iban: str, named_by: str) -> HouseAccount:
    """The bank account with clients' money is this one from now on.

    Raises:
        DatabaseError: `named_by` has no right to name it.
    """
    pk = value_of(NAME, [named_by, name, iban])
    return HouseAccount.objects.get(pk=pk)


def payable() -> QuerySet[Withdrawal]:
    """Approved withdrawals with a payee that no file orders the bank to pay."""
    return (
        Withdrawal.objects.filter(
            status=Withdrawal.Status.APPROVED,
            payee__isnull=False,
            payment_order__isnull=True,
        )
        .select_related("payee", "cash_account__account__partner")
        .order_by("created_at", "id")
    )


def order_payments(keys: Sequence[UUID], made_by: str, at: datetime) -> PaymentFile:
    """A file that orders the bank to pay these withdrawals, each for the first time.

    Raises:
        NotPayable: the house's bank account is unknown, there are none, or one of them
            is in another file, was cancelled or paid.
    """
    debtor = HouseAccount.now()
    if debtor is None:
        raise NotPayable("Name the bank account that pays first.")
    with transaction.atomic():
        found = [*payable().filter(pk__in=keys)]
        if not found or len(found) != len(set(keys)):
            raise NotPayable(
                "Some of these withdrawals are in another payment file by now, or are "
                "not approved any more. Nothing was exported."
            )
        message = f"PAY-{at:%Y%m%d}-{uuid7().hex[-20:]}"
        content = document(found, debtor, message, at)
        made = value_of(ORDER, [made_by, message, content, [w.pk for w in found]])
    return PaymentFile.objects.get(pk=made)


def document(
    withdrawals: Sequence[Withdrawal], debtor: HouseAccount, message: str, at: datetime
) -> str:
    """One payment a withdrawal, each with its payment reference, which the bank's
    statement then has. The bank books them one by one.
    """
    total = amount_of(sum(withdrawal.amount for withdrawal in withdrawals))
    root = Element("Document", xmlns=NAMESPACE)
    order = SubElement(root, "CstmrCdtTrfInitn")
    header = SubElement(order, "GrpHdr")
    put(header, "MsgId", message)
    put(header, "CreDtTm", f"{at:%Y-%m-%dT%H:%M:%SZ}")
    put(header, "NbOfTxs", str(len(withdrawals)))
    put(header, "CtrlSum", total)
    put(SubElement(header, "InitgPty"), "Nm", debtor.name)
    batch = SubElement(order, "PmtInf")
    put(batch, "PmtInfId", message)
    put(batch, "PmtMtd", "TRF")
    put(batch, "BtchBookg", "false")
    put(batch, "NbOfTxs", str(len(withdrawals)))
    put(batch, "CtrlSum", total)
    put(SubElement(SubElement(batch, "PmtTpInf"), "SvcLvl"), "Cd", "SEPA")
    put(SubElement(batch, "ReqdExctnDt"), "Dt", f"{at:%Y-%m-%d}")
    put(SubElement(batch, "Dbtr"), "Nm", debtor.name)
    put(SubElement(SubElement(batch, "DbtrAcct"), "Id"), "IBAN", debtor.iban)
    # SEPA routes by IBAN alone; the schema requires an agent all the same.
    agent = SubElement(SubElement(batch, "DbtrAgt"), "FinInstnId")
    put(SubElement(agent, "Othr"), "Id", "NOTPROVIDED")
    put(batch, "ChrgBr", "SLEV")
    for withdrawal in withdrawals:
        payment = SubElement(batch, "CdtTrfTxInf")
        names = SubElement(payment, "PmtId")
        put(names, "InstrId", withdrawal.payment_reference)
        put(names, "EndToEndId", withdrawal.payment_reference)
        amount = SubElement(SubElement(payment, "Amt"), "InstdAmt", Ccy="EUR")
        amount.text = amount_of(withdrawal.amount)
        put(SubElement(payment, "Cdtr"), "Nm", withdrawal.payee.name)
        account = SubElement(SubElement(payment, "CdtrAcct"), "Id")
        put(account, "IBAN", withdrawal.payee.iban)
        text = SubElement(payment, "RmtInf")
        put(text, "Ustrd", withdrawal.payment_reference)
    indent(root)
    body = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def put(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = text


def amount_of(cents: int) -> str:
    """Euros with two decimals."""
    return f"{Decimal(cents) / 100:.2f}"


NAME = "SELECT cash_name_bank(%s, %s, %s)"
ORDER = "SELECT cash_order_payments(%s, %s, %s, %s)"
