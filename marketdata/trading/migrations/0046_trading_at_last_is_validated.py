from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("trading", "0045_minutes_of_trading_at_last")]

    operations = [
        ValidateConstraint("market", "market_phase_is_known"),
        ValidateConstraint("marketparameters", "market_trades_at_last_after_fixings"),
    ]
