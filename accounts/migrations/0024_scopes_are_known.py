from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0023_scopes_of_trading")]

    operations = [ValidateConstraint("apikey", "api_key_scopes_are_known")]
