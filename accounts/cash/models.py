"""Cash: clients' money with the platform, in euro cents, by double entry.

Functions of the database write transactions, which are append-only, and with each its
two postings and the heads of the accounts; nothing else may. The sum of all balances is
0. The bank must hold the balance of BANK without its sign.
"""

import uuid_utils.compat as uuid
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalRequest
from partnerapi.core.chains import BEGINNING
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH
from partnerapi.core.money import euros

REFERENCE_LENGTH = 64
TEXT_LENGTH = 500
"""Of a bank line."""


def normalised_reference(text: str) -> str:
    """A reference of the platform as stored, without separators."""
    return "".join(text.upper().split())


class CashAccount(models.Model):
    """An account for cash: a client's, or the platform's own.

    A market's fees stay on an account of its own until a nightly payment moves them to
    FEES: one account for all would make markets wait for each other. An issuer has one
    from its first offering on.

    Every client's account has one from its creation. A client names the deposit
    reference (ISO 11649) in a payment; the database assigns it.
    """

    class Kind(models.TextChoices):
        CLIENT = "CLIENT", "Client"
        BANK = "BANK", "Bank"
        FEES = "FEES", "Fees"
        SUSPENSE = "SUSPENSE", "Suspense"
        MARKET = "MARKET", "Fees of a market"
        ISSUER = "ISSUER", "Issuer"

    id = models.BigAutoField(primary_key=True, editable=False)
    kind = models.CharField(max_length=8, choices=Kind, editable=False)
    account = models.OneToOneField(
        Account,
        models.PROTECT,
        null=True,
        related_name="cash_account",
        editable=False,
    )
    deposit_reference = models.CharField(
        max_length=25, null=True, unique=True, editable=False
    )

    class Meta:
        constraints = [
            check(
                "cash_account_is_a_clients_or_the_platforms",
                Q(
                    kind="CLIENT",
                    account__isnull=False,
                    deposit_reference__isnull=False,
                )
                | Q(
                    kind__in=["BANK", "FEES", "SUSPENSE", "MARKET", "ISSUER"],
                    account__isnull=True,
                    deposit_reference__isnull=True,
                ),
            ),
            models.UniqueConstraint(
                fields=["kind"],
                condition=Q(kind__in=["BANK", "FEES", "SUSPENSE"]),
                name="cash_account_of_the_platform_is_one_of_its_kind",
            ),
        ]
        indexes = [
            models.Index(
                fields=["kind", "id"],
                condition=~Q(kind="CLIENT"),
                name="cash_account_by_kind",
            )
        ]

    def __str__(self):
        return str(self.account) if self.account_id else self.get_kind_display()


class CashHead(models.Model):
    """The state of a cash account; a writer must lock its row.

    `reserved` is the sum held by open orders, withdrawals and subscriptions.
    """

    cash_account = models.OneToOneField(
        CashAccount, models.PROTECT, primary_key=True, related_name="head"
    )
    kind = models.CharField(max_length=8, choices=CashAccount.Kind)
    balance = models.BigIntegerField(default=0, help_text="Euro cents.")
    reserved = models.BigIntegerField(default=0, help_text="Euro cents.")
    last_number = models.BigIntegerField(default=0)
    last_at = models.DateTimeField(null=True)
    fingerprint = models.DecimalField(
        max_digits=40,
        decimal_places=0,
        db_default=0,
        editable=False,
        help_text="Only the release before reads it; the next one drops it.",
    )
    entry_digest = models.BinaryField(
        max_length=32,
        null=True,
        default=BEGINNING,
        help_text="Head of the SHA-256 chain of its postings; null until the migration "
        "has computed it.",
    )

    class Meta:
        constraints = [
            check(
                "cash_reserved_within_balance",
                Q(reserved__gte=0)
                & (
                    Q(kind__in=["CLIENT", "ISSUER"], reserved__lte=F("balance"))
                    | ~Q(kind__in=["CLIENT", "ISSUER"]) & Q(reserved=0)
                ),
            ),
            check("cash_bank_is_not_positive", ~Q(kind="BANK") | Q(balance__lte=0)),
        ]

    def __str__(self):
        return f"{self.cash_account} at {self.last_number}"


class BankStatement(models.Model):
    """A bank statement, as it was booked; it never changes.

    `cash_book_statement` writes it whole: it compares the closing balance with the
    books, and requires the approval that its deposits need. Older statements have no
    `made_in`, and their closing balance may be missing or different.
    """

    id = models.BigAutoField(primary_key=True, editable=False)
    name = models.CharField(
        max_length=200, editable=False, help_text="The file's name."
    )
    digest = models.CharField(
        max_length=64, editable=False, help_text="SHA-256 of the file."
    )
    closing_balance = models.BigIntegerField(
        null=True,
        editable=False,
        help_text="Closing balance that the bank states; euro cents.",
    )
    booked_balance = models.BigIntegerField(
        editable=False,
        help_text="Expected bank balance after its lines; euro cents.",
    )
    booked_by = models.CharField(max_length=ACTOR_LENGTH, editable=False)
    booked_at = models.DateTimeField(db_default=Now(), editable=False)
    made_in = models.BigIntegerField(
        null=True,
        editable=False,
        help_text="The transaction that books it and adds its lines; 0: booked.",
    )

    def __str__(self):
        return f"{self.name}, {self.booked_at:%Y-%m-%d %H:%M}"


class BankLine(models.Model):
    """A line of a bank statement: an incoming or outgoing payment; booked once."""

    reference = models.CharField(
        max_length=REFERENCE_LENGTH,
        primary_key=True,
        editable=False,
        help_text="The bank's reference.",
    )
    statement = models.ForeignKey(
        BankStatement, models.PROTECT, related_name="lines", editable=False
    )
    text = models.CharField(max_length=TEXT_LENGTH, blank=True, editable=False)
    amount = models.BigIntegerField(
        editable=False, help_text="Euro cents; negative for money paid out."
    )
    date = models.DateField(editable=False, help_text="The bank's date.")

    class Meta:
        constraints = [
            check("bank_line_moves_money", ~Q(amount=0)),
            check("bank_line_has_a_reference", ~Q(reference="")),
        ]

    def __str__(self):
        return self.reference


class CashTransaction(models.Model):
    """A movement of cash from one cash account to another; it never changes.

    The money of a bank line moves from or to BANK, and `reference` names the line.
    Unallocated money is booked to SUSPENSE until a transaction with `assigns` moves it
    to its client.
    """

    class Kind(models.TextChoices):
        DEPOSIT = "DEPOSIT", "Deposit"
        WITHDRAWAL = "WITHDRAWAL", "Withdrawal"
        TRADE = "TRADE", "Trade"
        FEE = "FEE", "Fee"
        OFFERING = "OFFERING", "Offering"
        REVERSAL = "REVERSAL", "Reversal"

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10, choices=Kind)
    amount = models.BigIntegerField(help_text="Euro cents.")
    source = models.ForeignKey(
        CashAccount, models.PROTECT, related_name="+", db_index=False
    )
    target = models.ForeignKey(
        CashAccount, models.PROTECT, related_name="+", db_index=False
    )
    at = models.DateTimeField()
    actor = models.CharField(
        max_length=ACTOR_LENGTH, help_text="A partner's login, or the member of staff."
    )
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    reference = models.OneToOneField(
        BankLine,
        models.PROTECT,
        null=True,
        related_name="transaction",
        db_column="reference",
        help_text="The bank line that it books.",
    )
    reverses = models.OneToOneField(
        "self", models.PROTECT, null=True, related_name="reversed_by"
    )
    assigns = models.ForeignKey(
        "self",
        models.PROTECT,
        null=True,
        related_name="assigned_by",
        db_index=False,
        help_text="The deposit that it moves out of SUSPENSE.",
    )
    withdrawal = models.OneToOneField(
        "accounts.Withdrawal",
        models.PROTECT,
        null=True,
        related_name="transaction",
        help_text="The withdrawal that it pays.",
    )

    class Meta:
        constraints = [
            check("cash_amount_is_positive", Q(amount__gt=0)),
            check("cash_moves_between_two", ~Q(source=F("target"))),
            check(
                "cash_transaction_names_what_its_kind_needs",
                Q(
                    kind="DEPOSIT",
                    reference__isnull=False,
                    reverses__isnull=True,
                    assigns__isnull=True,
                    withdrawal__isnull=True,
                )
                | Q(
                    kind="DEPOSIT",
                    reference__isnull=True,
                    reverses__isnull=True,
                    assigns__isnull=False,
                    withdrawal__isnull=True,
                )
                | Q(
                    kind="WITHDRAWAL",
                    reference__isnull=False,
                    reverses__isnull=True,
                    assigns__isnull=True,
                )
                | Q(
                    kind__in=["TRADE", "FEE", "OFFERING"],
                    reference__isnull=True,
                    reverses__isnull=True,
                    assigns__isnull=True,
                    withdrawal__isnull=True,
                )
                | Q(
                    kind="REVERSAL",
                    reference__isnull=True,
                    reverses__isnull=False,
                    assigns__isnull=True,
                    withdrawal__isnull=True,
                ),
            ),
        ]
        indexes = [
            models.Index(
                fields=["assigns"],
                condition=Q(assigns__isnull=False),
                name="cash_assigned",
            ),
            models.Index(
                fields=["target"],
                condition=Q(kind="DEPOSIT", assigns__isnull=True),
                name="cash_deposited",
            ),
        ]

    def __str__(self):
        return f"{self.kind} of {euros(self.amount)}"


class CashPosting(models.Model):
    """One side of a transaction, and the cash account's balance after it.

    `cash_post` writes it with its transaction, which has the foreign keys. Its line in
    the account's chain is in the view `cash_entry_lines`.
    """

    pk = models.CompositePrimaryKey("cash_account_id", "number")
    cash_account = models.ForeignKey(
        CashAccount,
        models.PROTECT,
        related_name="postings",
        db_index=False,
        db_constraint=False,
    )
    number = models.BigIntegerField(help_text="From 1, without gaps, per account.")
    transaction = models.ForeignKey(
        CashTransaction,
        models.PROTECT,
        related_name="postings",
        db_index=False,
        db_constraint=False,
    )
    delta = models.BigIntegerField(
        help_text="Euro cents; negative for money that left."
    )
    balance_after = models.BigIntegerField(help_text="Euro cents.")
    salt = models.BinaryField(
        max_length=16, null=True, help_text="Null before there were chains."
    )
    private_digest = models.BinaryField(
        max_length=32,
        null=True,
        help_text="SHA-256 of the salt and the private part of its line.",
    )

    class Meta:
        constraints = [check("cash_posting_moves_money", ~Q(delta=0))]

    def __str__(self):
        return f"{self.number}: {self.delta}"


class WithdrawalStatus(models.TextChoices):
    REQUESTED = "REQUESTED", "Requested"
    APPROVED = "APPROVED", "Approved"
    PAID = "PAID", "Paid"
    REFUSED = "REFUSED", "Refused"
    CANCELLED = "CANCELLED", "Cancelled"


class Withdrawal(models.Model):
    """A payment to a client; its cash is reserved until it is paid or ends.

    A second person approves it. Only a bank line whose text has its payment reference
    (ISO 11649) makes it PAID; the database assigns the reference.
    """

    Status = WithdrawalStatus

    TRANSITIONS = {
        (WithdrawalStatus.REQUESTED, WithdrawalStatus.APPROVED),
        (WithdrawalStatus.REQUESTED, WithdrawalStatus.REFUSED),
        (WithdrawalStatus.APPROVED, WithdrawalStatus.PAID),
        (WithdrawalStatus.APPROVED, WithdrawalStatus.CANCELLED),
    }
    """Every move that exists. Approving and cancelling need a second person."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    cash_account = models.ForeignKey(
        CashAccount,
        models.PROTECT,
        related_name="withdrawals",
        db_index=False,
        editable=False,
    )
    amount = models.BigIntegerField(editable=False, help_text="Euro cents.")
    reference = models.CharField(
        max_length=REFERENCE_LENGTH,
        editable=False,
        help_text="The partner's reference.",
    )
    payment_reference = models.CharField(
        max_length=25,
        unique=True,
        editable=False,
        help_text="Reference that the payment order must carry.",
    )
    status = models.CharField(
        max_length=9,
        choices=WithdrawalStatus,
        default=WithdrawalStatus.REQUESTED,
        editable=False,
    )
    status_reason = models.CharField(
        max_length=REASON_LENGTH, blank=True, editable=False
    )
    request = models.ForeignKey(
        ApprovalRequest,
        models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
        editable=False,
        help_text="The request that approved its status, where one was needed.",
    )
    requested_by = models.CharField(max_length=ACTOR_LENGTH, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            check("withdrawal_amount_is_positive", Q(amount__gt=0)),
            check("withdrawal_status_is_known", Q(status__in=WithdrawalStatus.values)),
            models.UniqueConstraint(
                fields=["cash_account", "reference"],
                name="withdrawal_reference_is_used_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["cash_account", "created_at", "id"],
                name="withdrawal_list_order",
            ),
            models.Index(
                fields=["status", "created_at"],
                condition=Q(status__in=["REQUESTED", "APPROVED"]),
                name="withdrawal_open",
            ),
        ]

    def __str__(self):
        return f"{euros(self.amount)}, {self.payment_reference}"
