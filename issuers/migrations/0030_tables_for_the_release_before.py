"""A table can be asked for as before, where 0020_tables_without_locks was so strict."""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import again

tables = import_module("issuers.migrations.0020_tables_without_locks")


class Migration(migrations.Migration):
    dependencies = [("issuers", "0029_holding_periods_of_before")]

    operations = [migrations.RunSQL(again(tables.NOTE), migrations.RunSQL.noop)]
