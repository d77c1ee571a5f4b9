"""Constraints on a token's units: its rules, approved holders, holders' restrictions.

A row can end, but never changes otherwise: only functions of the owner write it, and
they ask for the second person.
"""

from datetime import datetime

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Func, Q
from django.db.models.functions import Now

from issuers.models.tokens import Token, Units
from issuers.register.models import LedgerAccount
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH


class RuleIsValid(Func):
    """The database's own test of a rule's parameters, by its kind."""

    function = "register_rule_is_valid"
    output_field = models.BooleanField()


class TokenRule(models.Model):
    """A rule that every movement of a token's units must keep.

    A changed rule is a new row, which `replaces` the previous one.
    """

    class Kind(models.TextChoices):
        TRANSFERS_PAUSED = "TRANSFERS_PAUSED", "Transfers are paused"
        VERIFIED_HOLDERS = "VERIFIED_HOLDERS", "Verified holders only"
        COUNTRIES = "COUNTRIES", "Countries"
        INVESTOR_CLASSES = "INVESTOR_CLASSES", "Investor classes"
        APPROVED_HOLDERS = "APPROVED_HOLDERS", "Approved holders only"
        MAX_HOLDERS = "MAX_HOLDERS", "Most holders"
        MAX_BALANCE = "MAX_BALANCE", "Most units of a holder"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="rules", db_index=False
    )
    kind = models.CharField(max_length=16, choices=Kind)
    parameters = models.JSONField(
        default=dict,
        help_text="COUNTRIES: allowed or refused; INVESTOR_CLASSES: classes; "
        "MAX_HOLDERS: holders; MAX_BALANCE: units, or bps of the supply.",
    )
    reason = models.CharField(max_length=REASON_LENGTH)
    replaces = models.OneToOneField(
        "self", models.PROTECT, null=True, related_name="replaced_by"
    )
    created_by = models.CharField(max_length=ACTOR_LENGTH)
    approved_by = models.CharField(max_length=ACTOR_LENGTH)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_by = models.CharField(max_length=ACTOR_LENGTH, blank=True, db_default="")
    ended_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            check("token_rule_is_valid", Q(RuleIsValid("kind", "parameters"))),
            models.UniqueConstraint(
                fields=["token", "kind"],
                condition=Q(ended_at__isnull=True),
                name="token_rule_in_force_is_one",
            ),
        ]
        indexes = [models.Index(fields=["token", "ended_at"], name="token_rules")]

    def __str__(self):
        return f"{self.token}: {self.get_kind_display()}"


class JudgedLedger(models.Model):
    """The last entry of a token's ledger judged finally, and entries that broke a rule.

    Only `register_keep_judged` writes it.
    """

    token = models.OneToOneField(
        Token, models.PROTECT, primary_key=True, related_name="+"
    )
    seq = models.BigIntegerField()
    broken = ArrayField(models.BigIntegerField())


class ApprovedHolder(models.Model):
    """A holder who may acquire a token that has the rule APPROVED_HOLDERS."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    token = models.ForeignKey(Token, models.PROTECT, related_name="+", db_index=False)
    ledger_account = models.ForeignKey(
        LedgerAccount, models.PROTECT, related_name="+", db_index=False
    )
    until = models.DateTimeField(null=True, help_text="Empty: no end.")
    created_by = models.CharField(max_length=ACTOR_LENGTH)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_by = models.CharField(max_length=ACTOR_LENGTH, blank=True, db_default="")
    ended_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["token", "ledger_account"],
                condition=Q(ended_at__isnull=True),
                name="holder_is_approved_once",
            )
        ]
        indexes = [
            models.Index(
                fields=["token", "ledger_account", "ended_at"], name="approved_holders"
            )
        ]

    def __str__(self):
        return f"{self.ledger_account} for {self.token}"


class RestrictionQuerySet(models.QuerySet["Restriction"]):
    def in_force(self, at: datetime) -> "RestrictionQuerySet":
        """Restrictions that are not lifted and have not expired."""
        return self.filter(Q(until=None) | Q(until__gt=at), ended_at=None)


class Restriction(models.Model):
    """A freeze, a lock-up or a pledge of a holder's units.

    Without `token` it covers all tokens, without `units` all units. Under a freeze of
    all units the holder neither sends nor receives; otherwise the units cannot leave.
    """

    class Kind(models.TextChoices):
        FREEZE = "FREEZE", "Freeze"
        LOCK_UP = "LOCK_UP", "Lock-up"
        PLEDGE = "PLEDGE", "Pledge"

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    kind = models.CharField(max_length=7, choices=Kind)
    ledger_account = models.ForeignKey(
        LedgerAccount, models.PROTECT, related_name="restrictions", db_index=False
    )
    token = models.ForeignKey(
        Token, models.PROTECT, null=True, related_name="+", db_index=False
    )
    units = Units(null=True)
    until = models.DateTimeField(null=True, help_text="Empty: until lifted.")
    beneficiary = models.CharField(max_length=200, blank=True, help_text="The pledgee.")
    reason = models.CharField(max_length=REASON_LENGTH)
    created_by = models.CharField(max_length=ACTOR_LENGTH)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    ended_by = models.CharField(max_length=ACTOR_LENGTH, blank=True, db_default="")
    ended_at = models.DateTimeField(null=True, editable=False)

    objects = RestrictionQuerySet.as_manager()

    class Meta:
        constraints = [
            check(
                "restricted_units_are_of_a_token",
                Q(units__isnull=True) | Q(units__gt=0, token__isnull=False),
            ),
            check(
                "pledge_has_a_beneficiary",
                Q(("kind", "PLEDGE"), ~Q(beneficiary=""))
                | Q(kind__in=["FREEZE", "LOCK_UP"], beneficiary=""),
            ),
        ]
        indexes = [
            models.Index(
                fields=["ledger_account", "ended_at"], name="restrictions_of_account"
            ),
            models.Index(fields=["ended_at"], name="restrictions_in_force"),
        ]

    def __str__(self):
        return f"{self.get_kind_display()} of {self.ledger_account}"
