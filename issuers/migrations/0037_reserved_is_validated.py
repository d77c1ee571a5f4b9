from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("issuers", "0036_compliance_judge")]

    operations = [
        ValidateConstraint("holderbalance", "holder_balance_reserved_within_balance"),
    ]
