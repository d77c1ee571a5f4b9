"""The history of rows that people edit, and of people's access to the back office.

Triggers write it; it never changes.
"""

import json
from typing import Any

from django.db import connection, models, transaction
from django.db.models import Q
from django.db.models.functions import Now

from accounts.people.models import User

MOST_TRIES = 10
"""After so many attempts an e-mail is given up."""
Of = models.Model | type[models.Model]
"""A row, or the table, where rows of several are meant."""


class RowChangeManager(models.Manager["RowChange"]):
    def note_export(self, of: Of, **said: Any) -> None:
        """Record an export of a row's content, before the export is handed over."""
        self.note("EXPORT", of, said)

    def note_import(self, of: Of, **said: Any) -> None:
        """Record which file was imported into a row, if no other row does."""
        self.note("IMPORT", of, said)

    def note_sign_in(self, user: User, **said: Any) -> None:
        """Record that a member of staff signed in."""
        self.note("SIGNIN", user, said)

    def note(self, operation: str, of: Of, said: dict[str, Any]) -> None:
        row = str(of.pk) if isinstance(of, models.Model) else ""
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT history_note(%s, %s, %s, %s)",
                [operation, of._meta.db_table, row, json.dumps(said)],
            )


class RowChange(models.Model):
    """A row that was made, changed or deleted; for a change, only the changed columns.

    Secrets are left out: only the fact that they changed is kept. EXPORT and IMPORT
    name the file that was exported or imported for the row's object; SIGNIN names the
    address from which the user signed in.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now(), db_index=True)
    table_name = models.CharField(max_length=63)
    row_id = models.CharField(max_length=40)
    operation = models.CharField(max_length=6)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    who = models.CharField(max_length=254)
    source = models.CharField(
        max_length=200, help_text="The page or the command; SQL where neither is known."
    )
    request_id = models.CharField(max_length=100, blank=True)

    objects = RowChangeManager()

    class Meta:
        indexes = [models.Index(fields=["row_id", "id"], name="row_change_of_row")]

    def __str__(self):
        return f"{self.operation} {self.table_name} {self.row_id}"


class StaffChange(models.Model):
    """A change of one person's access by someone else.

    For 24 hours from `at`, the person cannot approve or reject, and no request that the
    person filed can be approved: the database refuses it. APPOINTED ends that for all
    earlier changes; only the owner role writes one.
    """

    class What(models.TextChoices):
        MADE = "MADE", "Made a member of staff"
        SUPERUSER = "SUPERUSER", "Made a superuser"
        REACTIVATED = "REACTIVATED", "Reactivated"
        PASSWORD = "PASSWORD", "Password set"
        LOGIN = "LOGIN", "Email address changed"
        IDENTITY = "IDENTITY", "Id changed"
        GROUP = "GROUP", "Added to a group"
        GROUP_RIGHT = "GROUP_RIGHT", "Right granted to one of their groups"
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
        help_text="The log line that says who did it, and from where.",
    )
    recorded_in = models.BigIntegerField(
        editable=False, help_text="The database transaction that created it."
    )

    class Meta:
        verbose_name = "change of staff"
        verbose_name_plural = "changes of staff"
        indexes = [models.Index(fields=["person", "at"], name="staff_change_of_person")]

    def __str__(self):
        return f"{self.person.email}: {self.get_what_display()}"


class StaffNotice(models.Model):
    """An e-mail that notifies one recipient of the changes of one transaction.

    Each decider gets one. The person concerned gets one, also at the former address.
    It is written with the changes; a worker sends it (`accounts/history/notices.py`).
    """

    id = models.BigAutoField(primary_key=True)
    change = models.ForeignKey(
        StaffChange,
        models.PROTECT,
        related_name="notices",
        db_index=False,
        help_text="The first change of the transaction.",
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
