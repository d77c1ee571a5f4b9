"""Webhook endpoints: where partners receive their events, and what was sent."""

from typing import Any

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from accounts.access import Caller
from accounts.keys.models import ApiKey
from partnerapi.core.constraints import check

MOST_OF_KEY = 20
"""Endpoints of one key that are not off."""
URL_LENGTH = 500


class Status(models.TextChoices):
    ON = "ON", "On"
    FAILING = "FAILING", "Failing"
    OFF = "OFF", "Off"


class WebhookEndpointQuerySet(models.QuerySet["WebhookEndpoint"]):
    def visible_to(self, caller: Caller | None) -> "WebhookEndpointQuerySet":
        """The endpoints that the caller's key has made."""
        if caller is None or caller.key_id is None:
            return self.none()
        return self.filter(key=caller.key_id)


class WebhookEndpoint(models.Model):
    """An address that receives the events that a key may read, in their order.

    Its address and its key never change.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    key = models.ForeignKey(ApiKey, models.PROTECT, related_name="webhooks")
    url = models.CharField(max_length=URL_LENGTH)
    types = ArrayField(
        models.CharField(max_length=30),
        null=True,
        help_text="Types of events that it receives; null: all.",
    )
    sealed_secrets = models.BinaryField(
        help_text="Its secrets, encrypted; the new one first."
    )
    rolled_at = models.DateTimeField(
        null=True, help_text="When the new secret was made; the one before also signs."
    )
    position = models.BigIntegerField(
        help_text="Sequence of the last event that it has received or may not see."
    )
    attempts = models.PositiveIntegerField(
        db_default=0, help_text="Failed attempts to send the next event."
    )
    failing_since = models.DateTimeField(null=True)
    due_at = models.DateTimeField(
        db_default=Now(), help_text="When the next attempt is made."
    )
    test_at = models.DateTimeField(null=True, help_text="When a test was requested.")
    delivered_at = models.DateTimeField(
        null=True, help_text="When it last accepted a message."
    )
    ended_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=200, null=True, help_text="Why it is off.")
    created_at = models.DateTimeField(db_default=Now())

    objects = WebhookEndpointQuerySet.as_manager()

    class Meta:
        constraints = [
            check("webhook_position_is_not_negative", Q(position__gte=0)),
            check(
                "webhook_is_off_for_a_reason",
                Q(ended_at__isnull=True, reason__isnull=True)
                | Q(ended_at__isnull=False, reason__isnull=False),
            ),
            check(
                "webhook_fails_since_its_first_attempt",
                Q(attempts=0, failing_since__isnull=True)
                | Q(attempts__gt=0, failing_since__isnull=False),
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"],
                condition=Q(ended_at__isnull=True),
                name="webhooks_to_serve",
            )
        ]

    def __str__(self) -> str:
        return self.url

    @property
    def status(self) -> Status:
        return status_of(self)


def status_of(endpoint: Any) -> Status:
    """The status of an endpoint, or of a row with its columns."""
    if endpoint.ended_at is not None:
        return Status.OFF
    return Status.FAILING if endpoint.attempts else Status.ON


class WebhookDelivery(models.Model):
    """An attempt to send a message, without its body; kept for a week."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    endpoint = models.ForeignKey(
        WebhookEndpoint, models.DO_NOTHING, related_name="deliveries", db_index=False
    )
    sequence = models.BigIntegerField(help_text="Of the event; 0: a test.")
    attempt = models.PositiveIntegerField()
    at = models.DateTimeField(help_text="When the attempt ended.")
    milliseconds = models.PositiveIntegerField()
    status = models.PositiveSmallIntegerField(
        null=True, help_text="HTTP status; null: there was no response."
    )
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        indexes = [
            models.Index(fields=["endpoint", "-id"], name="deliveries_of_webhook"),
            models.Index(fields=["at"], name="deliveries_to_prune"),
        ]

    def __str__(self) -> str:
        return f"{self.endpoint_id} {self.sequence}"


class WebhookLease(models.Model):
    """The process that sends; another one waits for the end of its lease."""

    id = models.SmallIntegerField(primary_key=True)
    holder = models.CharField(max_length=300, help_text="Its host and its process.")
    since = models.DateTimeField(help_text="When the holder took it.")
    until = models.DateTimeField()

    class Meta:
        constraints = [check("webhook_lease_is_one", Q(id=1))]

    def __str__(self) -> str:
        return self.holder
