import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

STEP = 200

PART = f"""
INSERT INTO issuers_deliverystep (job_id, position, shareholder_ids, refusals)
SELECT j.id, (l.place - 1) / {STEP} * {STEP}, array_agg(l.id ORDER BY l.place),
    coalesce(jsonb_object_agg(l.id, r.reason) FILTER (WHERE r.reason IS NOT NULL), '{{}}')
FROM issuers_deliveryjob j
CROSS JOIN LATERAL unnest(j.shareholder_ids) WITH ORDINALITY AS l (id, place)
LEFT JOIN LATERAL jsonb_each(j.refusals) AS r (id, reason) ON r.id = l.id::text
GROUP BY 1, 2;
UPDATE issuers_deliveryjob SET line_count = cardinality(shareholder_ids);
"""

JOIN = """
UPDATE issuers_deliveryjob j SET shareholder_ids = s.ids, refusals = s.reasons
FROM (
    SELECT s.job_id, array_agg(l.id ORDER BY s.position, l.place) AS ids,
        coalesce(jsonb_object_agg(l.id, s.refusals -> l.id::text)
            FILTER (WHERE s.refusals ? l.id::text), '{}') AS reasons
    FROM issuers_deliverystep s
    CROSS JOIN LATERAL unnest(s.shareholder_ids) WITH ORDINALITY AS l (id, place)
    GROUP BY s.job_id
) s WHERE s.job_id = j.id
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0007_changed_issuers_are_read")]

    operations = [
        migrations.CreateModel(
            name="DeliveryStep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "position",
                    models.PositiveIntegerField(
                        help_text="How many lines of the delivery come before these."
                    ),
                ),
                (
                    "shareholder_ids",
                    django.contrib.postgres.fields.ArrayField(models.UUIDField()),
                ),
                (
                    "refusals",
                    models.JSONField(
                        default=dict, help_text="Reasons, by a line's id."
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="issuers.deliveryjob",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="deliveryjob",
            name="line_count",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        # What a reversal of this puts back needs something to begin with.
        migrations.AlterField(
            model_name="deliveryjob",
            name="shareholder_ids",
            field=django.contrib.postgres.fields.ArrayField(
                models.UUIDField(), default=list
            ),
        ),
        migrations.RunSQL(PART, JOIN),
        migrations.RemoveField(model_name="deliveryjob", name="shareholder_ids"),
        migrations.RemoveField(model_name="deliveryjob", name="refusals"),
        migrations.AddConstraint(
            model_name="deliverystep",
            constraint=models.UniqueConstraint(
                fields=["job", "position"], name="delivery_has_one_step_at_a_position"
            ),
        ),
    ]
