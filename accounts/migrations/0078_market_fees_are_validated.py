from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0077_market_fees")]

    operations = [
        ValidateConstraint("cashaccount", "cash_account_is_a_clients_or_the_platforms")
    ]
