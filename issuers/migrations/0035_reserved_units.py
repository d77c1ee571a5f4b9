"""Units that open orders reserve: by itself, for all writers wait for this table."""

import issuers.models.tokens
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('issuers', '0034_compliance')]

    operations = [
        migrations.AddField(
            model_name='holderbalance',
            name='reserved',
            field=issuers.models.tokens.Units(db_default=0, decimal_places=0, help_text='Units that open orders sell.', max_digits=20),
        ),
        AddConstraintNotValid(
            model_name='holderbalance',
            constraint=models.CheckConstraint(condition=models.Q(('reserved__gte', 0), ('reserved__lte', models.F('balance'))), name='holder_balance_reserved_within_balance'),
        ),
    ]
