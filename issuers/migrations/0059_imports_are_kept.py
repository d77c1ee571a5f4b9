"""Keeps in the log who imported which file of legacy shares."""

from django.db import migrations, models

from partnerapi.core.guards import history_of


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0058_approvals_of_registers"),
        ("accounts", "0041_exports_and_imports_are_kept"),
    ]

    operations = [
        migrations.AddField(
            "legacyimport",
            "line_count",
            models.PositiveIntegerField(null=True, editable=False),
        ),
        history_of("issuers_legacyimport", "INSERT", left_out="created_at"),
    ]
