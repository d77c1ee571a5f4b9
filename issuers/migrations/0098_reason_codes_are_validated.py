from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("issuers", "0097_reason_codes")]

    operations = [ValidateConstraint("ledgertransaction", "ledger_reason_is_known")]
