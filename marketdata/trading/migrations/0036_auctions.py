"""Call auctions, and what markets keep for them and for their bands."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0081_approvals_of_parameters'),
        ('issuers', '0095_auction_events'),
        ("trading", "0035_market_parameters"),
    ]

    operations = [
        migrations.CreateModel(
            name='Auction',
            fields=[
                ('pk', models.CompositePrimaryKey('token_id', 'began', blank=True, editable=False, primary_key=True, serialize=False)),
                ('began', models.BigIntegerField()),
                ('reference_price', models.BigIntegerField(help_text='Euro cents.')),
                ('tick_cents', models.BigIntegerField()),
                ('tick_floors', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('tick_steps', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('earliest_at', models.DateTimeField(help_text='The end that is announced.')),
                ('ends_at', models.DateTimeField(help_text='The end that was drawn.')),
                ('lowest', models.BigIntegerField(help_text='Of the bands outside which an order would have traded.', null=True)),
                ('highest', models.BigIntegerField(null=True)),
                ('indicative_price', models.BigIntegerField(null=True)),
                ('indicative_quantity', models.BigIntegerField(null=True)),
                ('indicative_surplus', models.BigIntegerField(null=True)),
                ('indicated_event', models.BigIntegerField(help_text='Last event of the market that it takes into account.', null=True)),
                ('price', models.BigIntegerField(null=True)),
                ('quantity', models.BigIntegerField(null=True)),
                ('surplus', models.BigIntegerField(null=True)),
                ('fills', models.IntegerField(null=True)),
                ('settled', models.IntegerField(db_default=0, default=0)),
                ('first_event', models.BigIntegerField(null=True)),
                ('first_trade', models.BigIntegerField(null=True)),
                ('ended', models.BigIntegerField(null=True)),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='auctions', to='issuers.token')),
            ],
        ),
        migrations.CreateModel(
            name='AuctionFill',
            fields=[
                ('pk', models.CompositePrimaryKey('token_id', 'began', 'place', blank=True, editable=False, primary_key=True, serialize=False)),
                ('began', models.BigIntegerField()),
                ('place', models.IntegerField()),
                ('quantity', models.BigIntegerField()),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
                ('buy_order', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='trading.order')),
                ('sell_order', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='trading.order')),
            ],
        ),
        migrations.AddField(
            model_name='market',
            name='last_price',
            field=models.BigIntegerField(help_text='Of the last trade, euro cents; null: the reference price.', null=True),
        ),
        migrations.AddField(
            model_name='market',
            name='session_ends_at',
            field=models.DateTimeField(help_text='While it accepts orders: when those of the day end.', null=True),
        ),
        migrations.AddField(
            model_name='market',
            name='shows_book',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddIndex(
            model_name='auction',
            index=models.Index(condition=models.Q(('ended__isnull', True)), fields=['ends_at'], name='auctions_to_come'),
        ),
        migrations.AddConstraint(
            model_name='auction',
            constraint=models.CheckConstraint(condition=models.Q(('ends_at__gte', models.F('earliest_at'))), name='auction_ends_after_the_end_that_is_announced'),
        ),
        migrations.AddConstraint(
            model_name='auction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('fills__isnull', True), ('settled', 0)), models.Q(('settled__gte', 0), ('settled__lte', models.F('fills'))), _connector='OR'), name='auction_settles_what_it_lists'),
        ),
        migrations.AddConstraint(
            model_name='auctionfill',
            constraint=models.CheckConstraint(condition=models.Q(('quantity__gt', 0)), name='auction_fill_is_of_units'),
        ),
    ]
