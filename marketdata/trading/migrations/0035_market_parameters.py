"""Parameters of markets: rows that hold from an instant on."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0094_parameters_events'),
        ("trading", "0034_fees"),
    ]

    operations = [
        migrations.AddField(
            model_name='market',
            name='dynamic_band_bps',
            field=models.IntegerField(db_default=1000, default=1000, help_text='Dynamic band: largest distance of a price from the last one, in basis points.'),
        ),
        migrations.AddField(
            model_name='market',
            name='fixings',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TimeField(), db_default=[], default=list, help_text='Times of day at which calls end.', size=None),
        ),
        migrations.AddField(
            model_name='market',
            name='holidays',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.DateField(), db_default=[], default=list, size=None),
        ),
        migrations.AddField(
            model_name='market',
            name='model',
            field=models.CharField(choices=[('CONTINUOUS', 'Continuous'), ('FIXING', 'Fixings'), ('BOTH', 'Continuous with fixings')], db_default='CONTINUOUS', default='CONTINUOUS', max_length=10),
        ),
        migrations.AddField(
            model_name='market',
            name='most_units',
            field=models.BigIntegerField(help_text='Units of an order; empty: no maximum.', null=True),
        ),
        migrations.AddField(
            model_name='market',
            name='most_value',
            field=models.BigIntegerField(help_text='Euro cents of an order at its limit; empty: no maximum.', null=True),
        ),
        migrations.AddField(
            model_name='market',
            name='tick_floors',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=[], default=list, help_text='Prices in euro cents, from which other ticks hold.', size=None),
        ),
        migrations.AddField(
            model_name='market',
            name='tick_steps',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=[], default=list, help_text='The tick from each of the floors on.', size=None),
        ),
        migrations.AlterField(
            model_name='market',
            name='collar_bps',
            field=models.IntegerField(help_text='Static band: largest distance of a limit or a price from the reference price, in basis points.'),
        ),
        migrations.AlterField(
            model_name='market',
            name='tick_cents',
            field=models.BigIntegerField(help_text='Prices are multiples of it, below the first of the floors.'),
        ),
        migrations.AlterField(
            model_name='order',
            name='status_reason',
            field=models.CharField(choices=[('BY_PARTNER', 'Cancelled by the partner'), ('BY_STAFF', 'Cancelled by staff'), ('CANCEL_TIMER', "The partner's timer ran out"), ('IMMEDIATE_OR_CANCEL', 'What did not trade at once'), ('FILL_OR_KILL', 'It could not trade whole'), ('SELF_TRADE', 'It met an order of its own user'), ('ACCOUNT_NOT_ACTIVE', 'The account left ACTIVE'), ('HOLDER_FROZEN', 'The holder was frozen'), ('UNITS_LOCKED', "The holder's units were locked"), ('NOT_ELIGIBLE', 'A rule refused the fill that it was due'), ('RULE_CHANGED', 'A new rule refuses it'), ('PARAMETERS_CHANGED', 'New parameters no longer admit it'), ('END_OF_SESSION', 'The session ended'), ('TIME_IN_FORCE', 'Its time was over')], max_length=20, null=True),
        ),
        migrations.CreateModel(
            name='MarketParameters',
            fields=[
                ('session_opens', models.TimeField()),
                ('session_closes', models.TimeField()),
                ('weekdays_only', models.BooleanField()),
                ('holidays', django.contrib.postgres.fields.ArrayField(base_field=models.DateField(), db_default=[], default=list, size=None)),
                ('tick_cents', models.BigIntegerField(help_text='Prices are multiples of it, below the first of the floors.')),
                ('tick_floors', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=[], default=list, help_text='Prices in euro cents, from which other ticks hold.', size=None)),
                ('tick_steps', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=[], default=list, help_text='The tick from each of the floors on.', size=None)),
                ('lot_units', models.BigIntegerField(help_text='Quantities are multiples of it.')),
                ('collar_bps', models.IntegerField(help_text='Static band: largest distance of a limit or a price from the reference price, in basis points.')),
                ('dynamic_band_bps', models.IntegerField(db_default=1000, default=1000, help_text='Dynamic band: largest distance of a price from the last one, in basis points.')),
                ('model', models.CharField(choices=[('CONTINUOUS', 'Continuous'), ('FIXING', 'Fixings'), ('BOTH', 'Continuous with fixings')], db_default='CONTINUOUS', default='CONTINUOUS', max_length=10)),
                ('fixings', django.contrib.postgres.fields.ArrayField(base_field=models.TimeField(), db_default=[], default=list, help_text='Times of day at which calls end.', size=None)),
                ('most_value', models.BigIntegerField(help_text='Euro cents of an order at its limit; empty: no maximum.', null=True)),
                ('most_units', models.BigIntegerField(help_text='Units of an order; empty: no maximum.', null=True)),
                ('id', models.BigAutoField(editable=False, primary_key=True, serialize=False)),
                ('valid_from', models.DateTimeField()),
                ('opens_at', models.DateTimeField(help_text='The first opening by them.')),
                ('announced_at', models.DateTimeField(help_text='When partners learned which orders end.', null=True)),
                ('reason', models.CharField(max_length=500)),
                ('created_by', models.CharField(max_length=254)),
                ('approved_by', models.CharField(max_length=254)),
                ('created_at', models.DateTimeField()),
                ('replaces', models.OneToOneField(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='trading.marketparameters')),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='parameters', to='issuers.token')),
            ],
            options={
                'verbose_name_plural': 'market parameters',
                'indexes': [models.Index(fields=['token', 'valid_from', 'id'], name='market_parameters'), models.Index(condition=models.Q(('announced_at__isnull', True)), fields=['token'], name='market_parameters_to_announce')],
                'constraints': [models.CheckConstraint(condition=models.Q(('lot_units__gt', 0), ('tick_cents__gt', 0), models.Q(('most_value__isnull', True), ('most_value__gt', 0), _connector='OR'), models.Q(('most_units__isnull', True), ('most_units__gte', models.F('lot_units')), _connector='OR')), name='market_parameters_are_positive'), models.CheckConstraint(condition=models.Q(('collar_bps__gt', 0), ('collar_bps__lt', 10000), ('dynamic_band_bps__gt', 0), ('dynamic_band_bps__lt', 10000)), name='market_bands_are_below_the_price'), models.CheckConstraint(condition=models.Q(models.Q(('fixings', []), ('model', 'CONTINUOUS')), models.Q(('model__in', ['FIXING', 'BOTH']), models.Q(('fixings', []), _negated=True)), _connector='OR'), name='market_fixings_are_of_its_model'), models.CheckConstraint(condition=models.Q(('created_at__lte', models.F('valid_from')), ('opens_at__gte', models.F('valid_from'))), name='market_parameters_begin_before_an_opening')],
            },
        ),
    ]
