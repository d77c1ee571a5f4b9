"""The models of the first migrations, whose tables `baseline.sql` makes."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import marketdata.models.sessions
from django.db import migrations, models

from partnerapi.core.migrating import refuse_without_baseline


MODELS = [
    migrations.CreateModel(
        name='FixSession',
        fields=[
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('comp_id', models.CharField(help_text='SenderCompID (tag 49) that the partner sends.', max_length=20, unique=True, verbose_name='CompID')),
            ('enabled', models.BooleanField(default=True, help_text='Off: its Logon is refused.')),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('connected_since', models.DateTimeField(editable=False, null=True)),
            ('last_heartbeat_at', models.DateTimeField(editable=False, null=True)),
            ('last_logout_reason', models.CharField(blank=True, editable=False, max_length=200)),
            ('messages_sent', models.BigIntegerField(default=0, editable=False, help_text='Since the session was created.')),
            ('book_sequence', models.BooleanField(default=False, help_text="Whether W and X carry the book's sequence number, in a tag outside FIX 4.4.", verbose_name='BookSequence(5083)')),
            ('sources', django.contrib.postgres.fields.ArrayField(base_field=marketdata.models.sessions.NetworkField(), blank=True, db_default=[], default=list, help_text='Networks from which its Logon is accepted, such as 203.0.113.0/24, separated by commas; none: any.', size=None, verbose_name='source networks')),
            ('partner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='fix_sessions', to='accounts.partner')),
        ],
        options={
            'verbose_name': 'FIX session',
            'ordering': ['comp_id'],
            'constraints': [models.CheckConstraint(condition=models.Q(('comp_id__regex', '^[A-Z0-9]+$')), name='fix_session_comp_id_is_upper_case')],
        },
    ),
    migrations.CreateModel(
        name='OrderBookHead',
        fields=[
            ('token', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='order_book_head', serialize=False, to='issuers.token')),
            ('last_sequence', models.BigIntegerField(default=0)),
            ('last_trade', models.BigIntegerField(default=0)),
            ('last_snapshot', models.BigIntegerField(default=0, help_text='Sequence of the newest snapshot.')),
            ('last_at', models.DateTimeField(null=True)),
            ('fingerprint', models.DecimalField(db_default=0, decimal_places=0, help_text='Sum of the digests of all changes and trades; shows tampering.', max_digits=30)),
            ('source', models.CharField(choices=[('EXTERNAL', 'Fed from outside'), ('OWN', 'Internal market')], db_default='EXTERNAL', default='EXTERNAL', max_length=8)),
        ],
    ),
    migrations.CreateModel(
        name='BookSnapshot',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'sequence', blank=True, editable=False, primary_key=True, serialize=False)),
            ('sequence', models.BigIntegerField(help_text='The last change included.')),
            ('trade_sequence', models.BigIntegerField(help_text='The last trade before it.')),
            ('at', models.DateTimeField()),
            ('bid_prices', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
            ('bid_quantities', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
            ('ask_prices', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
            ('ask_quantities', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
            ('fingerprint', models.DecimalField(db_default=0, decimal_places=0, help_text="The head's fingerprint at that point.", max_digits=30)),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='book_snapshots', to='issuers.token')),
        ],
    ),
    migrations.CreateModel(
        name='FixLease',
        fields=[
            ('session', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='marketdata.fixsession')),
            ('acceptor', models.CharField(max_length=50)),
            ('generation', models.BigIntegerField()),
            ('taken', models.BigIntegerField(help_text='The generation that holds it.')),
            ('until', models.DateTimeField()),
        ],
    ),
    migrations.CreateModel(
        name='Trade',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'sequence', blank=True, editable=False, primary_key=True, serialize=False)),
            ('sequence', models.BigIntegerField(help_text='From 1, without gaps, per token.')),
            ('price_cents', models.BigIntegerField(help_text='Price of a unit, euro cents.')),
            ('quantity', models.BigIntegerField()),
            ('at', models.DateTimeField()),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='trades', to='issuers.token')),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('price_cents__gt', 0)), name='trade_price_is_positive'), models.CheckConstraint(condition=models.Q(('quantity__gt', 0)), name='trade_quantity_is_positive')],
        },
    ),
    migrations.CreateModel(
        name='TradingDay',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'first_trade', blank=True, editable=False, primary_key=True, serialize=False)),
            ('day', models.DateField()),
            ('open_cents', models.BigIntegerField(help_text='Price of the first trade.')),
            ('high_cents', models.BigIntegerField()),
            ('low_cents', models.BigIntegerField()),
            ('close_cents', models.BigIntegerField(help_text='Price of the last trade.')),
            ('volume', models.DecimalField(decimal_places=0, help_text='Units that changed hands.', max_digits=30)),
            ('value_cents', models.DecimalField(decimal_places=0, help_text='Sum of price times units.', max_digits=50)),
            ('trades', models.BigIntegerField()),
            ('first_trade', models.BigIntegerField(help_text='Number of the first trade.')),
            ('last_trade', models.BigIntegerField(help_text='Number of the last trade.')),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='trading_days', to='issuers.token')),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('token', 'day'), name='trading_day_is_kept_once')],
        },
    ),
    migrations.CreateModel(
        name='BookChange',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'sequence', blank=True, editable=False, primary_key=True, serialize=False)),
            ('sequence', models.BigIntegerField(help_text='From 1, without gaps, per token.')),
            ('side', models.SmallIntegerField(choices=[(0, 'Bid'), (1, 'Ask')])),
            ('price_cents', models.BigIntegerField(help_text='Price of a unit, euro cents.')),
            ('quantity', models.BigIntegerField(help_text='Units at this price afterwards.')),
            ('ends_message', models.BooleanField(help_text='Whether a message ends here; within one, a book may be crossed.')),
            ('at', models.DateTimeField()),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='book_changes', to='issuers.token')),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('side__in', [0, 1])), name='book_change_side_is_known'), models.CheckConstraint(condition=models.Q(('price_cents__gt', 0)), name='book_change_price_is_positive'), models.CheckConstraint(condition=models.Q(('quantity__gte', 0)), name='book_change_quantity_is_not_negative')],
        },
    ),
    migrations.CreateModel(
        name='BookLevel',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'side', 'price_cents', blank=True, editable=False, primary_key=True, serialize=False)),
            ('side', models.SmallIntegerField(choices=[(0, 'Bid'), (1, 'Ask')])),
            ('price_cents', models.BigIntegerField()),
            ('quantity', models.BigIntegerField()),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='book_levels', to='issuers.token')),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('quantity__gt', 0)), name='book_level_is_not_empty')],
        },
    ),
]
REPLACED = """
    0001_books 0002_book_heads 0003_book_writer 0004_book_guards
    0005_books_are_the_owners 0006_trading_days 0007_book_sequence 0008_leases
    0009_history 0010_prices_of_trades 0011_days_of_the_tape 0012_source_networks
    0013_own_books
"""


class Migration(migrations.Migration):
    replaces = [("marketdata", name) for name in REPLACED.split()]
    initial = True

    dependencies = [
        ('accounts', '0025_baseline'),
        ('issuers', '0043_baseline'),
    ]

    operations = [
        migrations.RunPython(refuse_without_baseline),
        migrations.SeparateDatabaseAndState(state_operations=MODELS),
    ]
