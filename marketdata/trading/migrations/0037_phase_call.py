"""Contract: the constraint that knew three phases makes way for one that knows CALL.

The old release needs nothing of it.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("trading", "0036_auctions")]

    operations = [
        migrations.RemoveConstraint(
            model_name='market',
            name='market_phase_is_known',
        ),
        AddConstraintNotValid(
            model_name='market',
            constraint=models.CheckConstraint(condition=models.Q(('phase__in', ['CLOSED', 'CALL', 'CONTINUOUS', 'HALTED'])), name='market_phase_is_known'),
        ),
        AddConstraintNotValid(
            model_name='market',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('phase', 'CONTINUOUS'), _negated=True), ('shows_book', True), _connector='OR'), name='market_trades_continuously_by_a_book_that_it_shows'),
        ),
    ]
