"""Contract: the constraint on events makes way for one that knows corrections.

The old release needs nothing of it.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0102_bust_requests'),
        ("trading", "0041_listed_auctions"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='orderevent',
            name='order_event_is_of_an_order_or_a_phase',
        ),
        migrations.AddField(
            model_name='execution',
            name='corrects',
            field=models.BigIntegerField(help_text='The busted trade in whose place it was entered.', null=True),
        ),
        migrations.AlterField(
            model_name='orderevent',
            name='kind',
            field=models.CharField(choices=[('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('TRADE_CORRECTED', 'Trade corrected'), ('PHASE_CHANGED', 'Phase changed')], max_length=15),
        ),
        AddConstraintNotValid(
            model_name='orderevent',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'PHASE_CHANGED'), ('order__isnull', True), ('phase__isnull', False)), models.Q(('kind__in', ['ORDER_ACCEPTED', 'ORDER_AMENDED', 'ORDER_TRADED', 'ORDER_CANCELLED', 'ORDER_EXPIRED', 'TRADE_BUSTED', 'TRADE_CORRECTED']), ('order__isnull', False), ('phase__isnull', True)), _connector='OR'), name='order_event_is_of_an_order_or_a_phase'),
        ),
    ]
