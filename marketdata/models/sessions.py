"""FIX sessions: which CompID belongs to whom, and how its connection fares."""

from django.db import models
from django.db.models import Q

from accounts.models import Partner


class FixSession(models.Model):
    """A CompID of the acceptor's pool, bound to an integration account.

    The acceptor knows every CompID of its pool from its start; binding one needs no
    restart. What it tells of the connection is for people to look at.
    """

    comp_id = models.CharField(
        "CompID",
        max_length=20,
        unique=True,
        help_text="What the partner sends as SenderCompID (tag 49).",
    )
    partner = models.ForeignKey(Partner, models.PROTECT, related_name="fix_sessions")
    enabled = models.BooleanField(default=True, help_text="Off: its Logon is refused.")
    created_at = models.DateTimeField(db_default=models.functions.Now(), editable=False)
    connected_since = models.DateTimeField(null=True, editable=False)
    last_heartbeat_at = models.DateTimeField(null=True, editable=False)
    last_logout_reason = models.CharField(max_length=200, blank=True, editable=False)
    messages_sent = models.BigIntegerField(
        default=0, editable=False, help_text="Since the session was made."
    )

    class Meta:
        ordering = ["comp_id"]
        verbose_name = "FIX session"
        constraints = [
            models.CheckConstraint(
                condition=Q(comp_id__regex=r"^[A-Z0-9]+$"),
                name="fix_session_comp_id_is_upper_case",
            ),
        ]

    def __str__(self):
        return self.comp_id
