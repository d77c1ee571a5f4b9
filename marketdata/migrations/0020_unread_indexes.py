"""Contract: indexes that no statement reads go.

Beside a unique index Django has another one for LIKE. No statement looks for what this
column begins with, and the unique one answers all others.
"""

from django.db import migrations

from partnerapi.core.migrating import DropIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("marketdata", "0019_name_commands_of_today")]

    operations = [
        DropIndexBeside(
            "marketdata_fixsession_comp_id_71efbe6c_like",
            "marketdata_fixsession (comp_id varchar_pattern_ops)",
        ),
    ]
