"""What stands in for a lost authenticator."""

from django.db import models
from django.db.models.functions import Now

from accounts.people.models import User


class RecoveryCode(models.Model):
    """The digest of a code; functions write it, and delete it with its successors.

    A code has 80 random bits, so no one finds it from its SHA-256.
    """

    id = models.BigAutoField(primary_key=True)
    person = models.ForeignKey(User, models.PROTECT, related_name="recovery_codes")
    digest = models.CharField(max_length=64, help_text="SHA-256 in hexadecimal.")
    made_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(null=True)

    def __str__(self):
        return f"Recovery code of {self.person}, {self.made_at}"
