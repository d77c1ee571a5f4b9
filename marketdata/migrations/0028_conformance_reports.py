"""Reports of conformance.py."""

import django.db.models.deletion
import uuid_utils.compat
from django.db import migrations, models
from django.db.models.functions.datetime import Now


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0067_webhooks"),
        ("marketdata", "0027_drop_copies"),
    ]

    operations = [
        migrations.CreateModel(
            name="ConformanceReport",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid_utils.compat.uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("at", models.DateTimeField(db_default=Now())),
                (
                    "part",
                    models.CharField(
                        choices=[
                            ("BOOKS", "Order books"),
                            ("DROP_COPY", "Drop copy"),
                            ("ORDERS", "Orders and events"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "version",
                    models.CharField(
                        help_text="Of the rules of engagement that it applied.",
                        max_length=60,
                    ),
                ),
                (
                    "seconds",
                    models.PositiveIntegerField(help_text="How long the run took."),
                ),
                (
                    "passed",
                    models.BooleanField(
                        help_text="Whether each rule was tried and kept."
                    ),
                ),
                (
                    "rules",
                    models.JSONField(
                        help_text="By rule its verdict, and what was done against it."
                    ),
                ),
                (
                    "partner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="conformance_reports",
                        to="accounts.partner",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("part__in", ["BOOKS", "DROP_COPY", "ORDERS"])
                        ),
                        name="conformance_report_is_of_a_part",
                    )
                ],
                "indexes": [
                    models.Index(
                        fields=["partner", "-id"], name="conformance_of_partner"
                    )
                ],
            },
        ),
    ]
