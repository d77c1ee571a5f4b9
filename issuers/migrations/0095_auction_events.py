"""Events that say how the auction of a call stands."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0094_parameters_events'),
    ]

    operations = [
        migrations.AlterField(
            model_name='event',
            name='type',
            field=models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed'), ('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('CASH_CHANGED', 'Cash changed'), ('DEPOSIT_UNASSIGNED', 'Deposit unassigned'), ('INVESTOR_CHANGED', 'Investor changed'), ('MARKET_PHASE_CHANGED', 'Market phase changed'), ('MARKET_PARAMETERS_CHANGED', 'Market parameters changed'), ('ORDER_ENDS_AT_OPENING', 'Order ends at the next opening'), ('AUCTION_INDICATED', 'Auction indicated'), ('ORDERS_BLOCKED', 'Orders blocked'), ('ORDERS_RELEASED', 'Orders released')], max_length=30),
        ),
        migrations.AlterField(
            model_name='eventcount',
            name='type',
            field=models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed'), ('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('CASH_CHANGED', 'Cash changed'), ('DEPOSIT_UNASSIGNED', 'Deposit unassigned'), ('INVESTOR_CHANGED', 'Investor changed'), ('MARKET_PHASE_CHANGED', 'Market phase changed'), ('MARKET_PARAMETERS_CHANGED', 'Market parameters changed'), ('ORDER_ENDS_AT_OPENING', 'Order ends at the next opening'), ('AUCTION_INDICATED', 'Auction indicated'), ('ORDERS_BLOCKED', 'Orders blocked'), ('ORDERS_RELEASED', 'Orders released')], max_length=30),
        ),
        migrations.AlterField(
            model_name='unnumberedevent',
            name='type',
            field=models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed'), ('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('CASH_CHANGED', 'Cash changed'), ('DEPOSIT_UNASSIGNED', 'Deposit unassigned'), ('INVESTOR_CHANGED', 'Investor changed'), ('MARKET_PHASE_CHANGED', 'Market phase changed'), ('MARKET_PARAMETERS_CHANGED', 'Market parameters changed'), ('ORDER_ENDS_AT_OPENING', 'Order ends at the next opening'), ('AUCTION_INDICATED', 'Auction indicated'), ('ORDERS_BLOCKED', 'Orders blocked'), ('ORDERS_RELEASED', 'Orders released')], max_length=30),
        ),
    ]
