"""Deliveries of legacy shares: which lines, in which steps, and how far they are."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.db import models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from partnerapi.core.lock_waits import giving_up_on_others

if TYPE_CHECKING:
    from issuers.delivery import Outcome


class DeliveryJob(models.Model):
    """Lines that staff chose to deliver, frozen in steps, and how far it has come.

    Each line ends delivered, skipped (it was delivered already) or refused, for a
    reason that its step holds.
    """

    class Source(models.TextChoices):
        TREASURY = "TREASURY", "From the treasury"
        MINT = "MINT", "Made for it"

    STEP = 200

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    source = models.CharField(max_length=8, choices=Source)
    line_count = models.PositiveIntegerField()
    position = models.PositiveIntegerField(default=0)
    delivered = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    created_by = models.CharField(max_length=254)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(source__in=["TREASURY", "MINT"]),
                name="delivery_source_is_known",
            ),
            models.CheckConstraint(
                condition=Q(
                    position=models.F("delivered")
                    + models.F("skipped")
                    + models.F("refused")
                ),
                name="delivery_counts_every_line_once",
            ),
        ]

    def __str__(self):
        return f"Delivery of {self.line_count} lines by {self.created_by}"

    @classmethod
    def begin(cls, source: str, ids: Sequence[UUID], created_by: str):
        with transaction.atomic():
            job = cls.objects.create(
                source=source, line_count=len(ids), created_by=created_by
            )
            DeliveryStep.objects.bulk_create(
                (
                    DeliveryStep(job=job, position=first, shareholder_ids=list(lines))
                    for first, lines in cls.steps_of(ids)
                ),
                batch_size=100,
            )
        return job

    @classmethod
    def steps_of(cls, ids: Sequence[UUID]) -> Iterator[tuple[int, Sequence[UUID]]]:
        """The lines of each step, and how many there are before them."""
        for first in range(0, len(ids), cls.STEP):
            yield first, ids[first : first + cls.STEP]

    @property
    def remaining(self) -> int:
        return self.line_count - self.position

    def step(self) -> int:
        """Deliver the next lines, 200 at most, and count them; how many they were.

        One transaction: whoever ends it early finds the job where it stood.

        Raises:
            HeldByOthersError: lines or ledgers did not come free; nothing was done.
        """
        from issuers.delivery import deliver

        with giving_up_on_others(), transaction.atomic():
            job = DeliveryJob.objects.select_for_update().get(pk=self.pk)
            step = job.steps.filter(position=job.position).first()
            if step is not None:
                outcomes = deliver(step.shareholder_ids, job.source, job.created_by)
                step.refusals = job.count(outcomes)
                step.save(update_fields=["refusals"])
                if not job.remaining:
                    job.finished_at = timezone.now()
                job.save()
        self.refresh_from_db()
        return len(step.shareholder_ids) if step else 0

    def count(self, outcomes: Sequence["Outcome"]) -> dict[str, str]:
        """Add up what came of the next lines; why some were refused, by their ids."""
        refusals = {str(o.shareholder_id): o.refusal for o in outcomes if o.refusal}
        self.position += len(outcomes)
        self.delivered += sum(outcome.is_delivered for outcome in outcomes)
        self.skipped += sum(outcome.is_skipped for outcome in outcomes)
        self.refused += len(refusals)
        return refusals

    def refusals(self) -> Iterator[tuple[str, str]]:
        """The refused lines' ids, each with the reason, in the order of the steps."""
        steps = self.steps.exclude(refusals={}).order_by("position")
        for refusals in steps.values_list("refusals", flat=True).iterator(100):
            yield from refusals.items()

    def summary(self) -> str:
        return (
            f"{self.delivered} delivered, {self.skipped} skipped (delivered before), "
            f"{self.refused} refused"
        )


class DeliveryStep(models.Model):
    """Lines that are delivered together. A row each: a step costs what is in it."""

    job = models.ForeignKey(
        DeliveryJob, models.CASCADE, related_name="steps", db_index=False
    )
    position = models.PositiveIntegerField(
        help_text="How many lines of the delivery come before these."
    )
    shareholder_ids = ArrayField(models.UUIDField())
    refusals = models.JSONField(default=dict, help_text="Reasons, by a line's id.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job", "position"], name="delivery_has_one_step_at_a_position"
            )
        ]

    def __str__(self):
        return f"Lines from {self.position} of {self.job}"
