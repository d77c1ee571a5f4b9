"""Investor profiles: attestations, the profile in force, and its history.

A partner attests, staff decide. Each change of a profile is a row of its history,
and the function that writes it sets the profile to it.
"""

import uuid_utils.compat as uuid
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.people.models import Country, User
from partnerapi.core.constraints import check

EVIDENCE_LENGTH = 200


class Verification(models.TextChoices):
    NONE = "NONE", "None"
    PENDING = "PENDING", "Pending"
    VERIFIED = "VERIFIED", "Verified"
    REFUSED = "REFUSED", "Refused"


class InvestorClass(models.TextChoices):
    """From the most protected to the least."""

    RETAIL = "RETAIL", "Retail"
    INFORMED = "INFORMED", "Informed"
    PROFESSIONAL = "PROFESSIONAL", "Professional"
    ELIGIBLE_COUNTERPARTY = "ELIGIBLE_COUNTERPARTY", "Eligible counterparty"


class InvestorFacts(models.Model):
    """The facts of an attestation or a profile."""

    verification = models.CharField(max_length=8, choices=Verification)
    verified_until = models.DateTimeField(
        null=True, blank=True, help_text="Empty: the verification does not end."
    )
    tax_country = models.ForeignKey(
        Country, models.PROTECT, null=True, blank=True, related_name="+", db_index=False
    )
    investor_class = models.CharField(
        max_length=21, choices=InvestorClass, default=InvestorClass.RETAIL
    )
    evidence = models.CharField(
        max_length=EVIDENCE_LENGTH,
        blank=True,
        help_text="Where the evidence is kept; never the evidence itself.",
    )

    class Meta:
        abstract = True
        constraints = [
            check(
                "%(class)s_facts_are_known",
                Q(verification__in=Verification.values)
                & Q(investor_class__in=InvestorClass.values),
            )
        ]


class InvestorProfile(InvestorFacts):
    """A user's profile in force; what the last change says.

    `partner` is the author of the attestation in force; None if staff decided.
    """

    user = models.OneToOneField(
        User, models.PROTECT, primary_key=True, related_name="investor"
    )
    partner = models.ForeignKey(
        Partner, models.PROTECT, null=True, related_name="+", db_index=False
    )
    changes = models.PositiveIntegerField(help_text="Entries of its history.")
    updated_at = models.DateTimeField()

    def __str__(self):
        return f"{self.user}: {self.verification}, {self.investor_class}"


class InvestorAttestationQuerySet(models.QuerySet["InvestorAttestation"]):
    def waiting(self) -> "InvestorAttestationQuerySet":
        """Attestations on which neither staff nor the partner has followed up."""
        followed = Q(attestation=OuterRef("pk"))
        settled = Q(is_staff=True) | Q(partner=OuterRef("partner"))
        later = InvestorChange.objects.filter(
            followed | settled & Q(created_at__gt=OuterRef("created_at")),
            user=OuterRef("user"),
        )
        return self.filter(~Exists(later))


class InvestorAttestation(InvestorFacts):
    """A partner's statement about the user of one of its accounts; it never changes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    account = models.ForeignKey(
        Account, models.PROTECT, related_name="+", db_index=False
    )
    user = models.ForeignKey(
        User, models.PROTECT, related_name="attestations", db_index=False
    )
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = InvestorAttestationQuerySet.as_manager()

    class Meta(InvestorFacts.Meta):
        indexes = [models.Index(fields=["user", "created_at"], name="attested_of_user")]

    def __str__(self):
        return f"{self.partner} on {self.user}: {self.verification}"


class InvestorChange(InvestorFacts):
    """An entry of a profile's history; entries are numbered from 1 without gaps.

    `attestation` is the one that it follows, if any.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    user = models.ForeignKey(
        User, models.PROTECT, related_name="investor_changes", db_index=False
    )
    number = models.PositiveIntegerField()
    attestation = models.OneToOneField(
        InvestorAttestation, models.PROTECT, null=True, related_name="change"
    )
    partner = models.ForeignKey(
        Partner, models.PROTECT, null=True, related_name="+", db_index=False
    )
    actor = models.CharField(
        max_length=254, help_text="A partner's login, or a member of staff's e-mail."
    )
    is_staff = models.BooleanField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta(InvestorFacts.Meta):
        ordering = ["user", "number"]
        constraints = [
            *InvestorFacts.Meta.constraints,
            models.UniqueConstraint(
                fields=["user", "number"], name="investor_changes_are_numbered"
            ),
            check(
                "partner_changes_by_attestation",
                Q(partner__isnull=True) | Q(attestation__isnull=False),
            ),
        ]

    def __str__(self):
        return f"{self.user}, {self.number}: {self.verification}"
