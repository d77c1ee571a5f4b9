"""Public statements, their tokens and the keys that sign them."""

from django.db import migrations, models
from django.db.models import PROTECT

from partnerapi.core.guards import refuse_snapshots


class Migration(migrations.Migration):
    dependencies = [("issuers", "0073_who_asked_markets")]

    operations = [
        migrations.CreateModel(
            name="StatementKey",
            fields=[
                (
                    "id",
                    models.CharField(max_length=16, primary_key=True, serialize=False),
                ),
                ("public_key", models.BinaryField(max_length=32)),
                ("since", models.DateTimeField()),
                ("signature", models.CharField(max_length=88, null=True)),
                (
                    "introduced_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=PROTECT,
                        related_name="+",
                        to="issuers.statementkey",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Statement",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("said", models.TextField(help_text="Canonical JSON.")),
                (
                    "signature",
                    models.CharField(help_text="Ed25519, base64.", max_length=88),
                ),
                (
                    "key",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=PROTECT,
                        related_name="+",
                        to="issuers.statementkey",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StatedToken",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "statement_id",
                        "token_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("record", models.TextField(help_text="Canonical JSON.")),
                ("salt", models.BinaryField(max_length=16)),
                (
                    "statement",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=PROTECT,
                        related_name="tokens",
                        to="issuers.statement",
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=PROTECT,
                        related_name="+",
                        to="issuers.token",
                    ),
                ),
            ],
        ),
        refuse_snapshots(
            "issuers_statementkey", "issuers_statement", "issuers_statedtoken"
        ),
    ]
