"""Answers expire within a day, and jobs have begun, whatever says so."""

from datetime import timedelta

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0011_log_of_taken_back")]

    operations = [
        AddConstraintNotValid(
            model_name="idempotencyrecord",
            constraint=models.CheckConstraint(
                condition=models.Q(expires_at__isnull=True)
                | models.Q(expires_at__lte=Now() + timedelta(hours=25)),
                name="idempotency_record_expires_in_a_day",
            ),
        ),
        AddConstraintNotValid(
            model_name="jobrun",
            constraint=models.CheckConstraint(
                condition=models.Q(started_at__lte=Now() + timedelta(hours=1)),
                name="job_run_has_begun",
            ),
        ),
    ]
