from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("accounts", "0072_sign_ins_sql")]

    operations = [
        migrations.AddField(
            "partner",
            "orders_per_second",
            models.PositiveIntegerField(
                blank=True,
                help_text="Orders that it may place in a second; empty: any number.",
                null=True,
            ),
        ),
        migrations.AddField(
            "partner",
            "open_value_limit",
            models.BigIntegerField(
                blank=True,
                help_text="Value of its open orders, euro cents; empty: any value.",
                null=True,
            ),
        ),
        AddConstraintNotValid(
            "partner",
            models.CheckConstraint(
                condition=(Q(orders_per_second__isnull=True) | Q(orders_per_second__gt=0))
                & (Q(open_value_limit__isnull=True) | Q(open_value_limit__gt=0)),
                name="partner_limits_of_orders_positive",
            ),
        ),
    ]
