"""Contract: the constraint on phases makes way for one that knows trading at last.

The old release needs nothing of it.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("trading", "0043_corrections_are_validated"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='market',
            name='market_phase_is_known',
        ),
        migrations.AddField(
            model_name='market',
            name='at_last_minutes',
            field=models.IntegerField(db_default=0, default=0, help_text='How long orders trade at the price of a fixing after it.'),
        ),
        migrations.AlterField(
            model_name='market',
            name='next_phase',
            field=models.CharField(choices=[('CLOSED', 'Closed'), ('CALL', 'Call'), ('AT_LAST', 'Trading at last'), ('CONTINUOUS', 'Continuous'), ('HALTED', 'Halted')], max_length=10, null=True),
        ),
        migrations.AlterField(
            model_name='market',
            name='phase',
            field=models.CharField(choices=[('CLOSED', 'Closed'), ('CALL', 'Call'), ('AT_LAST', 'Trading at last'), ('CONTINUOUS', 'Continuous'), ('HALTED', 'Halted')], max_length=10),
        ),
        migrations.AlterField(
            model_name='orderevent',
            name='phase',
            field=models.CharField(choices=[('CLOSED', 'Closed'), ('CALL', 'Call'), ('AT_LAST', 'Trading at last'), ('CONTINUOUS', 'Continuous'), ('HALTED', 'Halted')], max_length=10, null=True),
        ),
        AddConstraintNotValid(
            model_name='market',
            constraint=models.CheckConstraint(condition=models.Q(('phase__in', ['CLOSED', 'CALL', 'AT_LAST', 'CONTINUOUS', 'HALTED'])), name='market_phase_is_known'),
        ),
    ]
