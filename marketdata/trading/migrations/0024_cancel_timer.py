"""Timers that cancel the orders of a partner that goes silent."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0066_order_blocks'),
        ('trading', '0023_order_blocks_sql'),
    ]

    operations = [
        migrations.CreateModel(
            name='CancelTimer',
            fields=[
                ('partner', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='accounts.partner')),
                ('fires_at', models.DateTimeField(db_index=True, null=True)),
                ('fired_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.AlterField(
            model_name='order',
            name='status_reason',
            field=models.CharField(choices=[('BY_PARTNER', 'Cancelled by the partner'), ('BY_STAFF', 'Cancelled by staff'), ('CANCEL_TIMER', "The partner's timer ran out"), ('IMMEDIATE_OR_CANCEL', 'What did not trade at once'), ('FILL_OR_KILL', 'It could not trade whole'), ('SELF_TRADE', 'It met an order of its own user'), ('ACCOUNT_NOT_ACTIVE', 'The account left ACTIVE'), ('HOLDER_FROZEN', 'The holder was frozen'), ('UNITS_LOCKED', "The holder's units were locked"), ('NOT_ELIGIBLE', 'A rule refused the fill that it was due'), ('RULE_CHANGED', 'A new rule refuses it'), ('END_OF_SESSION', 'The session ended'), ('TIME_IN_FORCE', 'Its time was over')], max_length=20, null=True),
        ),
    ]
