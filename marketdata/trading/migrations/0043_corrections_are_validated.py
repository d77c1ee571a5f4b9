from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("trading", "0042_corrections")]

    operations = [
        ValidateConstraint("orderevent", "order_event_is_of_an_order_or_a_phase"),
    ]
