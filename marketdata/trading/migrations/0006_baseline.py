"""The models of the first migrations, whose tables `baseline.sql` makes."""

import django.db.models.deletion
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models

from partnerapi.core.migrating import refuse_without_baseline


MODELS = [
    migrations.CreateModel(
        name='Fill',
        fields=[
            ('id', models.UUIDField(primary_key=True, serialize=False)),
        ],
        options={
            'managed': False,
            'db_table': 'trading_fill',
        },
    ),
    migrations.CreateModel(
        name='RegisterTold',
        fields=[
            ('token', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='issuers.token')),
            ('ledger_seq', models.BigIntegerField()),
        ],
    ),
    migrations.CreateModel(
        name='Market',
        fields=[
            ('token', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='market', serialize=False, to='issuers.token')),
            ('phase', models.CharField(choices=[('CLOSED', 'Closed'), ('CALL', 'Call'), ('CONTINUOUS', 'Continuous'), ('HALTED', 'Halted')], max_length=10)),
            ('phase_since', models.DateTimeField()),
            ('next_phase', models.CharField(choices=[('CLOSED', 'Closed'), ('CALL', 'Call'), ('CONTINUOUS', 'Continuous'), ('HALTED', 'Halted')], max_length=10, null=True)),
            ('next_phase_at', models.DateTimeField(null=True)),
            ('session_opens', models.TimeField()),
            ('session_closes', models.TimeField()),
            ('weekdays_only', models.BooleanField()),
            ('tick_cents', models.BigIntegerField(help_text='Prices are multiples of it.')),
            ('lot_units', models.BigIntegerField(help_text='Quantities are multiples of it.')),
            ('collar_bps', models.IntegerField(help_text='Largest distance of a limit from the reference price, in basis points.')),
            ('reference_price', models.BigIntegerField(help_text='Euro cents.', null=True)),
            ('last_event', models.BigIntegerField(default=0)),
            ('last_phase_event', models.BigIntegerField(default=0)),
            ('last_at', models.DateTimeField(help_text='Time of the last event.')),
            ('halt_reason', models.CharField(blank=True, max_length=500)),
        ],
        options={
            'indexes': [models.Index(condition=models.Q(('next_phase_at__isnull', False)), fields=['next_phase_at'], name='market_phases_to_come')],
            'constraints': [models.CheckConstraint(condition=models.Q(('phase__in', ['CLOSED', 'CONTINUOUS', 'HALTED'])), name='market_phase_is_known'), models.CheckConstraint(condition=models.Q(('lot_units__gt', 0), ('tick_cents__gt', 0)), name='market_tick_and_lot_are_positive'), models.CheckConstraint(condition=models.Q(('collar_bps__gt', 0), ('collar_bps__lt', 10000)), name='market_collar_is_below_the_price'), models.CheckConstraint(condition=models.Q(models.Q(('phase', 'CONTINUOUS'), _negated=True), ('reference_price__gt', 0), _connector='OR'), name='market_trades_around_a_reference_price')],
        },
    ),
    migrations.CreateModel(
        name='Order',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('side', models.SmallIntegerField(choices=[(0, 'Buy'), (1, 'Sell')])),
            ('limit_price', models.BigIntegerField(help_text='Price of a unit, euro cents.')),
            ('quantity', models.BigIntegerField(help_text='Units, including those filled.')),
            ('filled', models.BigIntegerField(default=0)),
            ('filled_value', models.BigIntegerField(default=0, help_text='Euro cents.')),
            ('time_in_force', models.CharField(choices=[('DAY', 'Until the session ends'), ('GTC', 'Until cancelled, 90 days at most'), ('GTD', 'Until a time'), ('IOC', 'Immediate or cancel'), ('FOK', 'Fill or kill')], max_length=3)),
            ('expires_at', models.DateTimeField(null=True)),
            ('status', models.CharField(choices=[('OPEN', 'Open'), ('FILLED', 'Filled'), ('CANCELLED', 'Cancelled'), ('EXPIRED', 'Expired')], max_length=9)),
            ('status_reason', models.CharField(choices=[('BY_PARTNER', 'Cancelled by the partner'), ('BY_STAFF', 'Cancelled by staff'), ('IMMEDIATE_OR_CANCEL', 'What did not trade at once'), ('FILL_OR_KILL', 'It could not trade whole'), ('SELF_TRADE', 'It met an order of its own user'), ('ACCOUNT_NOT_ACTIVE', 'The account left ACTIVE'), ('HOLDER_FROZEN', 'The holder was frozen'), ('UNITS_LOCKED', "The holder's units were locked"), ('NOT_ELIGIBLE', 'A rule refused the fill that it was due'), ('RULE_CHANGED', 'A new rule refuses it'), ('END_OF_SESSION', 'The session ended'), ('TIME_IN_FORCE', 'Its time was over')], max_length=20, null=True)),
            ('priority', models.BigIntegerField()),
            ('version', models.IntegerField(default=1)),
            ('last_event', models.BigIntegerField()),
            ('client_order_id', models.CharField(max_length=64, null=True)),
            ('created_at', models.DateTimeField()),
            ('updated_at', models.DateTimeField()),
            ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='accounts.account')),
            ('cash_account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.cashaccount')),
            ('ledger_account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.ledgeraccount')),
            ('partner', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='accounts.partner')),
            ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='issuers.token')),
            ('user', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'indexes': [models.Index(condition=models.Q(('status', 'OPEN')), fields=['token', 'side', 'limit_price', 'priority'], name='order_queues'), models.Index(condition=models.Q(('status', 'OPEN')), fields=['account', 'token'], name='order_open_of_account'), models.Index(condition=models.Q(('status', 'OPEN')), fields=['user'], name='order_open_of_user'), models.Index(condition=models.Q(('status', 'OPEN')), fields=['expires_at'], name='order_expiry'), models.Index(fields=['account', 'created_at', 'id'], name='order_list_of_account'), models.Index(fields=['partner', 'created_at', 'id'], name='order_list_of_partner'), models.Index(fields=['partner', 'status', 'created_at', 'id'], name='order_list_by_status'), models.Index(fields=['partner', 'token', 'created_at', 'id'], name='order_list_of_token'), models.Index(condition=models.Q(('client_order_id__isnull', False)), fields=['client_order_id'], name='order_by_client_order_id')],
            'constraints': [models.CheckConstraint(condition=models.Q(('side__in', [0, 1])), name='order_side_is_known'), models.CheckConstraint(condition=models.Q(('limit_price__gt', 0), ('quantity__gt', 0)), name='order_price_and_quantity_are_positive'), models.CheckConstraint(condition=models.Q(('filled__gte', 0), ('filled__lte', models.F('quantity'))), name='order_is_filled_within_its_quantity'), models.CheckConstraint(condition=models.Q(models.Q(('filled', models.F('quantity')), ('status', 'FILLED')), models.Q(('status__in', ['OPEN', 'CANCELLED', 'EXPIRED']), ('filled__lt', models.F('quantity'))), _connector='OR'), name='order_is_filled_when_all_of_it_is'), models.CheckConstraint(condition=models.Q(models.Q(('status__in', ['OPEN', 'FILLED']), ('status_reason__isnull', True)), models.Q(('status__in', ['CANCELLED', 'EXPIRED']), ('status_reason__isnull', False)), _connector='OR'), name='order_that_ended_early_says_why'), models.CheckConstraint(condition=models.Q(models.Q(('expires_at__isnull', True), ('time_in_force__in', ['IOC', 'FOK']), models.Q(('status__in', ['OPEN', 'EXPIRED']), _negated=True)), models.Q(('expires_at__isnull', False), ('time_in_force__in', ['DAY', 'GTC', 'GTD'])), _connector='OR'), name='order_rests_until_it_expires'), models.UniqueConstraint(fields=('account', 'client_order_id'), name='client_order_id_is_used_once')],
        },
    ),
    migrations.CreateModel(
        name='Execution',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'sequence', blank=True, editable=False, primary_key=True, serialize=False)),
            ('sequence', models.BigIntegerField(help_text='Number of the trade on the tape.')),
            ('price', models.BigIntegerField(help_text='Price of a unit, euro cents.')),
            ('quantity', models.BigIntegerField()),
            ('aggressor', models.SmallIntegerField(choices=[(0, 'Buy'), (1, 'Sell')], help_text='Side of the incoming order; null: an auction.', null=True)),
            ('ledger_seq', models.BigIntegerField()),
            ('cash_transaction', models.BigIntegerField()),
            ('event', models.BigIntegerField(help_text='Event of the incoming order.')),
            ('at', models.DateTimeField()),
            ('buyer_account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.account')),
            ('seller_account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.account')),
            ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='executions', to='issuers.token')),
            ('buy_order', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='trading.order')),
            ('sell_order', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='trading.order')),
        ],
        options={
            'indexes': [models.Index(fields=['buy_order', 'sequence'], name='execution_of_buy'), models.Index(fields=['sell_order', 'sequence'], name='execution_of_sell'), models.Index(fields=['buyer_account', 'at', 'sequence', 'token'], name='execution_list_of_buyer'), models.Index(fields=['seller_account', 'at', 'sequence', 'token'], name='execution_list_of_seller')],
            'constraints': [models.CheckConstraint(condition=models.Q(('price__gt', 0), ('quantity__gt', 0)), name='execution_is_of_units_at_a_price'), models.CheckConstraint(condition=models.Q(('aggressor__isnull', True), ('aggressor__in', [0, 1]), _connector='OR'), name='execution_aggressor_is_known'), models.UniqueConstraint(fields=('token', 'ledger_seq'), name='execution_has_its_own_entry'), models.UniqueConstraint(fields=('cash_transaction',), name='execution_has_its_own_payment')],
        },
    ),
    migrations.CreateModel(
        name='OrderEvent',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
            ('number', models.BigIntegerField(help_text='From 1, without gaps, per token.')),
            ('kind', models.CharField(choices=[('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('PHASE_CHANGED', 'Phase changed')], max_length=15)),
            ('price', models.BigIntegerField(null=True)),
            ('quantity', models.BigIntegerField(null=True)),
            ('filled', models.BigIntegerField(null=True)),
            ('remaining', models.BigIntegerField(null=True)),
            ('value', models.BigIntegerField(null=True)),
            ('priority', models.BigIntegerField(null=True)),
            ('trade', models.BigIntegerField(help_text='Number of the trade on the tape.', null=True)),
            ('phase', models.CharField(choices=[('CLOSED', 'Closed'), ('CALL', 'Call'), ('CONTINUOUS', 'Continuous'), ('HALTED', 'Halted')], max_length=10, null=True)),
            ('reason', models.CharField(blank=True, max_length=500)),
            ('actor', models.CharField(max_length=254)),
            ('at', models.DateTimeField()),
            ('order', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='events', to='trading.order')),
            ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='order_events', to='issuers.token')),
        ],
        options={
            'indexes': [models.Index(condition=models.Q(('order__isnull', False)), fields=['order', 'number'], name='order_event_of_order'), models.Index(condition=models.Q(('order__isnull', True)), fields=['token', 'number'], name='order_event_of_phase')],
            'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('kind', 'PHASE_CHANGED'), ('order__isnull', True), ('phase__isnull', False)), models.Q(('kind__in', ['ORDER_ACCEPTED', 'ORDER_AMENDED', 'ORDER_TRADED', 'ORDER_CANCELLED', 'ORDER_EXPIRED', 'TRADE_BUSTED']), ('order__isnull', False), ('phase__isnull', True)), _connector='OR'), name='order_event_is_of_an_order_or_a_phase')],
        },
    ),
    migrations.CreateModel(
        name='Bust',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'sequence', blank=True, editable=False, primary_key=True, serialize=False)),
            ('sequence', models.BigIntegerField(help_text='Number of the trade.')),
            ('ledger_seq', models.BigIntegerField()),
            ('cash_transaction', models.BigIntegerField(unique=True)),
            ('reason', models.CharField(max_length=500)),
            ('requested_by', models.CharField(max_length=254)),
            ('approved_by', models.CharField(max_length=254)),
            ('event', models.BigIntegerField(help_text="Event of the buyer; the seller's follows it.")),
            ('at', models.DateTimeField()),
            ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='busts', to='issuers.token')),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('token', 'ledger_seq'), name='bust_has_its_own_entry')],
        },
    ),
]
REPLACED = """
    0001_trading 0002_trading_guards 0003_partners_are_told 0004_look_ups
    0005_busted_days 0006_what_came_last
"""


class Migration(migrations.Migration):
    replaces = [("trading", name) for name in REPLACED.split()]
    initial = True

    dependencies = [
        ('accounts', '0025_baseline'),
        ('issuers', '0043_baseline'),
    ]

    operations = [
        migrations.RunPython(refuse_without_baseline),
        migrations.SeparateDatabaseAndState(state_operations=MODELS),
    ]
