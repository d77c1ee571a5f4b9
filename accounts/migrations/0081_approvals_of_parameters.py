"""Two people change the parameters of a market."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0080_approvals_of_erasures'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='approvalrequest',
            options={'permissions': [('file_mint', 'Can ask for: Mint'), ('file_burn', 'Can ask for: Burn'), ('file_forced_transfer', 'Can ask for: Forced transfer'), ('file_reversal', 'Can ask for: Reversal'), ('file_price', 'Can ask for: Price'), ('file_delivery', 'Can ask for: Delivery of legacy shares'), ('file_key', 'Can ask for: API key'), ('file_closing', 'Can ask for: Closing of an account'), ('file_withdrawal', 'Can ask for: Withdrawal of cash'), ('file_assignment', 'Can ask for: Assignment of an unallocated receipt'), ('file_rule', 'Can ask for: Rule of a token'), ('file_lifting', 'Can ask for: Lifting of a restriction'), ('file_bust', 'Can ask for: Bust of a trade'), ('file_reopen', 'Can ask for: Reopening of a halted market'), ('file_statement', 'Can ask for: Bank statement'), ('file_transfer', 'Can ask for: Transfer, allocation or return'), ('file_identity', 'Can ask for: Symbol or ISIN of a traded token'), ('file_grant', 'Can ask for: Grant to a partner'), ('file_register', 'Can ask for: Register of a new issuer'), ('file_desk', "Can ask for: Member of a partner's desk"), ('file_release', 'Can ask for: Release of blocked orders'), ('file_sign_in', 'Can ask for: Reset of a sign-in'), ('file_tariff', 'Can ask for: Tariff of a market'), ('file_parameters', 'Can ask for: Parameters of a market'), ('file_erasure', 'Can ask for: Erasure of a person'), ('decide_mint', 'Can decide: Mint'), ('decide_burn', 'Can decide: Burn'), ('decide_forced_transfer', 'Can decide: Forced transfer'), ('decide_reversal', 'Can decide: Reversal'), ('decide_price', 'Can decide: Price'), ('decide_delivery', 'Can decide: Delivery of legacy shares'), ('decide_key', 'Can decide: API key'), ('decide_closing', 'Can decide: Closing of an account'), ('decide_withdrawal', 'Can decide: Withdrawal of cash'), ('decide_assignment', 'Can decide: Assignment of an unallocated receipt'), ('decide_rule', 'Can decide: Rule of a token'), ('decide_lifting', 'Can decide: Lifting of a restriction'), ('decide_bust', 'Can decide: Bust of a trade'), ('decide_reopen', 'Can decide: Reopening of a halted market'), ('decide_statement', 'Can decide: Bank statement'), ('decide_transfer', 'Can decide: Transfer, allocation or return'), ('decide_identity', 'Can decide: Symbol or ISIN of a traded token'), ('decide_grant', 'Can decide: Grant to a partner'), ('decide_register', 'Can decide: Register of a new issuer'), ('decide_desk', "Can decide: Member of a partner's desk"), ('decide_release', 'Can decide: Release of blocked orders'), ('decide_sign_in', 'Can decide: Reset of a sign-in'), ('decide_tariff', 'Can decide: Tariff of a market'), ('decide_parameters', 'Can decide: Parameters of a market'), ('decide_erasure', 'Can decide: Erasure of a person')]},
        ),
        migrations.AlterField(
            model_name='approvalpolicy',
            name='kind',
            field=models.CharField(choices=[('MINT', 'Mint'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('REVERSAL', 'Reversal'), ('PRICE', 'Price'), ('DELIVERY', 'Delivery of legacy shares'), ('KEY', 'API key'), ('CLOSING', 'Closing of an account'), ('WITHDRAWAL', 'Withdrawal of cash'), ('ASSIGNMENT', 'Assignment of an unallocated receipt'), ('RULE', 'Rule of a token'), ('LIFTING', 'Lifting of a restriction'), ('BUST', 'Bust of a trade'), ('REOPEN', 'Reopening of a halted market'), ('STATEMENT', 'Bank statement'), ('TRANSFER', 'Transfer, allocation or return'), ('IDENTITY', 'Symbol or ISIN of a traded token'), ('GRANT', 'Grant to a partner'), ('REGISTER', 'Register of a new issuer'), ('DESK', "Member of a partner's desk"), ('RELEASE', 'Release of blocked orders'), ('SIGN_IN', 'Reset of a sign-in'), ('TARIFF', 'Tariff of a market'), ('PARAMETERS', 'Parameters of a market'), ('ERASURE', 'Erasure of a person')], max_length=20, primary_key=True, serialize=False),
        ),
        migrations.AlterField(
            model_name='approvalrequest',
            name='kind',
            field=models.CharField(choices=[('MINT', 'Mint'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('REVERSAL', 'Reversal'), ('PRICE', 'Price'), ('DELIVERY', 'Delivery of legacy shares'), ('KEY', 'API key'), ('CLOSING', 'Closing of an account'), ('WITHDRAWAL', 'Withdrawal of cash'), ('ASSIGNMENT', 'Assignment of an unallocated receipt'), ('RULE', 'Rule of a token'), ('LIFTING', 'Lifting of a restriction'), ('BUST', 'Bust of a trade'), ('REOPEN', 'Reopening of a halted market'), ('STATEMENT', 'Bank statement'), ('TRANSFER', 'Transfer, allocation or return'), ('IDENTITY', 'Symbol or ISIN of a traded token'), ('GRANT', 'Grant to a partner'), ('REGISTER', 'Register of a new issuer'), ('DESK', "Member of a partner's desk"), ('RELEASE', 'Release of blocked orders'), ('SIGN_IN', 'Reset of a sign-in'), ('TARIFF', 'Tariff of a market'), ('PARAMETERS', 'Parameters of a market'), ('ERASURE', 'Erasure of a person')], editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name='soleamount',
            name='kind',
            field=models.CharField(choices=[('MINT', 'Mint'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('REVERSAL', 'Reversal'), ('PRICE', 'Price'), ('DELIVERY', 'Delivery of legacy shares'), ('KEY', 'API key'), ('CLOSING', 'Closing of an account'), ('WITHDRAWAL', 'Withdrawal of cash'), ('ASSIGNMENT', 'Assignment of an unallocated receipt'), ('RULE', 'Rule of a token'), ('LIFTING', 'Lifting of a restriction'), ('BUST', 'Bust of a trade'), ('REOPEN', 'Reopening of a halted market'), ('STATEMENT', 'Bank statement'), ('TRANSFER', 'Transfer, allocation or return'), ('IDENTITY', 'Symbol or ISIN of a traded token'), ('GRANT', 'Grant to a partner'), ('REGISTER', 'Register of a new issuer'), ('DESK', "Member of a partner's desk"), ('RELEASE', 'Release of blocked orders'), ('SIGN_IN', 'Reset of a sign-in'), ('TARIFF', 'Tariff of a market'), ('PARAMETERS', 'Parameters of a market'), ('ERASURE', 'Erasure of a person')], max_length=20),
        ),
    ]
