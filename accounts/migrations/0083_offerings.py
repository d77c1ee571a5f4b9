"""Contract: the constraints that knew no cash accounts of issuers make way.

The old release needs nothing of them. Two people decide offerings.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0082_accounts_by_digits'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='approvalrequest',
            options={'permissions': [('file_mint', 'Can ask for: Mint'), ('file_burn', 'Can ask for: Burn'), ('file_forced_transfer', 'Can ask for: Forced transfer'), ('file_reversal', 'Can ask for: Reversal'), ('file_price', 'Can ask for: Price'), ('file_delivery', 'Can ask for: Delivery of legacy shares'), ('file_key', 'Can ask for: API key'), ('file_closing', 'Can ask for: Closing of an account'), ('file_withdrawal', 'Can ask for: Withdrawal of cash'), ('file_assignment', 'Can ask for: Assignment of an unallocated receipt'), ('file_rule', 'Can ask for: Rule of a token'), ('file_lifting', 'Can ask for: Lifting of a restriction'), ('file_bust', 'Can ask for: Bust of a trade'), ('file_reopen', 'Can ask for: Reopening of a halted market'), ('file_statement', 'Can ask for: Bank statement'), ('file_transfer', 'Can ask for: Transfer, allocation or return'), ('file_identity', 'Can ask for: Symbol or ISIN of a traded token'), ('file_grant', 'Can ask for: Grant to a partner'), ('file_register', 'Can ask for: Register of a new issuer'), ('file_desk', "Can ask for: Member of a partner's desk"), ('file_release', 'Can ask for: Release of blocked orders'), ('file_sign_in', 'Can ask for: Reset of a sign-in'), ('file_tariff', 'Can ask for: Tariff of a market'), ('file_parameters', 'Can ask for: Parameters of a market'), ('file_erasure', 'Can ask for: Erasure of a person'), ('file_offering', 'Can ask for: Offering of a token'), ('file_settlement', 'Can ask for: Settlement of an offering'), ('file_payout', 'Can ask for: Payment to an issuer'), ('decide_mint', 'Can decide: Mint'), ('decide_burn', 'Can decide: Burn'), ('decide_forced_transfer', 'Can decide: Forced transfer'), ('decide_reversal', 'Can decide: Reversal'), ('decide_price', 'Can decide: Price'), ('decide_delivery', 'Can decide: Delivery of legacy shares'), ('decide_key', 'Can decide: API key'), ('decide_closing', 'Can decide: Closing of an account'), ('decide_withdrawal', 'Can decide: Withdrawal of cash'), ('decide_assignment', 'Can decide: Assignment of an unallocated receipt'), ('decide_rule', 'Can decide: Rule of a token'), ('decide_lifting', 'Can decide: Lifting of a restriction'), ('decide_bust', 'Can decide: Bust of a trade'), ('decide_reopen', 'Can decide: Reopening of a halted market'), ('decide_statement', 'Can decide: Bank statement'), ('decide_transfer', 'Can decide: Transfer, allocation or return'), ('decide_identity', 'Can decide: Symbol or ISIN of a traded token'), ('decide_grant', 'Can decide: Grant to a partner'), ('decide_register', 'Can decide: Register of a new issuer'), ('decide_desk', "Can decide: Member of a partner's desk"), ('decide_release', 'Can decide: Release of blocked orders'), ('decide_sign_in', 'Can decide: Reset of a sign-in'), ('decide_tariff', 'Can decide: Tariff of a market'), ('decide_parameters', 'Can decide: Parameters of a market'), ('decide_erasure', 'Can decide: Erasure of a person'), ('decide_offering', 'Can decide: Offering of a token'), ('decide_settlement', 'Can decide: Settlement of an offering'), ('decide_payout', 'Can decide: Payment to an issuer')]},
        ),
        migrations.RemoveConstraint(
            model_name='cashaccount',
            name='cash_account_is_a_clients_or_the_platforms',
        ),
        migrations.RemoveConstraint(
            model_name='cashhead',
            name='cash_reserved_within_balance',
        ),
        migrations.RemoveConstraint(
            model_name='cashtransaction',
            name='cash_transaction_names_what_its_kind_needs',
        ),
        migrations.AlterField(
            model_name='approvalpolicy',
            name='kind',
            field=models.CharField(choices=[('MINT', 'Mint'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('REVERSAL', 'Reversal'), ('PRICE', 'Price'), ('DELIVERY', 'Delivery of legacy shares'), ('KEY', 'API key'), ('CLOSING', 'Closing of an account'), ('WITHDRAWAL', 'Withdrawal of cash'), ('ASSIGNMENT', 'Assignment of an unallocated receipt'), ('RULE', 'Rule of a token'), ('LIFTING', 'Lifting of a restriction'), ('BUST', 'Bust of a trade'), ('REOPEN', 'Reopening of a halted market'), ('STATEMENT', 'Bank statement'), ('TRANSFER', 'Transfer, allocation or return'), ('IDENTITY', 'Symbol or ISIN of a traded token'), ('GRANT', 'Grant to a partner'), ('REGISTER', 'Register of a new issuer'), ('DESK', "Member of a partner's desk"), ('RELEASE', 'Release of blocked orders'), ('SIGN_IN', 'Reset of a sign-in'), ('TARIFF', 'Tariff of a market'), ('PARAMETERS', 'Parameters of a market'), ('ERASURE', 'Erasure of a person'), ('OFFERING', 'Offering of a token'), ('SETTLEMENT', 'Settlement of an offering'), ('PAYOUT', 'Payment to an issuer')], max_length=20, primary_key=True, serialize=False),
        ),
        migrations.AlterField(
            model_name='approvalrequest',
            name='kind',
            field=models.CharField(choices=[('MINT', 'Mint'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('REVERSAL', 'Reversal'), ('PRICE', 'Price'), ('DELIVERY', 'Delivery of legacy shares'), ('KEY', 'API key'), ('CLOSING', 'Closing of an account'), ('WITHDRAWAL', 'Withdrawal of cash'), ('ASSIGNMENT', 'Assignment of an unallocated receipt'), ('RULE', 'Rule of a token'), ('LIFTING', 'Lifting of a restriction'), ('BUST', 'Bust of a trade'), ('REOPEN', 'Reopening of a halted market'), ('STATEMENT', 'Bank statement'), ('TRANSFER', 'Transfer, allocation or return'), ('IDENTITY', 'Symbol or ISIN of a traded token'), ('GRANT', 'Grant to a partner'), ('REGISTER', 'Register of a new issuer'), ('DESK', "Member of a partner's desk"), ('RELEASE', 'Release of blocked orders'), ('SIGN_IN', 'Reset of a sign-in'), ('TARIFF', 'Tariff of a market'), ('PARAMETERS', 'Parameters of a market'), ('ERASURE', 'Erasure of a person'), ('OFFERING', 'Offering of a token'), ('SETTLEMENT', 'Settlement of an offering'), ('PAYOUT', 'Payment to an issuer')], editable=False, max_length=20),
        ),
        migrations.AlterField(
            model_name='cashaccount',
            name='kind',
            field=models.CharField(choices=[('CLIENT', 'Client'), ('BANK', 'Bank'), ('FEES', 'Fees'), ('SUSPENSE', 'Suspense'), ('MARKET', 'Fees of a market'), ('ISSUER', 'Issuer')], editable=False, max_length=8),
        ),
        migrations.AlterField(
            model_name='cashhead',
            name='kind',
            field=models.CharField(choices=[('CLIENT', 'Client'), ('BANK', 'Bank'), ('FEES', 'Fees'), ('SUSPENSE', 'Suspense'), ('MARKET', 'Fees of a market'), ('ISSUER', 'Issuer')], max_length=8),
        ),
        migrations.AlterField(
            model_name='cashtransaction',
            name='kind',
            field=models.CharField(choices=[('DEPOSIT', 'Deposit'), ('WITHDRAWAL', 'Withdrawal'), ('TRADE', 'Trade'), ('FEE', 'Fee'), ('OFFERING', 'Offering'), ('REVERSAL', 'Reversal')], max_length=10),
        ),
        migrations.AlterField(
            model_name='soleamount',
            name='kind',
            field=models.CharField(choices=[('MINT', 'Mint'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('REVERSAL', 'Reversal'), ('PRICE', 'Price'), ('DELIVERY', 'Delivery of legacy shares'), ('KEY', 'API key'), ('CLOSING', 'Closing of an account'), ('WITHDRAWAL', 'Withdrawal of cash'), ('ASSIGNMENT', 'Assignment of an unallocated receipt'), ('RULE', 'Rule of a token'), ('LIFTING', 'Lifting of a restriction'), ('BUST', 'Bust of a trade'), ('REOPEN', 'Reopening of a halted market'), ('STATEMENT', 'Bank statement'), ('TRANSFER', 'Transfer, allocation or return'), ('IDENTITY', 'Symbol or ISIN of a traded token'), ('GRANT', 'Grant to a partner'), ('REGISTER', 'Register of a new issuer'), ('DESK', "Member of a partner's desk"), ('RELEASE', 'Release of blocked orders'), ('SIGN_IN', 'Reset of a sign-in'), ('TARIFF', 'Tariff of a market'), ('PARAMETERS', 'Parameters of a market'), ('ERASURE', 'Erasure of a person'), ('OFFERING', 'Offering of a token'), ('SETTLEMENT', 'Settlement of an offering'), ('PAYOUT', 'Payment to an issuer')], max_length=20),
        ),
        AddConstraintNotValid(
            model_name='cashaccount',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('account__isnull', False), ('deposit_reference__isnull', False), ('kind', 'CLIENT')), models.Q(('account__isnull', True), ('deposit_reference__isnull', True), ('kind__in', ['BANK', 'FEES', 'SUSPENSE', 'MARKET', 'ISSUER'])), _connector='OR'), name='cash_account_is_a_clients_or_the_platforms'),
        ),
        AddConstraintNotValid(
            model_name='cashhead',
            constraint=models.CheckConstraint(condition=models.Q(('reserved__gte', 0), models.Q(models.Q(('kind__in', ['CLIENT', 'ISSUER']), ('reserved__lte', models.F('balance'))), models.Q(models.Q(('kind__in', ['CLIENT', 'ISSUER']), _negated=True), ('reserved', 0)), _connector='OR')), name='cash_reserved_within_balance'),
        ),
        AddConstraintNotValid(
            model_name='cashtransaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('assigns__isnull', True), ('kind', 'DEPOSIT'), ('reference__isnull', False), ('reverses__isnull', True), ('withdrawal__isnull', True)), models.Q(('assigns__isnull', False), ('kind', 'DEPOSIT'), ('reference__isnull', True), ('reverses__isnull', True), ('withdrawal__isnull', True)), models.Q(('assigns__isnull', True), ('kind', 'WITHDRAWAL'), ('reference__isnull', False), ('reverses__isnull', True)), models.Q(('assigns__isnull', True), ('kind__in', ['TRADE', 'FEE', 'OFFERING']), ('reference__isnull', True), ('reverses__isnull', True), ('withdrawal__isnull', True)), models.Q(('assigns__isnull', True), ('kind', 'REVERSAL'), ('reference__isnull', True), ('reverses__isnull', False), ('withdrawal__isnull', True)), _connector='OR'), name='cash_transaction_names_what_its_kind_needs'),
        ),
    ]
