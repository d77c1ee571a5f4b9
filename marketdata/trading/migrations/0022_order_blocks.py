"""Blocks of orders."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0066_order_blocks'),
        ('issuers', '0082_deposits_unassigned'),
        ('trading', '0021_phase_events'),
    ]

    operations = [
        migrations.CreateModel(
            name='OrderBlock',
            fields=[
                ('id', models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ('is_staff', models.BooleanField(help_text='Whether staff blocked it.')),
                ('reason', models.CharField(blank=True, max_length=500)),
                ('blocked_by', models.CharField(max_length=254)),
                ('blocked_at', models.DateTimeField()),
                ('released_by', models.CharField(max_length=254, null=True)),
                ('released_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='order_blocks', to='accounts.account')),
                ('partner', models.ForeignKey(db_constraint=False, help_text='Empty: all partners.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='order_blocks', to='accounts.partner')),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='order_blocks', to='issuers.token')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('partner__isnull', False), models.Q(('account__isnull', True), ('is_staff', True), ('token__isnull', True)), _connector='OR'), name='order_block_is_of_a_partner_or_by_staff'), models.CheckConstraint(condition=models.Q(models.Q(('released_at__isnull', True), ('released_by__isnull', True)), models.Q(('released_at__isnull', False), ('released_by__isnull', False)), _connector='OR'), name='order_block_names_who_released_it'), models.UniqueConstraint(condition=models.Q(('released_at__isnull', True)), fields=('partner', 'account', 'token', 'is_staff'), name='order_block_stands_once', nulls_distinct=False)],
            },
        ),
    ]
