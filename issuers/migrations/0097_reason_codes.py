"""Entries may have the code of a reason, which is in their lines."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

from issuers.register.reasons import CHOICES


class Migration(migrations.Migration):
    dependencies = [("issuers", "0096_record_instants")]

    operations = [
        migrations.AddField(
            model_name="ledgertransaction",
            name="reason_code",
            field=models.CharField(
                choices=CHOICES,
                help_text="Null before version 3 of lines, and where no person entered it.",
                max_length=14,
                null=True,
            ),
        ),
        AddConstraintNotValid(
            model_name="ledgertransaction",
            constraint=models.CheckConstraint(
                condition=models.Q(reason_code__in=[code for code, _ in CHOICES]),
                name="ledger_reason_is_known",
            ),
        ),
    ]
