"""The models of the first migrations, whose tables `baseline.sql` makes."""

import accounts.people.models
import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models

from partnerapi.core.migrating import refuse_without_baseline


MODELS = [
    migrations.CreateModel(
        name='User',
        fields=[
            ('password', models.CharField(max_length=128, verbose_name='password')),
            ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
            ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('type', models.CharField(choices=[('INDIVIDUAL', 'Individual'), ('COMPANY', 'Company')], max_length=10)),
            ('email', models.EmailField(blank=True, help_text='Staff sign in with it; imports recognise a holder by it.', max_length=254, null=True, unique=True)),
            ('first_name', models.CharField(blank=True, max_length=100)),
            ('last_name', models.CharField(blank=True, max_length=100)),
            ('company_name', models.CharField(blank=True, max_length=200, null=True)),
            ('legal_form', models.CharField(blank=True, choices=[('SA', 'SA'), ('SAS', 'SAS'), ('SASU', 'SASU'), ('SARL', 'SARL'), ('EURL', 'EURL'), ('SCA', 'SCA'), ('SNC', 'SNC'), ('SE', 'SE'), ('AG', 'AG'), ('GMBH', 'GmbH'), ('KGAA', 'KGaA'), ('NV', 'NV'), ('BV', 'BV'), ('SPA', 'SpA'), ('SRL', 'Srl'), ('SL', 'SL'), ('PLC', 'plc'), ('LTD', 'Ltd'), ('LLC', 'LLC'), ('INC', 'Inc.'), ('COOPERATIVE', 'Cooperative'), ('ASSOCIATION', 'Association'), ('OTHER', 'Other')], max_length=12, null=True)),
            ('lei', models.CharField(blank=True, max_length=20, null=True, unique=True, validators=[accounts.people.models.validate_lei], verbose_name='LEI')),
            ('address', models.CharField(blank=True, help_text='Street and number.', max_length=200)),
            ('postal_code', models.CharField(blank=True, max_length=20)),
            ('city', models.CharField(blank=True, max_length=100)),
            ('is_active', models.BooleanField(default=True)),
            ('is_staff', models.BooleanField(default=False)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
            ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
        ],
        options={
            'indexes': [models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('first_name'), 'text_pattern_ops'), name='user_first_name_prefix'), models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('last_name'), 'text_pattern_ops'), name='user_last_name_prefix'), models.Index(django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper('company_name'), 'text_pattern_ops'), name='user_company_name_prefix')],
            'constraints': [models.CheckConstraint(condition=models.Q(('email__isnull', True), ('email', django.db.models.functions.text.Lower('email')), _connector='OR'), name='user_email_is_lower_case'), models.CheckConstraint(condition=models.Q(('type__in', ['INDIVIDUAL', 'COMPANY'])), name='user_type_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('type', 'COMPANY'), _negated=True), models.Q(('company_name__isnull', False), models.Q(('company_name', ''), _negated=True), ('first_name', ''), ('last_name', '')), _connector='OR'), name='user_company_has_a_company_name_only'), models.CheckConstraint(condition=models.Q(models.Q(('type', 'INDIVIDUAL'), _negated=True), models.Q(('company_name__isnull', True), ('legal_form__isnull', True), ('lei__isnull', True), models.Q(('first_name', ''), ('last_name', ''), _negated=True)), _connector='OR'), name='user_individual_has_a_personal_name_only'), models.CheckConstraint(condition=models.Q(('lei__isnull', True), accounts.people.models.LEIIsValid('lei'), _connector='OR'), name='user_lei_follows_iso_17442')],
        },
    ),
    migrations.CreateModel(
        name='Account',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('status', models.CharField(choices=[('PENDING', 'Pending'), ('ACTIVE', 'Active'), ('SUSPENDED', 'Suspended'), ('CLOSED', 'Closed'), ('REJECTED', 'Rejected')], default='PENDING', editable=False, max_length=9)),
            ('status_reason', models.CharField(blank=True, editable=False, help_text='Reason given with the last change of status.', max_length=500, null=True)),
            ('changes', models.PositiveIntegerField(default=0, editable=False, help_text='Entries of the status history.')),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, help_text="When the row was last written, by the database's clock.")),
            ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='accounts', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'indexes': [models.Index(fields=['partner', 'created_at', 'id'], name='account_list_order'), models.Index(fields=['partner', 'status', 'created_at', 'id'], name='account_list_by_status'), models.Index(fields=['partner', 'recorded_at'], name='account_recorded')],
            'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['PENDING', 'ACTIVE', 'SUSPENDED', 'CLOSED', 'REJECTED'])), name='account_status_is_known'), models.UniqueConstraint(condition=models.Q(('status__in', ['CLOSED', 'REJECTED']), _negated=True), fields=('partner', 'user'), name='one_open_account_per_partner_and_user')],
        },
    ),
    migrations.CreateModel(
        name='ApprovalRequest',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('kind', models.CharField(choices=[('MINT', 'Mint'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('REVERSAL', 'Reversal'), ('PRICE', 'Price'), ('DELIVERY', 'Delivery of legacy shares'), ('KEY', 'API key'), ('CLOSING', 'Closing of an account'), ('WITHDRAWAL', 'Withdrawal of cash'), ('ASSIGNMENT', 'Assignment of an unallocated receipt'), ('RULE', 'Rule of a token'), ('LIFTING', 'Lifting of a restriction'), ('BUST', 'Bust of a trade'), ('REOPEN', 'Reopening of a halted market')], editable=False, max_length=20)),
            ('title', models.CharField(editable=False, max_length=200)),
            ('content', models.JSONField(editable=False, help_text='The action, in the form that the database compares.')),
            ('reason', models.CharField(editable=False, max_length=500)),
            ('filed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('expires_at', models.DateTimeField(editable=False)),
            ('filed_by', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='approval_requests', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'permissions': [('file_mint', 'Can ask for: Mint'), ('file_burn', 'Can ask for: Burn'), ('file_forced_transfer', 'Can ask for: Forced transfer'), ('file_reversal', 'Can ask for: Reversal'), ('file_price', 'Can ask for: Price'), ('file_delivery', 'Can ask for: Delivery of legacy shares'), ('file_key', 'Can ask for: API key'), ('file_closing', 'Can ask for: Closing of an account'), ('file_withdrawal', 'Can ask for: Withdrawal of cash'), ('file_assignment', 'Can ask for: Assignment of an unallocated receipt'), ('file_rule', 'Can ask for: Rule of a token'), ('file_lifting', 'Can ask for: Lifting of a restriction'), ('file_bust', 'Can ask for: Bust of a trade'), ('file_reopen', 'Can ask for: Reopening of a halted market'), ('decide_mint', 'Can decide: Mint'), ('decide_burn', 'Can decide: Burn'), ('decide_forced_transfer', 'Can decide: Forced transfer'), ('decide_reversal', 'Can decide: Reversal'), ('decide_price', 'Can decide: Price'), ('decide_delivery', 'Can decide: Delivery of legacy shares'), ('decide_key', 'Can decide: API key'), ('decide_closing', 'Can decide: Closing of an account'), ('decide_withdrawal', 'Can decide: Withdrawal of cash'), ('decide_assignment', 'Can decide: Assignment of an unallocated receipt'), ('decide_rule', 'Can decide: Rule of a token'), ('decide_lifting', 'Can decide: Lifting of a restriction'), ('decide_bust', 'Can decide: Bust of a trade'), ('decide_reopen', 'Can decide: Reopening of a halted market')],
            'indexes': [models.Index(fields=['expires_at'], name='request_expires')],
            'constraints': [models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='request_has_a_reason')],
        },
    ),
    migrations.CreateModel(
        name='ApprovalPolicy',
        fields=[
            ('kind', models.CharField(choices=[('MINT', 'Mint'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('REVERSAL', 'Reversal'), ('PRICE', 'Price'), ('DELIVERY', 'Delivery of legacy shares'), ('KEY', 'API key'), ('CLOSING', 'Closing of an account'), ('WITHDRAWAL', 'Withdrawal of cash'), ('ASSIGNMENT', 'Assignment of an unallocated receipt'), ('RULE', 'Rule of a token'), ('LIFTING', 'Lifting of a restriction'), ('BUST', 'Bust of a trade'), ('REOPEN', 'Reopening of a halted market')], max_length=20, primary_key=True, serialize=False)),
            ('is_required', models.BooleanField(default=True)),
            ('from_amount', models.DecimalField(decimal_places=0, help_text='Below this many units, or cents of a price, one person is enough.', max_digits=20, null=True)),
        ],
        options={
            'verbose_name_plural': 'approval policies',
        },
    ),
    migrations.CreateModel(
        name='BankStatement',
        fields=[
            ('id', models.BigAutoField(editable=False, primary_key=True, serialize=False)),
            ('name', models.CharField(editable=False, help_text="The file's name.", max_length=200)),
            ('digest', models.CharField(editable=False, help_text='SHA-256 of the file.', max_length=64)),
            ('closing_balance', models.BigIntegerField(editable=False, help_text='Closing balance that the bank states; euro cents.', null=True)),
            ('booked_balance', models.BigIntegerField(editable=False, help_text='Expected bank balance after its lines; euro cents.')),
            ('booked_by', models.CharField(editable=False, max_length=254)),
            ('booked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
        ],
    ),
    migrations.CreateModel(
        name='CashAccount',
        fields=[
            ('id', models.BigAutoField(editable=False, primary_key=True, serialize=False)),
            ('kind', models.CharField(choices=[('CLIENT', 'Client'), ('BANK', 'Bank'), ('FEES', 'Fees'), ('SUSPENSE', 'Suspense')], editable=False, max_length=8)),
            ('deposit_reference', models.CharField(editable=False, max_length=25, null=True, unique=True)),
            ('account', models.OneToOneField(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='cash_account', to='accounts.account')),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('account__isnull', False), ('deposit_reference__isnull', False), ('kind', 'CLIENT')), models.Q(('account__isnull', True), ('deposit_reference__isnull', True), ('kind__in', ['BANK', 'FEES', 'SUSPENSE'])), _connector='OR'), name='cash_account_is_a_clients_or_the_platforms'), models.UniqueConstraint(condition=models.Q(('kind', 'CLIENT'), _negated=True), fields=('kind',), name='one_cash_account_of_the_platform_per_kind')],
        },
    ),
    migrations.CreateModel(
        name='HolderImport',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('file_name', models.CharField(max_length=255)),
            ('checksum_sha256', models.CharField(max_length=64, unique=True)),
            ('imported_by', models.CharField(max_length=254)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
        ],
    ),
    migrations.CreateModel(
        name='Pepper',
        fields=[
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('digest', models.BinaryField(max_length=32, unique=True)),
            ('first_used_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
        ],
    ),
    migrations.CreateModel(
        name='BankLine',
        fields=[
            ('reference', models.CharField(editable=False, help_text="The bank's reference.", max_length=64, primary_key=True, serialize=False)),
            ('text', models.CharField(blank=True, editable=False, max_length=500)),
            ('amount', models.BigIntegerField(editable=False, help_text='Euro cents; negative for money paid out.')),
            ('date', models.DateField(editable=False, help_text="The bank's date.")),
            ('statement', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='lines', to='accounts.bankstatement')),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('amount', 0), _negated=True), name='bank_line_moves_money'), models.CheckConstraint(condition=models.Q(('reference', ''), _negated=True), name='bank_line_has_a_reference')],
        },
    ),
    migrations.CreateModel(
        name='CashHead',
        fields=[
            ('cash_account', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='head', serialize=False, to='accounts.cashaccount')),
            ('kind', models.CharField(choices=[('CLIENT', 'Client'), ('BANK', 'Bank'), ('FEES', 'Fees'), ('SUSPENSE', 'Suspense')], max_length=8)),
            ('balance', models.BigIntegerField(default=0, help_text='Euro cents.')),
            ('reserved', models.BigIntegerField(default=0, help_text='Euro cents.')),
            ('last_number', models.BigIntegerField(default=0)),
            ('last_at', models.DateTimeField(null=True)),
            ('fingerprint', models.DecimalField(decimal_places=0, default=0, help_text='Sum of the digests of all postings.', max_digits=40)),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('reserved__gte', 0), models.Q(('reserved', 0), ('kind', 'CLIENT'), _connector='OR'), models.Q(models.Q(('kind', 'CLIENT'), _negated=True), ('reserved__lte', models.F('balance')), _connector='OR')), name='cash_reserved_within_balance'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'BANK'), _negated=True), ('balance__lte', 0), _connector='OR'), name='cash_bank_is_not_positive')],
        },
    ),
    migrations.CreateModel(
        name='CashTransaction',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('kind', models.CharField(choices=[('DEPOSIT', 'Deposit'), ('WITHDRAWAL', 'Withdrawal'), ('TRADE', 'Trade'), ('FEE', 'Fee'), ('REVERSAL', 'Reversal')], max_length=10)),
            ('amount', models.BigIntegerField(help_text='Euro cents.')),
            ('at', models.DateTimeField()),
            ('actor', models.CharField(help_text="A partner's login, or the member of staff.", max_length=254)),
            ('reason', models.CharField(blank=True, max_length=500)),
            ('assigns', models.ForeignKey(db_index=False, help_text='The deposit that it moves out of SUSPENSE.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='assigned_by', to='accounts.cashtransaction')),
            ('reference', models.OneToOneField(db_column='reference', help_text='The bank line that it books.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='transaction', to='accounts.bankline')),
            ('reverses', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='reversed_by', to='accounts.cashtransaction')),
            ('source', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.cashaccount')),
            ('target', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.cashaccount')),
        ],
        options={
            'indexes': [models.Index(condition=models.Q(('assigns__isnull', False)), fields=['assigns'], name='cash_assigned'), models.Index(condition=models.Q(('assigns__isnull', True), ('kind', 'DEPOSIT')), fields=['target'], name='cash_deposited')],
            'constraints': [models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='cash_amount_is_positive'), models.CheckConstraint(condition=models.Q(('source', models.F('target')), _negated=True), name='cash_moves_between_two'), models.CheckConstraint(condition=models.Q(models.Q(('assigns__isnull', True), ('kind', 'DEPOSIT'), ('reference__isnull', False), ('reverses__isnull', True), ('withdrawal__isnull', True)), models.Q(('assigns__isnull', False), ('kind', 'DEPOSIT'), ('reference__isnull', True), ('reverses__isnull', True), ('withdrawal__isnull', True)), models.Q(('assigns__isnull', True), ('kind', 'WITHDRAWAL'), ('reference__isnull', False), ('reverses__isnull', True)), models.Q(('assigns__isnull', True), ('kind__in', ['TRADE', 'FEE']), ('reference__isnull', True), ('reverses__isnull', True), ('withdrawal__isnull', True)), models.Q(('assigns__isnull', True), ('kind', 'REVERSAL'), ('reference__isnull', True), ('reverses__isnull', False), ('withdrawal__isnull', True)), _connector='OR'), name='cash_transaction_names_what_its_kind_needs')],
        },
    ),
    migrations.CreateModel(
        name='CashPosting',
        fields=[
            ('pk', models.CompositePrimaryKey('cash_account_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
            ('number', models.BigIntegerField(help_text='From 1, without gaps, per account.')),
            ('delta', models.BigIntegerField(help_text='Euro cents; negative for money that left.')),
            ('balance_after', models.BigIntegerField(help_text='Euro cents.')),
            ('cash_account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='postings', to='accounts.cashaccount')),
            ('transaction', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='postings', to='accounts.cashtransaction')),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('delta', 0), _negated=True), name='cash_posting_moves_money')],
        },
    ),
    migrations.CreateModel(
        name='Country',
        fields=[
            ('code', models.CharField(help_text='ISO 3166-1 alpha-2 code, such as FR; XK for Kosovo.', max_length=2, primary_key=True, serialize=False)),
            ('alpha3', models.CharField(help_text='ISO 3166-1 alpha-3 code, such as FRA.', max_length=3, unique=True)),
            ('name', models.CharField(help_text='Short English name.', max_length=100)),
        ],
        options={
            'verbose_name_plural': 'countries',
            'ordering': ['name'],
            'constraints': [models.CheckConstraint(condition=models.Q(('code__regex', '^[A-Z]{2}$')), name='country_code_is_two_capitals'), models.CheckConstraint(condition=models.Q(('alpha3__regex', '^[A-Z]{3}$')), name='country_alpha3_is_three_capitals')],
        },
    ),
    migrations.AddField(
        model_name='user',
        name='country',
        field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.country'),
    ),
    migrations.CreateModel(
        name='InvestorAttestation',
        fields=[
            ('verification', models.CharField(choices=[('NONE', 'None'), ('PENDING', 'Pending'), ('VERIFIED', 'Verified'), ('REFUSED', 'Refused')], max_length=8)),
            ('verified_until', models.DateTimeField(blank=True, help_text='Empty: the verification does not end.', null=True)),
            ('investor_class', models.CharField(choices=[('RETAIL', 'Retail'), ('INFORMED', 'Informed'), ('PROFESSIONAL', 'Professional'), ('ELIGIBLE_COUNTERPARTY', 'Eligible counterparty')], default='RETAIL', max_length=21)),
            ('evidence', models.CharField(blank=True, help_text='Where the evidence is kept; never the evidence itself.', max_length=200)),
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.account')),
            ('tax_country', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.country')),
            ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='attestations', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'abstract': False,
            'indexes': [models.Index(fields=['user', 'created_at'], name='attested_of_user')],
            'constraints': [models.CheckConstraint(condition=models.Q(('verification__in', ['NONE', 'PENDING', 'VERIFIED', 'REFUSED']), ('investor_class__in', ['RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY'])), name='investorattestation_facts_are_known')],
        },
    ),
    migrations.CreateModel(
        name='Partner',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('login', models.CharField(help_text='The <login> in service-apikey_<login>_<secret>; may hold underscores.', max_length=50, unique=True, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$')])),
            ('name', models.CharField(max_length=200)),
            ('budget_points', models.PositiveIntegerField(blank=True, help_text='Points the budget holds; empty: PARTNER_API_BUDGET_POINTS.', null=True)),
            ('budget_refill', models.PositiveIntegerField(blank=True, help_text='Points regained per second; empty: PARTNER_API_BUDGET_REFILL.', null=True)),
            ('is_active', models.BooleanField(default=True, help_text='Off: every key is refused.')),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('may_attest', models.BooleanField(db_default=False, help_text='On: what it attests about investors takes effect at once.')),
        ],
        options={
            'ordering': ['login'],
            'constraints': [models.CheckConstraint(condition=models.Q(('login__regex', '^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$')), name='partner_login_fits_in_a_key'), models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='partner_has_a_name'), models.CheckConstraint(condition=models.Q(('budget_points__isnull', True), ('budget_points__gt', 0), _connector='OR'), name='partner_budget_points_positive'), models.CheckConstraint(condition=models.Q(('budget_refill__isnull', True), ('budget_refill__gt', 0), _connector='OR'), name='partner_budget_refill_positive')],
        },
    ),
    migrations.CreateModel(
        name='InvestorChange',
        fields=[
            ('verification', models.CharField(choices=[('NONE', 'None'), ('PENDING', 'Pending'), ('VERIFIED', 'Verified'), ('REFUSED', 'Refused')], max_length=8)),
            ('verified_until', models.DateTimeField(blank=True, help_text='Empty: the verification does not end.', null=True)),
            ('investor_class', models.CharField(choices=[('RETAIL', 'Retail'), ('INFORMED', 'Informed'), ('PROFESSIONAL', 'Professional'), ('ELIGIBLE_COUNTERPARTY', 'Eligible counterparty')], default='RETAIL', max_length=21)),
            ('evidence', models.CharField(blank=True, help_text='Where the evidence is kept; never the evidence itself.', max_length=200)),
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('number', models.PositiveIntegerField()),
            ('actor', models.CharField(help_text="A partner's login, or a member of staff's e-mail.", max_length=254)),
            ('is_staff', models.BooleanField()),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('attestation', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='change', to='accounts.investorattestation')),
            ('tax_country', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.country')),
            ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='investor_changes', to=settings.AUTH_USER_MODEL)),
            ('partner', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
        ],
        options={
            'ordering': ['user', 'number'],
            'abstract': False,
            'constraints': [models.CheckConstraint(condition=models.Q(('verification__in', ['NONE', 'PENDING', 'VERIFIED', 'REFUSED']), ('investor_class__in', ['RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY'])), name='investorchange_facts_are_known'), models.UniqueConstraint(fields=('user', 'number'), name='investor_changes_are_numbered'), models.CheckConstraint(condition=models.Q(('partner__isnull', True), ('attestation__isnull', False), _connector='OR'), name='partner_changes_by_attestation')],
        },
    ),
    migrations.AddField(
        model_name='investorattestation',
        name='partner',
        field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner'),
    ),
    migrations.AddField(
        model_name='account',
        name='partner',
        field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='accounts', to='accounts.partner'),
    ),
    migrations.CreateModel(
        name='ApiKey',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('secret_digest', models.BinaryField(max_length=32, unique=True)),
            ('last_four', models.CharField(editable=False, max_length=4)),
            ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('issuers:read', 'Issuers: owner, financial data, prices'), ('captable:read', 'Capitalization tables'), ('shareholders:read', 'Legacy shareholders'), ('accounts:read', 'Accounts'), ('accounts:write', 'Accounts: open, change status'), ('marketdata:read', 'Order books'), ('trading:read', 'Orders, executions, positions'), ('trading:write', 'Orders: place, amend, cancel'), ('cash:read', 'Cash of accounts'), ('cash:write', 'Cash of accounts: request withdrawals'), ('compliance:read', 'Investor profiles'), ('compliance:write', 'Investor profiles: attest')], max_length=20), size=None)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('expires_at', models.DateTimeField(blank=True, null=True)),
            ('last_used_at', models.DateTimeField(blank=True, editable=False, null=True)),
            ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
            ('partner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='api_keys', to='accounts.partner')),
            ('pepper', models.ForeignKey(editable=False, help_text='The pepper of the digest; null: issued before it was recorded.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.pepper')),
        ],
        options={
            'verbose_name': 'API key',
            'ordering': ['-created_at'],
            'constraints': [models.CheckConstraint(condition=models.Q(('expires_at__isnull', True), ('expires_at__gt', models.F('created_at')), _connector='OR'), name='api_key_expires_after_creation'), models.CheckConstraint(condition=models.Q(('scopes__contained_by', ['issuers:read', 'captable:read', 'shareholders:read', 'accounts:read', 'accounts:write', 'marketdata:read', 'trading:read', 'trading:write', 'cash:read', 'cash:write', 'compliance:read', 'compliance:write'])), name='api_key_scopes_are_known')],
        },
    ),
    migrations.CreateModel(
        name='RowChange',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
            ('table_name', models.CharField(max_length=63)),
            ('row_id', models.CharField(max_length=40)),
            ('operation', models.CharField(max_length=6)),
            ('before', models.JSONField(null=True)),
            ('after', models.JSONField(null=True)),
            ('who', models.CharField(max_length=254)),
            ('source', models.CharField(help_text='The page or the command; SQL where neither is known.', max_length=200)),
            ('request_id', models.CharField(blank=True, max_length=100)),
        ],
        options={
            'indexes': [models.Index(fields=['row_id', 'id'], name='row_change_of_row')],
        },
    ),
    migrations.CreateModel(
        name='UserHolder',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('name', models.CharField(help_text='Name in the register.', max_length=200)),
            ('wallet_address', models.CharField(blank=True, help_text="EVM address that receives the holder's tokens.", max_length=42, null=True, unique=True)),
            ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='holder', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='user_holder_has_a_name'), models.CheckConstraint(condition=models.Q(('wallet_address__isnull', True), ('wallet_address__regex', '^0x[0-9a-fA-F]{40}$'), _connector='OR'), name='user_holder_wallet_is_an_evm_address')],
        },
    ),
    migrations.CreateModel(
        name='UserHolderName',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('name', models.CharField(max_length=200)),
            ('replaced_at', models.DateTimeField(help_text="When the holder's name changed.")),
            ('holder', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='former_names', to='accounts.userholder')),
        ],
        options={
            'indexes': [models.Index(fields=['holder', 'replaced_at', 'id'], name='user_holder_name_at')],
        },
    ),
    migrations.CreateModel(
        name='Withdrawal',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('amount', models.BigIntegerField(editable=False, help_text='Euro cents.')),
            ('reference', models.CharField(editable=False, help_text="The partner's reference.", max_length=64)),
            ('payment_reference', models.CharField(editable=False, help_text='Reference that the payment order must carry.', max_length=25, unique=True)),
            ('status', models.CharField(choices=[('REQUESTED', 'Requested'), ('APPROVED', 'Approved'), ('PAID', 'Paid'), ('REFUSED', 'Refused'), ('CANCELLED', 'Cancelled')], default='REQUESTED', editable=False, max_length=9)),
            ('status_reason', models.CharField(blank=True, editable=False, max_length=500)),
            ('requested_by', models.CharField(editable=False, max_length=254)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('cash_account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='withdrawals', to='accounts.cashaccount')),
            ('request', models.ForeignKey(db_index=False, editable=False, help_text='The request that approved its status, where one was needed.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.approvalrequest')),
        ],
        options={
            'indexes': [models.Index(fields=['cash_account', 'created_at', 'id'], name='withdrawal_list_order'), models.Index(condition=models.Q(('status__in', ['REQUESTED', 'APPROVED'])), fields=['status', 'created_at'], name='withdrawal_open')],
            'constraints': [models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='withdrawal_amount_is_positive'), models.CheckConstraint(condition=models.Q(('status__in', ['REQUESTED', 'APPROVED', 'PAID', 'REFUSED', 'CANCELLED'])), name='withdrawal_status_is_known'), models.UniqueConstraint(fields=('cash_account', 'reference'), name='withdrawal_reference_is_used_once')],
        },
    ),
    migrations.AddField(
        model_name='cashtransaction',
        name='withdrawal',
        field=models.OneToOneField(help_text='The withdrawal that it pays.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='transaction', to='accounts.withdrawal'),
    ),
    migrations.CreateModel(
        name='InvestorProfile',
        fields=[
            ('verification', models.CharField(choices=[('NONE', 'None'), ('PENDING', 'Pending'), ('VERIFIED', 'Verified'), ('REFUSED', 'Refused')], max_length=8)),
            ('verified_until', models.DateTimeField(blank=True, help_text='Empty: the verification does not end.', null=True)),
            ('investor_class', models.CharField(choices=[('RETAIL', 'Retail'), ('INFORMED', 'Informed'), ('PROFESSIONAL', 'Professional'), ('ELIGIBLE_COUNTERPARTY', 'Eligible counterparty')], default='RETAIL', max_length=21)),
            ('evidence', models.CharField(blank=True, help_text='Where the evidence is kept; never the evidence itself.', max_length=200)),
            ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='investor', serialize=False, to=settings.AUTH_USER_MODEL)),
            ('changes', models.PositiveIntegerField(help_text='Entries of its history.')),
            ('updated_at', models.DateTimeField()),
            ('partner', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
            ('tax_country', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.country')),
        ],
        options={
            'abstract': False,
            'constraints': [models.CheckConstraint(condition=models.Q(('verification__in', ['NONE', 'PENDING', 'VERIFIED', 'REFUSED']), ('investor_class__in', ['RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY'])), name='investorprofile_facts_are_known')],
        },
    ),
    migrations.CreateModel(
        name='Applicant',
        fields=[
            ('account', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='applicant', serialize=False, to='accounts.account')),
            ('reference', models.CharField(max_length=64)),
            ('email', models.EmailField(max_length=254)),
            ('lei', models.CharField(max_length=20, null=True, verbose_name='LEI')),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
            ('user', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('partner', 'reference'), name='reference_is_unique_per_partner'), models.CheckConstraint(condition=models.Q(('reference__regex', '^[A-Za-z0-9._:-]{1,64}$')), name='reference_is_short'), models.CheckConstraint(condition=models.Q(('email', django.db.models.functions.text.Lower('email'))), name='applicant_email_is_lower_case'), models.CheckConstraint(condition=models.Q(('lei__isnull', True), accounts.people.models.LEIIsValid('lei'), _connector='OR'), name='applicant_lei_follows_iso_17442')],
        },
    ),
    migrations.CreateModel(
        name='AccountStatusChange',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('number', models.PositiveIntegerField()),
            ('previous_status', models.CharField(choices=[('PENDING', 'Pending'), ('ACTIVE', 'Active'), ('SUSPENDED', 'Suspended'), ('CLOSED', 'Closed'), ('REJECTED', 'Rejected')], max_length=9, null=True)),
            ('status', models.CharField(choices=[('PENDING', 'Pending'), ('ACTIVE', 'Active'), ('SUSPENDED', 'Suspended'), ('CLOSED', 'Closed'), ('REJECTED', 'Rejected')], max_length=9)),
            ('reason', models.CharField(blank=True, help_text='Reason given by the caller.', max_length=500, null=True)),
            ('actor', models.CharField(help_text="A partner's login, or a member of staff's e-mail.", max_length=254)),
            ('is_staff', models.BooleanField()),
            ('approved_by', models.CharField(blank=True, help_text='The second person, where one is needed.', max_length=254)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='history', to='accounts.account')),
        ],
        options={
            'ordering': ['account', 'number'],
            'constraints': [models.UniqueConstraint(fields=('account', 'number'), name='status_changes_are_numbered'), models.CheckConstraint(condition=models.Q(models.Q(('number', 1), ('previous_status__isnull', True), ('status', 'PENDING')), models.Q(('number__gt', 1), ('previous_status', 'PENDING'), ('status', 'ACTIVE')), models.Q(('number__gt', 1), ('previous_status', 'PENDING'), ('status', 'REJECTED')), models.Q(('number__gt', 1), ('previous_status', 'ACTIVE'), ('status', 'SUSPENDED')), models.Q(('number__gt', 1), ('previous_status', 'SUSPENDED'), ('status', 'ACTIVE')), models.Q(('number__gt', 1), ('previous_status', 'ACTIVE'), ('status', 'CLOSED')), models.Q(('number__gt', 1), ('previous_status', 'SUSPENDED'), ('status', 'CLOSED')), _connector='OR'), name='status_change_is_a_known_move')],
        },
    ),
    migrations.CreateModel(
        name='ApprovalDecision',
        fields=[
            ('request', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='decision', serialize=False, to='accounts.approvalrequest')),
            ('is_approved', models.BooleanField()),
            ('reason', models.CharField(blank=True, max_length=500)),
            ('decided_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('decided_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='approval_decisions', to=settings.AUTH_USER_MODEL)),
        ],
    ),
    migrations.CreateModel(
        name='ApprovalOutcome',
        fields=[
            ('request', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='outcome', serialize=False, to='accounts.approvalrequest')),
            ('is_executed', models.BooleanField()),
            ('detail', models.CharField(blank=True, max_length=500)),
            ('token_id', models.UUIDField(null=True)),
            ('number', models.BigIntegerField(null=True)),
            ('ended_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
        ],
        options={
            'indexes': [models.Index(fields=['token_id', 'number'], name='outcome_entry')],
        },
    ),
]
REPLACED = """
    0001_initial 0002_account_accountstatuschange_and_more 0003_staff_log_guard
    0005_holder_import 0006_kept_histories 0007_staff_log_times
    0008_recorded_status_changes 0009_settled_at 0010_peppers
    0011_settled_on_a_standby 0012_approvals 0013_approval_guards 0014_rowchange
    0015_history 0016_accounts_by_recorded_at 0017_cash 0018_cash_guards
    0019_cash_accounts 0020_investors 0021_partners_may_attest 0022_applicants
    0023_scopes_of_trading 0024_scopes_are_known 0025_approvals_of_markets
"""


class Migration(migrations.Migration):
    replaces = [("accounts", name) for name in REPLACED.split()]
    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.RunPython(refuse_without_baseline),
        migrations.SeparateDatabaseAndState(state_operations=MODELS),
    ]
