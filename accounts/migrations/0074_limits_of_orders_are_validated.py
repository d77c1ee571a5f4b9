from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0073_limits_of_orders")]

    operations = [ValidateConstraint("partner", "partner_limits_of_orders_positive")]
