from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0083_offerings")]

    operations = [
        ValidateConstraint("cashaccount", "cash_account_is_a_clients_or_the_platforms"),
        ValidateConstraint("cashhead", "cash_reserved_within_balance"),
        ValidateConstraint(
            "cashtransaction", "cash_transaction_names_what_its_kind_needs"
        ),
    ]
