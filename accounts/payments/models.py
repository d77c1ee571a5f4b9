"""Payments to clients: whom a withdrawal pays, and the files that order the bank to.

Functions of the database write these rows, which never change.
"""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.cash.models import Withdrawal
from accounts.payments.iban import NAME_LENGTH
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH

IBAN_LENGTH = 34


class HouseAccount(models.Model):
    """The bank account with clients' money; the newest row applies.

    Statements of another account are refused, and payment files name it as debtor.
    """

    id = models.BigAutoField(primary_key=True, editable=False)
    name = models.CharField(max_length=NAME_LENGTH)
    iban = models.CharField(max_length=IBAN_LENGTH)
    named_by = models.CharField(max_length=ACTOR_LENGTH, editable=False)
    named_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "bank account of the house"
        verbose_name_plural = "bank accounts of the house"

    def __str__(self):
        return f"{self.name}, {self.iban}"

    @classmethod
    def now(cls) -> "HouseAccount | None":
        return cls.objects.order_by("-id").first()


class Payee(models.Model):
    """The bank account that a withdrawal pays; older withdrawals have none."""

    withdrawal = models.OneToOneField(
        Withdrawal, models.PROTECT, primary_key=True, related_name="payee"
    )
    name = models.CharField(max_length=NAME_LENGTH)
    iban = models.CharField(max_length=IBAN_LENGTH)

    class Meta:
        constraints = [
            check("payee_has_a_name_and_an_iban", ~Q(name="") & ~Q(iban="")),
        ]

    def __str__(self):
        return f"{self.name}, {self.iban}"


class PaymentFile(models.Model):
    """A pain.001 with which staff order the bank to pay withdrawals.

    The bank refuses a second file of the same message id.
    """

    id = models.BigAutoField(primary_key=True, editable=False)
    message = models.CharField(
        max_length=35, unique=True, editable=False, help_text="MsgId of the file."
    )
    content = models.TextField(editable=False)
    total = models.BigIntegerField(editable=False, help_text="Euro cents.")
    payments = models.IntegerField(editable=False)
    made_by = models.CharField(max_length=ACTOR_LENGTH, editable=False)
    made_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = "payment file"

    def __str__(self):
        return self.message


class PaymentOrder(models.Model):
    """A withdrawal in a payment file; it is in one at most."""

    withdrawal = models.OneToOneField(
        Withdrawal, models.PROTECT, primary_key=True, related_name="payment_order"
    )
    file = models.ForeignKey(PaymentFile, models.PROTECT, related_name="orders")

    def __str__(self):
        return f"{self.withdrawal_id} in {self.file_id}"
