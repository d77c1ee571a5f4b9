"""Failures to sign in to the back office."""

from django.db import models

from partnerapi.core.database import value_of


class FailedSignInQuerySet(models.QuerySet["FailedSignIn"]):
    def prune(self) -> int:
        """Delete those that are older than 90 days, and all but the last million."""
        return int(value_of("SELECT partnerapi_prune_failed_sign_ins()"))


class FailedSignIn(models.Model):
    """Someone failed to sign in to the back office. No one changes or deletes it."""

    login = models.CharField(max_length=254, help_text="As typed.")
    address = models.CharField(max_length=64)
    is_locked = models.BooleanField(
        help_text="Refused, or locked from then on, after too many failures."
    )
    at = models.DateTimeField(db_default=models.functions.Now(), db_index=True)

    objects = FailedSignInQuerySet.as_manager()

    class Meta:
        verbose_name = "failed sign-in"

    def __str__(self):
        return f"{self.login} from {self.address}, {self.at}"
