"""An offering has a price, or the two limits of its book; a null passed before."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("issuers", "0102_bust_requests")]

    operations = [
        AddConstraintNotValid(
            model_name="offering",
            constraint=models.CheckConstraint(
                condition=Q(rule__in=["FIRST_COME", "PRO_RATA"], price__isnull=False)
                | Q(rule="BOOK", price_floor__isnull=False, price_cap__isnull=False)
                & (Q(price__isnull=True) | ~Q(status__in=["DRAFT", "OPEN"])),
                name="offering_has_its_prices",
            ),
        ),
    ]
