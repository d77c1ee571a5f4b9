"""Offerings of the primary market, subscriptions, and issuers' cash."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0083_offerings'),
        ('issuers', '0098_reason_codes_are_validated'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='type',
            field=models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed'), ('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('CASH_CHANGED', 'Cash changed'), ('DEPOSIT_UNASSIGNED', 'Deposit unassigned'), ('INVESTOR_CHANGED', 'Investor changed'), ('MARKET_PHASE_CHANGED', 'Market phase changed'), ('MARKET_PARAMETERS_CHANGED', 'Market parameters changed'), ('ORDER_ENDS_AT_OPENING', 'Order ends at the next opening'), ('AUCTION_INDICATED', 'Auction indicated'), ('ORDERS_BLOCKED', 'Orders blocked'), ('ORDERS_RELEASED', 'Orders released'), ('OFFERING_CHANGED', 'Offering changed'), ('SUBSCRIPTION_CHANGED', 'Subscription changed')], max_length=30),
        ),
        migrations.AlterField(
            model_name='eventcount',
            name='type',
            field=models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed'), ('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('CASH_CHANGED', 'Cash changed'), ('DEPOSIT_UNASSIGNED', 'Deposit unassigned'), ('INVESTOR_CHANGED', 'Investor changed'), ('MARKET_PHASE_CHANGED', 'Market phase changed'), ('MARKET_PARAMETERS_CHANGED', 'Market parameters changed'), ('ORDER_ENDS_AT_OPENING', 'Order ends at the next opening'), ('AUCTION_INDICATED', 'Auction indicated'), ('ORDERS_BLOCKED', 'Orders blocked'), ('ORDERS_RELEASED', 'Orders released'), ('OFFERING_CHANGED', 'Offering changed'), ('SUBSCRIPTION_CHANGED', 'Subscription changed')], max_length=30),
        ),
        migrations.AlterField(
            model_name='unnumberedevent',
            name='type',
            field=models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed'), ('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('CASH_CHANGED', 'Cash changed'), ('DEPOSIT_UNASSIGNED', 'Deposit unassigned'), ('INVESTOR_CHANGED', 'Investor changed'), ('MARKET_PHASE_CHANGED', 'Market phase changed'), ('MARKET_PARAMETERS_CHANGED', 'Market parameters changed'), ('ORDER_ENDS_AT_OPENING', 'Order ends at the next opening'), ('AUCTION_INDICATED', 'Auction indicated'), ('ORDERS_BLOCKED', 'Orders blocked'), ('ORDERS_RELEASED', 'Orders released'), ('OFFERING_CHANGED', 'Offering changed'), ('SUBSCRIPTION_CHANGED', 'Subscription changed')], max_length=30),
        ),
        migrations.CreateModel(
            name='IssuerCash',
            fields=[
                ('issuer', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='cash', serialize=False, to='issuers.issuer')),
                ('cash_account', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='issuer_cash', to='accounts.cashaccount')),
            ],
            options={
                'verbose_name_plural': 'cash of issuers',
            },
        ),
        migrations.CreateModel(
            name='Offering',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('status', models.CharField(choices=[('DRAFT', 'Draft'), ('OPEN', 'Open'), ('CLOSED', 'Closed'), ('ALLOTTED', 'Allotted'), ('SETTLED', 'Settled'), ('FAILED', 'Failed'), ('WITHDRAWN', 'Withdrawn')], max_length=9)),
                ('status_reason', models.CharField(blank=True, max_length=500)),
                ('rule', models.CharField(choices=[('FIRST_COME', 'First come, first served'), ('PRO_RATA', 'Pro rata'), ('BOOK', 'One price from the book')], max_length=10)),
                ('source', models.CharField(choices=[('TREASURY', "The issuer's treasury"), ('MINT', 'New units')], max_length=8)),
                ('price', models.BigIntegerField(help_text='Euro cents; empty until the book has given it.', null=True)),
                ('price_floor', models.BigIntegerField(help_text='Euro cents.', null=True)),
                ('price_cap', models.BigIntegerField(help_text='Euro cents.', null=True)),
                ('maximum_units', models.BigIntegerField(help_text='Units offered.')),
                ('minimum_units', models.BigIntegerField(help_text='With fewer it fails.')),
                ('smallest_ticket', models.BigIntegerField(help_text='Units of a subscription.')),
                ('largest_ticket', models.BigIntegerField(help_text='Units of a subscription; empty: no bound.', null=True)),
                ('opens_at', models.DateTimeField()),
                ('closes_at', models.DateTimeField()),
                ('reflection_seconds', models.BigIntegerField(help_text='How long an investor that is not sophisticated may withdraw.')),
                ('fee_bps', models.IntegerField(help_text='Basis points of the proceeds.')),
                ('vat_bps', models.IntegerField(help_text='Value added tax, basis points of the fee.')),
                ('documents', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                ('settling_until', models.DateTimeField(null=True)),
                ('fee_net', models.BigIntegerField(help_text='Euro cents.', null=True)),
                ('fee_vat', models.BigIntegerField(help_text='Euro cents.', null=True)),
                ('fee_transaction', models.BigIntegerField(null=True, unique=True)),
                ('created_by', models.CharField(max_length=254)),
                ('opened_by', models.CharField(blank=True, max_length=254)),
                ('approved_by', models.CharField(blank=True, max_length=254)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='offerings', to='issuers.token')),
            ],
        ),
        migrations.CreateModel(
            name='Subscription',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('quantity', models.BigIntegerField(help_text='Units.')),
                ('limit_price', models.BigIntegerField(help_text='Euro cents.')),
                ('status', models.CharField(choices=[('ACTIVE', 'Active'), ('WITHDRAWN', 'Withdrawn'), ('SETTLED', 'Settled'), ('RELEASED', 'Released')], max_length=9)),
                ('version', models.IntegerField()),
                ('ranked_at', models.DateTimeField()),
                ('reflects_until', models.DateTimeField()),
                ('allotted', models.BigIntegerField(help_text='Units.', null=True)),
                ('refusal', models.CharField(blank=True, max_length=40)),
                ('ledger_seq', models.BigIntegerField(null=True)),
                ('cash_transaction', models.BigIntegerField(null=True, unique=True)),
                ('created_at', models.DateTimeField()),
                ('updated_at', models.DateTimeField()),
                ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='subscriptions', to='accounts.account')),
                ('cash_account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.cashaccount')),
                ('ledger_account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.ledgeraccount')),
                ('offering', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='subscriptions', to='issuers.offering')),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddIndex(
            model_name='offering',
            index=models.Index(fields=['opens_at', 'id'], name='offering_list_order'),
        ),
        migrations.AddIndex(
            model_name='offering',
            index=models.Index(fields=['token', 'opens_at'], name='offerings_of_a_token'),
        ),
        migrations.AddIndex(
            model_name='offering',
            index=models.Index(condition=models.Q(('status__in', ['OPEN', 'CLOSED'])), fields=['closes_at'], name='offering_due'),
        ),
        migrations.AddIndex(
            model_name='offering',
            index=models.Index(condition=models.Q(('settling_until__isnull', False)), fields=['settling_until'], name='offering_settling'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['DRAFT', 'OPEN', 'CLOSED', 'ALLOTTED', 'SETTLED', 'FAILED', 'WITHDRAWN'])), name='offering_status_is_known'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.CheckConstraint(condition=models.Q(('source__in', ['TREASURY', 'MINT'])), name='offering_source_is_known'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('price__gte', 1), ('price_cap__isnull', True), ('price_floor__isnull', True), ('rule__in', ['FIRST_COME', 'PRO_RATA'])), models.Q(('price_cap__gte', models.F('price_floor')), ('price_floor__gte', 1), ('rule', 'BOOK'), models.Q(('price__isnull', True), models.Q(('price__gte', models.F('price_floor')), ('price__lte', models.F('price_cap'))), _connector='OR')), _connector='OR'), name='offering_price_is_fixed_or_from_a_book'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.CheckConstraint(condition=models.Q(('maximum_units__gte', models.F('minimum_units')), ('minimum_units__gte', 1)), name='offering_minimum_is_within_its_maximum'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.CheckConstraint(condition=models.Q(('smallest_ticket__gte', 1), ('smallest_ticket__lte', models.F('maximum_units')), models.Q(('largest_ticket__isnull', True), ('largest_ticket__gte', models.F('smallest_ticket')), _connector='OR')), name='offering_tickets_are_within_its_maximum'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.CheckConstraint(condition=models.Q(('closes_at__gt', models.F('opens_at'))), name='offering_closes_after_it_opens'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.CheckConstraint(condition=models.Q(('fee_bps__gte', 0), ('fee_bps__lte', 10000), ('vat_bps__gte', 0), ('vat_bps__lte', 10000)), name='offering_rates_are_within_the_value'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.CheckConstraint(condition=models.Q(('reflection_seconds__gte', 0), ('reflection_seconds__lte', 31536000)), name='offering_reflection_is_within_a_year'),
        ),
        migrations.AddConstraint(
            model_name='offering',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ['OPEN', 'CLOSED', 'ALLOTTED'])), fields=('token',), name='offering_under_way_is_one_of_its_token'),
        ),
        migrations.AddIndex(
            model_name='subscription',
            index=models.Index(fields=['account', 'created_at', 'id'], name='subscription_list_order'),
        ),
        migrations.AddIndex(
            model_name='subscription',
            index=models.Index(fields=['offering', 'ranked_at', 'id'], name='subscriptions_by_time'),
        ),
        migrations.AddIndex(
            model_name='subscription',
            index=models.Index(condition=models.Q(('status', 'ACTIVE')), fields=['cash_account'], name='subscription_reserves'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ['ACTIVE', 'WITHDRAWN', 'SETTLED', 'RELEASED'])), name='subscription_status_is_known'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.CheckConstraint(condition=models.Q(('limit_price__gte', 1), ('quantity__gte', 1)), name='subscription_is_of_units_at_a_price'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.CheckConstraint(condition=models.Q(('allotted__isnull', True), models.Q(('allotted__gte', 0), ('allotted__lte', models.F('quantity'))), _connector='OR'), name='subscription_gets_at_most_its_units'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('allotted__gte', 1), ('cash_transaction__isnull', False), ('ledger_seq__isnull', False), ('status', 'SETTLED')), models.Q(models.Q(('status', 'SETTLED'), _negated=True), ('cash_transaction__isnull', True), ('ledger_seq__isnull', True)), _connector='OR'), name='subscription_that_settled_has_its_entry_and_payment'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'ACTIVE')), fields=('account', 'offering'), name='subscription_of_an_account_is_one'),
        ),
    ]
