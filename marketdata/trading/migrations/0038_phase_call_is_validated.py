from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("trading", "0037_phase_call")]

    operations = [
        ValidateConstraint("market", "market_phase_is_known"),
        ValidateConstraint(
            "market", "market_trades_continuously_by_a_book_that_it_shows"
        ),
    ]
