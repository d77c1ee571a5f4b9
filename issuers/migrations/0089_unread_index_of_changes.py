"""Contract: an index that no statement reads goes.

What changed of a legacy line is looked up by the line, and no import is removed.
"""

import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.migrating import DropIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0088_one_refusal_of_snapshots")]

    operations = [
        DropIndexBeside(
            "issuers_legacyshareholderchange_batch_id_ef024b8a",
            "issuers_legacyshareholderchange (batch_id)",
            [
                migrations.AlterField(
                    "legacyshareholderchange",
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="changes",
                        to="issuers.legacyimport",
                    ),
                )
            ],
        ),
    ]
