"""Changes of who works here and how they sign in; triggers write them."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.models.changes import RowChange
from accounts.models.users import User

MOST_TRIES = 10
"""After so many attempts an e-mail is given up."""


class StaffChange(models.Model):
    """What was changed about one person's access by someone else.

    For 24 hours from `at` on the person approves and rejects nothing, and no request of
    theirs is approved: the database refuses it. APPOINTED ends that for all changes
    before it; only the owner of the tables writes one.
    """

    class What(models.TextChoices):
        MADE = "MADE", "Made a member of staff"
        SUPERUSER = "SUPERUSER", "Made a superuser"
        REACTIVATED = "REACTIVATED", "Reactivated"
        PASSWORD = "PASSWORD", "Password set"
        LOGIN = "LOGIN", "Email address changed"
        IDENTITY = "IDENTITY", "Id changed"
        GROUP = "GROUP", "Added to a group"
        GROUP_RIGHT = "GROUP_RIGHT", "Right given to a group of theirs"
        RIGHT = "RIGHT", "Right given"
        DEVICE = "DEVICE", "Second factor changed"
        APPOINTED = "APPOINTED", "Appointed by the owner's command"

    id = models.BigAutoField(primary_key=True)
    person = models.ForeignKey(
        User, models.PROTECT, related_name="staff_changes", db_index=False
    )
    what = models.CharField(max_length=11, choices=What)
    detail = models.CharField(max_length=300, blank=True)
    at = models.DateTimeField(db_index=True)
    change = models.ForeignKey(
        RowChange,
        models.PROTECT,
        related_name="+",
        db_index=False,
        help_text="The line of the log that says who did it, and from where.",
    )
    recorded_in = models.BigIntegerField(
        editable=False, help_text="The database transaction that made it."
    )

    class Meta:
        verbose_name = "change of staff"
        verbose_name_plural = "changes of staff"
        indexes = [models.Index(fields=["person", "at"], name="staff_change_of_person")]

    def __str__(self):
        return f"{self.person.email}: {self.get_what_display()}"


class StaffNotice(models.Model):
    """An e-mail that tells one recipient of the changes of one transaction.

    Each decider gets one, and the person concerned, under the former address, too.
    Written with the changes; a worker sends it: `accounts/notices.py`.
    """

    id = models.BigAutoField(primary_key=True)
    change = models.ForeignKey(
        StaffChange,
        models.PROTECT,
        related_name="notices",
        db_index=False,
        help_text="The first one of the transaction.",
    )
    recipient = models.CharField(max_length=254)
    tries = models.SmallIntegerField(default=0)
    next_try_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name = "e-mail of a change of staff"
        verbose_name_plural = "e-mails of changes of staff"
        constraints = [
            models.UniqueConstraint(
                fields=["change", "recipient"], name="notice_is_sent_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["next_try_at"],
                name="notice_is_due",
                condition=Q(sent_at=None, tries__lt=MOST_TRIES),
            )
        ]

    def __str__(self):
        return f"{self.recipient}: {self.change}"
