"""Four eyes: one member of staff files a request, another decides it.

The database refuses an action that a policy names unless a request with the same
content was approved: the functions that act call `approvals_use`.
"""

from datetime import datetime

import uuid_utils.compat as uuid
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from accounts.passkeys.models import Assertion
from accounts.people.models import User
from partnerapi.core.constraints import check
from partnerapi.core.lengths import REASON_LENGTH


class ApprovalKind(models.TextChoices):
    MINT = "MINT", "Mint"
    BURN = "BURN", "Burn"
    FORCED_TRANSFER = "FORCED_TRANSFER", "Forced transfer"
    REVERSAL = "REVERSAL", "Reversal"
    PRICE = "PRICE", "Price"
    DELIVERY = "DELIVERY", "Delivery of legacy shares"
    KEY = "KEY", "API key"
    CLOSING = "CLOSING", "Closing of an account"
    WITHDRAWAL = "WITHDRAWAL", "Withdrawal of cash"
    ASSIGNMENT = "ASSIGNMENT", "Assignment of an unallocated receipt"
    RULE = "RULE", "Rule of a token"
    LIFTING = "LIFTING", "Lifting of a restriction"
    BUST = "BUST", "Bust of a trade"
    REOPEN = "REOPEN", "Reopening of a halted market"
    STATEMENT = "STATEMENT", "Bank statement"
    TRANSFER = "TRANSFER", "Transfer, allocation or return"
    IDENTITY = "IDENTITY", "Symbol or ISIN of a traded token"
    GRANT = "GRANT", "Grant to a partner"
    REGISTER = "REGISTER", "Register of a new issuer"
    DESK = "DESK", "Member of a partner's desk"
    RELEASE = "RELEASE", "Release of blocked orders"
    SIGN_IN = "SIGN_IN", "Reset of a sign-in"
    TARIFF = "TARIFF", "Tariff of a market"
    PARAMETERS = "PARAMETERS", "Parameters of a market"
    ERASURE = "ERASURE", "Erasure of a person"
    OFFERING = "OFFERING", "Offering of a token"
    SETTLEMENT = "SETTLEMENT", "Settlement of an offering"
    PAYOUT = "PAYOUT", "Payment to an issuer"


class ApprovalPolicy(models.Model):
    """Whether an action needs a second person; only the owner role writes it.

    A kind without a row, or without `from_amount`, always needs a second person. With
    `from_amount`, one person is enough while the sum of that person's actions alone on
    a day (UTC) stays below it; a kind that has an issuer is summed per issuer.
    `from_total` bounds the same sum over all people. A price is not summed. A person
    whose access changed recently (`approvals_rests_until`) does nothing alone.
    """

    SIGNED = (
        *(ApprovalKind.MINT, ApprovalKind.REVERSAL, ApprovalKind.KEY),
        *(ApprovalKind.STATEMENT, ApprovalKind.WITHDRAWAL, ApprovalKind.ASSIGNMENT),
        ApprovalKind.DESK,
    )
    """What a migration begins with, for kinds that are decided with a passkey."""
    FROM_AMOUNTS: dict[str, int] = {ApprovalKind.DELIVERY: 10_000}
    """What a migration begins with, for kinds that need no one below an amount."""

    kind = models.CharField(primary_key=True, max_length=20, choices=ApprovalKind)
    is_required = models.BooleanField(default=True)
    from_amount = models.DecimalField(
        max_digits=20,
        decimal_places=0,
        null=True,
        help_text="One person may act alone below this many units or cents, per "
        "person, issuer and day.",
    )
    from_total = models.DecimalField(
        max_digits=20,
        decimal_places=0,
        null=True,
        help_text="The same limit for all people together. Empty: unlimited.",
    )
    allows_code = models.BooleanField(
        db_default=True,
        help_text="Decisions need no passkey. Until a statement of the register lists "
        "the first passkey, none needs one.",
    )

    class Meta:
        verbose_name_plural = "approval policies"

    def __str__(self):
        return self.get_kind_display()


class SoleAmount(models.Model):
    """The amount that one person did alone on a day; an empty `person` is everyone.

    Functions of the owner role write it, and it only grows. A person is a user's id,
    since addresses change. All commands count as one person: in a shell, a user can
    claim any name. A kind without an issuer has the nil UUID.
    """

    pk = models.CompositePrimaryKey("kind", "day", "issuer_id", "person")
    kind = models.CharField(max_length=20, choices=ApprovalKind)
    day = models.DateField(help_text="UTC.")
    issuer_id = models.UUIDField()
    person = models.CharField(max_length=254)
    amount = models.DecimalField(
        max_digits=40, decimal_places=0, help_text="Units, or euro cents."
    )

    def __str__(self):
        return f"{self.get_kind_display()} of {self.day}: {self.amount}"


class ApprovalRequestQuerySet(models.QuerySet["ApprovalRequest"]):
    def with_status(self, at: datetime) -> "ApprovalRequestQuerySet":
        """Each request with its `status` at this instant."""
        said = ApprovalRequest.Status
        return self.select_related(
            "filed_by", "decision__decided_by", "outcome"
        ).annotate(
            status=Case(
                When(outcome__is_executed=True, then=Value(said.EXECUTED)),
                When(outcome__is_executed=False, then=Value(said.OVERTAKEN)),
                When(
                    decision__is_approved=False,
                    decision__decided_by=F("filed_by"),
                    then=Value(said.TAKEN_BACK),
                ),
                When(decision__is_approved=False, then=Value(said.REFUSED)),
                When(expires_at__lte=at, then=Value(said.EXPIRED)),
                When(decision__is_approved=True, then=Value(said.APPROVED)),
                default=Value(said.WAITING),
                output_field=models.CharField(),
            )
        )

    def open(self, at: datetime) -> "ApprovalRequestQuerySet":
        """Requests that wait for a decision, or for what follows an approval."""
        return self.filter(expires_at__gt=at, outcome=None).exclude(
            decision__is_approved=False
        )


class ApprovalRequest(models.Model):
    """An action that a member of staff requests, with the reason; it never changes."""

    class Status(models.TextChoices):
        WAITING = "WAITING", "Waiting"
        APPROVED = "APPROVED", "Approved, not executed yet"
        EXECUTED = "EXECUTED", "Approved and executed"
        REFUSED = "REFUSED", "Rejected"
        TAKEN_BACK = "TAKEN_BACK", "Taken back"
        EXPIRED = "EXPIRED", "Expired"
        OVERTAKEN = "OVERTAKEN", "Superseded"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    kind = models.CharField(max_length=20, choices=ApprovalKind, editable=False)
    title = models.CharField(max_length=200, editable=False)
    content = models.JSONField(
        editable=False, help_text="The action, in the form that the database compares."
    )
    reason = models.CharField(max_length=REASON_LENGTH, editable=False)
    filed_by = models.ForeignKey(
        User, models.PROTECT, related_name="approval_requests", editable=False
    )
    filed_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField(editable=False)

    objects = ApprovalRequestQuerySet.as_manager()

    class Meta:
        constraints = [check("request_has_a_reason", ~Q(reason=""))]
        indexes = [models.Index(fields=["expires_at"], name="request_expires")]
        permissions = [
            *(
                (f"file_{kind.lower()}", f"Can ask for: {label}")
                for kind, label in ApprovalKind.choices
            ),
            *(
                (f"decide_{kind.lower()}", f"Can decide: {label}")
                for kind, label in ApprovalKind.choices
            ),
        ]

    def __str__(self):
        return self.title


class ApprovalDecision(models.Model):
    """Another person's decision on a request; there is one, and it is final.

    A rejection by the person who filed the request takes it back.
    """

    request = models.OneToOneField(
        ApprovalRequest, models.PROTECT, primary_key=True, related_name="decision"
    )
    is_approved = models.BooleanField()
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    decided_by = models.ForeignKey(
        User, models.PROTECT, related_name="approval_decisions"
    )
    decided_at = models.DateTimeField(db_default=Now(), editable=False)
    # The writer alone names one; an index and a key would lock the table for long.
    assertion = models.ForeignKey(
        Assertion,
        models.PROTECT,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="decisions",
        help_text="What signs it; empty: a decision by code.",
    )

    def __str__(self):
        return f"{self.verdict}: {self.request}"

    @property
    def verdict(self) -> str:
        if self.is_approved:
            return "Approved"
        is_filer = self.decided_by_id == self.request.filed_by_id
        return "Taken back" if is_filer else "Rejected"


class ApprovalOutcome(models.Model):
    """The end of a request: executed or superseded; the database writes it.

    `token_id` and `number` name the entry or the price that resulted.
    """

    request = models.OneToOneField(
        ApprovalRequest, models.PROTECT, primary_key=True, related_name="outcome"
    )
    is_executed = models.BooleanField()
    detail = models.CharField(max_length=REASON_LENGTH, blank=True)
    token_id = models.UUIDField(null=True)
    number = models.BigIntegerField(null=True)
    ended_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        indexes = [models.Index(fields=["token_id", "number"], name="outcome_entry")]

    def __str__(self):
        return f"{'executed' if self.is_executed else 'superseded'}: {self.request}"
