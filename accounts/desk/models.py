"""The members of a partner's desk, the keys that they issued, and e-mails about both.

A member is a person of the partner: no user, and never a member of staff. Two members
of staff approve the address and the scopes. The link in the invitation sets a passkey,
which rests for 24 hours. Functions of the database write all of it.
"""

from datetime import datetime, timedelta

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now

from accounts.approvals.models import ApprovalRequest
from accounts.keys.models import ApiKey, Partner
from partnerapi.core.constraints import check
from partnerapi.core.database import value_of

MOST_TRIES = 10
"""After so many attempts an e-mail is given up."""
REST = timedelta(hours=24)


class DeskMember(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="desk_members")
    email = models.CharField(max_length=254)
    scopes = ArrayField(
        models.CharField(max_length=20), help_text="What keys it issues may have."
    )
    request = models.OneToOneField(
        ApprovalRequest, models.PROTECT, related_name="desk_member"
    )
    invited_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(help_text="When the invitation expires.")
    enrolled_at = models.DateTimeField(null=True)
    usable_from = models.DateTimeField(null=True)
    credential = models.BinaryField(null=True, unique=True)
    public_key = models.BinaryField(
        null=True, help_text="An uncompressed point of the curve P-256: 65 bytes."
    )
    domain = models.CharField(max_length=253, blank=True, help_text="The RP ID.")
    sign_count = models.BigIntegerField(db_default=0)
    signed_at = models.DateTimeField(
        null=True, help_text="The time of the last challenge that it has signed."
    )
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=254, blank=True)

    class Meta:
        verbose_name = "member of a partner's desk"
        verbose_name_plural = "members of partners' desks"
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "email"],
                condition=Q(ended_at=None),
                name="one_desk_member_per_partner_and_address",
            ),
            check(
                "desk_member_address_is_ascii",
                Q(email=Lower("email")) & Q(email__regex=r"^[!-?A-~]+@[a-z0-9.-]+$"),
            ),
            check(
                "desk_member_is_enrolled_with_a_passkey",
                Q(
                    enrolled_at=None,
                    usable_from=None,
                    credential=None,
                    public_key=None,
                    domain="",
                )
                | Q(
                    ~Q(domain=""),
                    enrolled_at__isnull=False,
                    credential__isnull=False,
                    public_key__isnull=False,
                    usable_from__isnull=False,
                ),
            ),
            check(
                "desk_passkey_rests_a_day",
                Q(usable_from=None) | Q(usable_from__gte=F("enrolled_at") + REST),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} at {self.partner}"

    def may_use(self) -> bool:
        """Whether it may use the desk now; the database asks the same."""
        return bool(value_of("SELECT desk_may(%s)", [self.pk]))

    def state(self, at: datetime) -> str:
        """Where it stands, in words for people."""
        if self.ended_at:
            return f"ended {self.ended_at:%Y-%m-%d %H:%M}"
        if self.usable_from is None:
            expired = self.expires_at <= at
            return "invitation expired" if expired else "invited"
        if self.usable_from > at:
            return f"rests until {self.usable_from:%Y-%m-%d %H:%M}"
        return "active"


class DeskKey(models.Model):
    """A key that a member issued without a second person."""

    key = models.OneToOneField(
        ApiKey, models.PROTECT, primary_key=True, related_name="from_desk"
    )
    member = models.ForeignKey(DeskMember, models.PROTECT, related_name="keys")

    def __str__(self) -> str:
        return f"{self.key} by {self.member}"


class DeskNotice(models.Model):
    """An e-mail to one recipient; a worker sends it (`accounts/desk/notices.py`)."""

    class What(models.TextChoices):
        INVITED = "INVITED", "Invitation"
        ENROLLED = "ENROLLED", "Passkey set"
        KEY = "KEY", "API key issued"
        WEBHOOK = "WEBHOOK", "Webhook endpoint off"

    id = models.BigAutoField(primary_key=True)
    member = models.ForeignKey(
        DeskMember, models.PROTECT, related_name="notices", db_index=False
    )
    what = models.CharField(max_length=8, choices=What)
    recipient = models.CharField(max_length=254)
    tries = models.SmallIntegerField(db_default=0)
    next_try_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["next_try_at"],
                name="desk_notice_is_due",
                condition=Q(sent_at=None, tries__lt=MOST_TRIES),
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_what_display()} to {self.recipient}"
