"""Of parameters: apart from markets, whose lock would wait for theirs."""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("trading", "0044_trading_at_last"),
    ]

    operations = [
        migrations.AddField(
            model_name='marketparameters',
            name='at_last_minutes',
            field=models.IntegerField(db_default=0, default=0, help_text='How long orders trade at the price of a fixing after it.'),
        ),
        AddConstraintNotValid(
            model_name='marketparameters',
            constraint=models.CheckConstraint(condition=models.Q(('at_last_minutes', 0), models.Q(models.Q(('model', 'CONTINUOUS'), _negated=True), ('at_last_minutes__gte', 1), ('at_last_minutes__lte', 60)), _connector='OR'), name='market_trades_at_last_after_fixings'),
        ),
    ]
