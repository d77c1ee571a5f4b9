"""Tariffs of markets, and the fees of orders and executions."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0079_account_of_each_market'),
        ('issuers', '0089_unread_index_of_changes'),
        ('trading', '0033_limited'),
    ]

    operations = [
        migrations.AddField(
            model_name='market',
            name='fees_account',
            field=models.ForeignKey(db_constraint=False, db_index=False, help_text='Null before its first tariff.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.cashaccount'),
        ),
        migrations.CreateModel(
            name='Tariff',
            fields=[
                ('id', models.BigAutoField(editable=False, primary_key=True, serialize=False)),
                ('maker_bps', models.IntegerField(help_text='Basis points of the value traded.')),
                ('taker_bps', models.IntegerField(help_text='Basis points of the value traded.')),
                ('minimum', models.BigIntegerField(help_text='Euro cents of an order, once it has traded.')),
                ('maximum', models.BigIntegerField(help_text='Euro cents of an order; empty: no maximum.', null=True)),
                ('vat_bps', models.IntegerField(help_text='Value added tax, basis points of the fee.')),
                ('valid_from', models.DateTimeField()),
                ('reason', models.CharField(max_length=500)),
                ('created_by', models.CharField(max_length=254)),
                ('approved_by', models.CharField(max_length=254)),
                ('created_at', models.DateTimeField()),
                ('ended_by', models.CharField(blank=True, max_length=254)),
                ('ended_at', models.DateTimeField(null=True)),
                ('partner', models.ForeignKey(db_constraint=False, db_index=False, help_text='Empty: all that have none of their own.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
                ('replaces', models.OneToOneField(db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='trading.tariff')),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tariffs', to='issuers.token')),
            ],
        ),
        migrations.CreateModel(
            name='OrderFee',
            fields=[
                ('order', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='fee', serialize=False, to='trading.order')),
                ('maker_value', models.BigIntegerField(help_text='Value of its fills as maker.')),
                ('taker_value', models.BigIntegerField(help_text='Value of its fills as taker.')),
                ('paid', models.BigIntegerField()),
                ('reserved', models.BigIntegerField()),
                ('tariff', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='trading.tariff')),
            ],
        ),
        migrations.CreateModel(
            name='ExecutionFee',
            fields=[
                ('pk', models.CompositePrimaryKey('token_id', 'sequence', 'side', 'is_refund', blank=True, editable=False, primary_key=True, serialize=False)),
                ('sequence', models.BigIntegerField(help_text='Number of the trade.')),
                ('side', models.SmallIntegerField(choices=[(0, 'Buy'), (1, 'Sell')])),
                ('is_refund', models.BooleanField()),
                ('net', models.BigIntegerField(help_text='Euro cents.')),
                ('vat', models.BigIntegerField(help_text='Value added tax, euro cents.')),
                ('cash_transaction', models.BigIntegerField(unique=True)),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('is_refund', False), ('net__gte', 0), ('vat__gte', 0)), models.Q(('is_refund', True), ('net__lte', 0), ('vat__lte', 0)), _connector='OR'), name='execution_fee_is_paid_or_comes_back')],
            },
        ),
        migrations.AddIndex(
            model_name='tariff',
            index=models.Index(fields=['token', 'partner', 'valid_from'], name='tariffs'),
        ),
        migrations.AddConstraint(
            model_name='tariff',
            constraint=models.CheckConstraint(condition=models.Q(('maker_bps__gte', 0), ('maker_bps__lte', 10000), ('taker_bps__gte', 0), ('taker_bps__lte', 10000), ('vat_bps__gte', 0), ('vat_bps__lte', 10000)), name='tariff_rates_are_within_the_value'),
        ),
        migrations.AddConstraint(
            model_name='tariff',
            constraint=models.CheckConstraint(condition=models.Q(('minimum__gte', 0), models.Q(('maximum__isnull', True), ('maximum__gte', models.F('minimum')), _connector='OR')), name='tariff_minimum_is_within_its_maximum'),
        ),
        migrations.AddConstraint(
            model_name='tariff',
            constraint=models.CheckConstraint(condition=models.Q(('ended_at__isnull', True), ('ended_at__gte', models.F('valid_from')), _connector='OR'), name='tariff_ends_after_it_begins'),
        ),
        migrations.AddConstraint(
            model_name='tariff',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('token', 'partner'), name='tariff_without_an_end_is_one', nulls_distinct=False),
        ),
    ]
