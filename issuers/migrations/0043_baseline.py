"""The models of the first migrations, whose tables `baseline.sql` makes."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.comparison
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.db.models.lookups
import issuers.compliance.models
import issuers.models.tokens
import uuid_utils.compat
from django.conf import settings
from django.db import migrations, models

from partnerapi.core.migrating import refuse_without_baseline


MODELS = [
    migrations.CreateModel(
        name='ArticleToCome',
        fields=[
            ('article_id', models.UUIDField(primary_key=True, serialize=False)),
            ('published_at', models.DateTimeField(db_index=True)),
        ],
        options={
            'verbose_name_plural': 'articles to come',
        },
    ),
    migrations.CreateModel(
        name='EventHead',
        fields=[
            ('partner', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='+', serialize=False, to='accounts.partner')),
            ('last_sequence', models.BigIntegerField(default=0)),
            ('pruned_sequence', models.BigIntegerField(default=0)),
            ('last_at', models.DateTimeField(null=True)),
        ],
    ),
    migrations.CreateModel(
        name='Token',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('name', models.CharField(help_text='Name of the share class.', max_length=200)),
            ('symbol', models.CharField(help_text='Unique upper-case symbol, as on the FIX feed.', max_length=20, unique=True)),
            ('isin', models.CharField(blank=True, help_text='ISIN (ISO 6166).', max_length=12, null=True, unique=True, validators=[issuers.models.tokens.validate_isin], verbose_name='ISIN')),
            ('market_type', models.CharField(choices=[('PRIMARY_MARKET', 'Primary market'), ('SECONDARY_MARKET', 'Secondary market')], default='PRIMARY_MARKET', max_length=16)),
            ('visibility', models.CharField(choices=[('PUBLIC', 'Public'), ('PRIVATE', 'Private')], default='PUBLIC', max_length=7)),
            ('contract_address', models.CharField(blank=True, help_text="Address of the token's contract.", max_length=42, null=True)),
            ('network', models.CharField(blank=True, help_text='Network that the contract is deployed on.', max_length=50, null=True)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('authorized_units', issuers.models.tokens.Units(blank=True, decimal_places=0, help_text='Most units that may exist; empty: unlimited.', max_digits=20, null=True)),
            ('class_type', models.CharField(blank=True, choices=[('COMMON', 'Common'), ('PREFERRED', 'Preferred')], max_length=9, null=True, verbose_name='type of the share class')),
            ('nominal_currency', models.CharField(blank=True, help_text='Currency of the nominal value (ISO 4217), such as EUR.', max_length=3, null=True)),
            ('nominal_value', models.DecimalField(blank=True, decimal_places=10, help_text='Nominal value of one share, in whole units of its currency.', max_digits=20, null=True)),
            ('seniority', models.DecimalField(blank=True, decimal_places=10, help_text='Rank in a liquidation: higher ranks are paid first.', max_digits=20, null=True)),
            ('votes_per_share', models.PositiveIntegerField(blank=True, null=True)),
            ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
        ],
        options={
            'indexes': [models.Index(fields=['issuer', 'created_at', 'id'], name='token_list_order')],
            'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='token_has_a_name'), models.CheckConstraint(condition=models.Q(('symbol__regex', '^[A-Z0-9][A-Z0-9.-]*$')), name='token_symbol_is_upper_case'), models.CheckConstraint(condition=models.Q(('isin__isnull', True), issuers.models.tokens.ISINIsValid('isin'), _connector='OR'), name='token_isin_follows_iso_6166'), models.CheckConstraint(condition=models.Q(('market_type__in', ['PRIMARY_MARKET', 'SECONDARY_MARKET'])), name='token_market_type_is_known'), models.CheckConstraint(condition=models.Q(('visibility__in', ['PUBLIC', 'PRIVATE'])), name='token_visibility_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('contract_address__isnull', True), ('network__isnull', True)), models.Q(('contract_address__regex', '^0x[0-9a-fA-F]{40}$'), ('network__isnull', False)), _connector='OR'), name='token_contract_address_has_a_network'), models.CheckConstraint(condition=models.Q(('authorized_units__isnull', True), models.Q(('authorized_units__gte', 0), ('authorized_units__lte', 18446744073709551615)), _connector='OR'), name='token_authorized_units_are_uint64')],
        },
    ),
    migrations.CreateModel(
        name='DeliveryJob',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('source', models.CharField(choices=[('TREASURY', 'From the treasury'), ('MINT', 'Newly issued')], max_length=8)),
            ('position', models.PositiveIntegerField(default=0)),
            ('delivered', models.PositiveIntegerField(default=0)),
            ('skipped', models.PositiveIntegerField(default=0)),
            ('refused', models.PositiveIntegerField(default=0)),
            ('created_by', models.CharField(max_length=254)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('finished_at', models.DateTimeField(null=True)),
            ('line_count', models.PositiveIntegerField()),
            ('released_at', models.DateTimeField(help_text='When delivery of its lines may begin; a trigger requires the approval.', null=True)),
            ('handed_over_at', models.DateTimeField(help_text='When its lines were handed to a worker.', null=True)),
            ('resumed_by', models.CharField(help_text='The person that last resumed it, in whose name it continues.', max_length=254, null=True)),
            ('tried_at', models.DateTimeField(help_text='When a step was last delivered or tried.', null=True)),
            ('held', models.CharField(db_default='', default='', help_text='What another process held when a step was last tried.', max_length=500)),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('source__in', ['TREASURY', 'MINT'])), name='delivery_source_is_known'), models.CheckConstraint(condition=models.Q(('position', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('delivered'), '+', models.F('skipped')), '+', models.F('refused')))), name='delivery_counts_every_line_once')],
        },
    ),
    migrations.CreateModel(
        name='Document',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('name', models.CharField(help_text='File name.', max_length=100, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9][A-Za-z0-9._-]*$')])),
            ('content_type', models.CharField(help_text='Media type, checked against the bytes when stored.', max_length=50)),
            ('content', models.BinaryField()),
            ('size_bytes', models.PositiveBigIntegerField()),
            ('checksum_sha256', models.CharField(help_text='SHA-256 of the bytes, lower-case hexadecimal.', max_length=64)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('served_at', models.DateTimeField(editable=False, help_text='When it was first served. Once withdrawn, a document that was served is reported as withdrawn, and one that was never served as not found.', null=True)),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('name__regex', '^[A-Za-z0-9][A-Za-z0-9._-]*$')), name='document_name_is_safe_in_an_address'), models.CheckConstraint(condition=models.Q(('content_type__in', ['image/png', 'image/jpeg', 'image/webp', 'application/pdf'])), name='document_type_is_served'), models.CheckConstraint(condition=models.Q(('size_bytes', django.db.models.functions.text.Length('content')), ('size_bytes__lte', 5242880)), name='document_size_is_its_bytes'), models.CheckConstraint(condition=models.Q(('checksum_sha256', models.Func(models.Func(models.F('content'), function='sha256', output_field=models.BinaryField()), models.Value('hex'), function='encode', output_field=models.CharField()))), name='document_checksum_is_its_bytes')],
        },
    ),
    migrations.CreateModel(
        name='IndustryClassificationBenchmark',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('industry_code', models.CharField(max_length=2)),
            ('industry', models.CharField(help_text='Top-level industry name.', max_length=100)),
            ('supersector_code', models.CharField(max_length=4)),
            ('supersector', models.CharField(help_text='Second level.', max_length=100)),
            ('sector_code', models.CharField(max_length=6)),
            ('sector', models.CharField(help_text='Third level.', max_length=100)),
            ('subsector_code', models.CharField(help_text='Numeric code of the subsector, eight digits carried as a string.', max_length=8, unique=True)),
            ('subsector', models.CharField(help_text='Fourth level.', max_length=100)),
            ('description', models.TextField(help_text='What the subsector covers.')),
        ],
        options={
            'verbose_name': 'industry classification (ICB)',
            'verbose_name_plural': 'industry classification (ICB)',
            'ordering': ['subsector_code'],
            'constraints': [models.CheckConstraint(condition=models.Q(('subsector_code__regex', '^[0-9]{8}$')), name='icb_subsector_code_has_eight_digits'), models.CheckConstraint(condition=models.Q(('sector_code', django.db.models.functions.text.Left('subsector_code', 6)), ('supersector_code', django.db.models.functions.text.Left('subsector_code', 4)), ('industry_code', django.db.models.functions.text.Left('subsector_code', 2))), name='icb_codes_are_prefixes_of_the_subsector')],
        },
    ),
    migrations.CreateModel(
        name='Issuer',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('trading_name', models.CharField(help_text='Commercial name for public display.', max_length=200)),
            ('slug', models.SlugField(help_text='URL-friendly unique identifier.', max_length=100, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9]+(-[a-z0-9]+)*$')])),
            ('tag_line', models.CharField(blank=True, help_text='Short marketing phrase.', max_length=200, null=True)),
            ('description', models.TextField(blank=True, help_text='What the company does.', null=True)),
            ('market_description', models.TextField(blank=True, help_text='Market the issuer operates in.', null=True)),
            ('website', models.URLField(blank=True, help_text="Address of the company's web site.", null=True)),
            ('twitter_url', models.URLField(blank=True, help_text='Profile on X (Twitter).', null=True)),
            ('youtube_url', models.URLField(blank=True, help_text='Channel on YouTube.', null=True)),
            ('linkedin_url', models.URLField(blank=True, help_text='Page on LinkedIn.', null=True)),
            ('facebook_url', models.URLField(blank=True, help_text='Page on Facebook.', null=True)),
            ('discord_url', models.URLField(blank=True, help_text='Invitation to the Discord server.', null=True)),
            ('instagram_url', models.URLField(blank=True, help_text='Profile on Instagram.', null=True)),
            ('trading_location', models.CharField(help_text='City or region where the issuer mainly operates.', max_length=100)),
            ('initial_number_of_shares', models.BigIntegerField(blank=True, help_text='Initial number of shares to be issued.', null=True)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('recorded_in', models.BigIntegerField(editable=False, help_text='The database transaction that created it.', null=True)),
            ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, help_text='When the row, or what it shows of its owner, last changed.')),
            ('industry_code', models.CharField(editable=False, help_text='Code of its subsector, by whose first digits issuers are listed. Triggers keep it.', max_length=8, null=True)),
            ('company_logo', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.document')),
            ('country', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.country')),
            ('industry_classification_benchmark', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='issuers', to='issuers.industryclassificationbenchmark')),
            ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='issuers', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'indexes': [models.Index(django.db.models.functions.comparison.Collate(django.db.models.functions.text.Lower('trading_name'), 'C'), models.F('id'), name='issuer_list_order'), models.Index(fields=['updated_at'], name='issuer_updated'), models.Index(models.F('country'), django.db.models.functions.comparison.Collate(django.db.models.functions.text.Lower('trading_name'), 'C'), models.F('id'), name='issuer_by_country'), models.Index(django.db.models.functions.text.Left('industry_code', 2), django.db.models.functions.comparison.Collate(django.db.models.functions.text.Lower('trading_name'), 'C'), models.F('id'), name='issuer_by_industry'), models.Index(django.db.models.functions.text.Left('industry_code', 4), django.db.models.functions.comparison.Collate(django.db.models.functions.text.Lower('trading_name'), 'C'), models.F('id'), name='issuer_by_supersector'), models.Index(django.db.models.functions.text.Left('industry_code', 6), django.db.models.functions.comparison.Collate(django.db.models.functions.text.Lower('trading_name'), 'C'), models.F('id'), name='issuer_by_sector'), models.Index(django.db.models.functions.text.Left('industry_code', 8), django.db.models.functions.comparison.Collate(django.db.models.functions.text.Lower('trading_name'), 'C'), models.F('id'), name='issuer_by_subsector')],
            'constraints': [models.CheckConstraint(condition=models.Q(('trading_name', ''), _negated=True), name='issuer_has_a_trading_name'), models.CheckConstraint(condition=models.Q(('slug__regex', '^[a-z0-9]+(-[a-z0-9]+)*$')), name='issuer_slug_is_url_friendly'), models.CheckConstraint(condition=models.Q(('trading_location', ''), _negated=True), name='issuer_has_a_trading_location'), models.CheckConstraint(condition=models.Q(('initial_number_of_shares__isnull', True), models.Q(('initial_number_of_shares__gt', 0), ('initial_number_of_shares__lte', 9007199254740991)), _connector='OR'), name='issuer_initial_shares_positive_and_exact')],
        },
    ),
    migrations.CreateModel(
        name='Article',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('title', models.CharField(help_text='Headline.', max_length=200)),
            ('slug', models.SlugField(help_text='URL-friendly identifier, unique within the issuer.', max_length=100, validators=[django.core.validators.RegexValidator('^[a-z0-9]+(-[a-z0-9]+)*$')])),
            ('summary', models.TextField(blank=True, help_text='One or two sentences.', null=True)),
            ('body', models.TextField(help_text='Full text, Markdown.')),
            ('url', models.URLField(blank=True, help_text='Where the article is published, if elsewhere.', null=True)),
            ('published_at', models.DateTimeField(blank=True, help_text='When partners begin to see it. Empty: a draft, which partners never see.', null=True)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('cover_image', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.document')),
            ('issuer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='articles', to='issuers.issuer')),
        ],
        options={
            'indexes': [models.Index(models.F('issuer'), models.F('published_at'), models.F('id'), condition=models.Q(('published_at__isnull', False)), name='article_list_order')],
            'constraints': [models.UniqueConstraint(fields=('issuer', 'slug'), name='article_slug_is_unique_within_the_issuer'), models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='article_has_a_title'), models.CheckConstraint(condition=models.Q(('slug__regex', '^[a-z0-9]+(-[a-z0-9]+)*$')), name='article_slug_is_url_friendly')],
        },
    ),
    migrations.CreateModel(
        name='IssuerFinancialData',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('period_type', models.CharField(choices=[('FIRST_SEMESTER', 'First semester (S1)'), ('YEAR', 'Full year')], max_length=14)),
            ('year', models.IntegerField(help_text='Calendar year.')),
            ('revenue_cents', models.BigIntegerField(blank=True, null=True)),
            ('ebitda_cents', models.BigIntegerField(blank=True, null=True)),
            ('ebit_cents', models.BigIntegerField(blank=True, null=True)),
            ('net_income_cents', models.BigIntegerField(blank=True, null=True)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('issuer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='financial_data', to='issuers.issuer')),
        ],
        options={
            'verbose_name_plural': 'issuer financial data',
            'constraints': [models.UniqueConstraint(fields=('issuer', 'year', 'period_type'), name='one_figure_set_per_issuer_and_period'), models.CheckConstraint(condition=models.Q(('period_type__in', ['FIRST_SEMESTER', 'YEAR'])), name='financial_data_period_type_is_known'), models.CheckConstraint(condition=models.Q(('year__gte', 1900), ('year__lte', 2200)), name='financial_data_year_is_a_year'), models.CheckConstraint(condition=models.Q(('revenue_cents__isnull', True), models.Q(('revenue_cents__gte', -9007199254740991), ('revenue_cents__lte', 9007199254740991)), _connector='OR'), name='financial_data_revenue_cents_is_exact_in_json'), models.CheckConstraint(condition=models.Q(('ebitda_cents__isnull', True), models.Q(('ebitda_cents__gte', -9007199254740991), ('ebitda_cents__lte', 9007199254740991)), _connector='OR'), name='financial_data_ebitda_cents_is_exact_in_json'), models.CheckConstraint(condition=models.Q(('ebit_cents__isnull', True), models.Q(('ebit_cents__gte', -9007199254740991), ('ebit_cents__lte', 9007199254740991)), _connector='OR'), name='financial_data_ebit_cents_is_exact_in_json'), models.CheckConstraint(condition=models.Q(('net_income_cents__isnull', True), models.Q(('net_income_cents__gte', -9007199254740991), ('net_income_cents__lte', 9007199254740991)), _connector='OR'), name='financial_data_net_income_cents_is_exact_in_json')],
        },
    ),
    migrations.CreateModel(
        name='IssuerGrant',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, help_text='When it was given, or given again.')),
            ('ended_at', models.DateTimeField(editable=False, null=True)),
            ('issuer', models.ForeignKey(blank=True, help_text='Empty: every issuer.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='issuers.issuer')),
            ('partner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='accounts.partner')),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('partner', 'issuer'), name='one_grant_per_partner_and_issuer', nulls_distinct=False)],
        },
    ),
    migrations.CreateModel(
        name='IssuerTerm',
        fields=[
            ('pk', models.CompositePrimaryKey('term', 'name', 'issuer_id', blank=True, editable=False, primary_key=True, serialize=False)),
            ('term', models.TextField(db_collation='C')),
            ('name', models.TextField(db_collation='C', help_text='The trading name, folded: lower case, no accents, 100 letters.')),
            ('private', models.BooleanField(help_text='Only private tokens have it, for callers with access to them.')),
            ('issuer', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='issuers.issuer')),
        ],
    ),
    migrations.CreateModel(
        name='LedgerAccount',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('kind', models.CharField(choices=[('HOLDER', 'Holder'), ('TREASURY', 'Treasury')], max_length=8)),
            ('holder', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='ledger_account', to='accounts.userholder')),
            ('issuer', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='treasury', to='issuers.issuer')),
            ('user', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='ledger_account', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('holder__isnull', False), ('issuer__isnull', True), ('kind', 'HOLDER'), ('user__isnull', False)), models.Q(('holder__isnull', True), ('issuer__isnull', False), ('kind', 'TREASURY'), ('user__isnull', True)), _connector='OR'), name='ledger_account_is_a_holder_or_a_treasury')],
        },
    ),
    migrations.CreateModel(
        name='LegacyImport',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('file_name', models.CharField(max_length=255)),
            ('checksum_sha256', models.CharField(max_length=64)),
            ('imported_by', models.CharField(max_length=254)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('issuer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='legacy_imports', to='issuers.issuer')),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('issuer', 'checksum_sha256'), name='legacy_file_is_imported_once_per_issuer')],
        },
    ),
    migrations.CreateModel(
        name='LegacyShareholder',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('status', models.CharField(choices=[('PENDING', 'Pending'), ('DELIVERED', 'Delivered')], default='PENDING', max_length=9)),
            ('number_of_shares', models.BigIntegerField()),
            ('price_cents', models.BigIntegerField(help_text='Price of one share at import time, euro cents.')),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('batch_row', models.PositiveIntegerField(editable=False, null=True)),
            ('delivered_at', models.DateTimeField(editable=False, null=True)),
            ('delivered_by', models.CharField(editable=False, max_length=254, null=True)),
            ('ledger_seq', models.BigIntegerField(editable=False, help_text="The entry of the delivery in the token's ledger.", null=True)),
            ('reference', models.CharField(blank=True, help_text="The line's name in the issuer's own records.", max_length=100, null=True)),
            ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('batch', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='rows', to='issuers.legacyimport')),
            ('issuer', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='legacy_shareholders', to='issuers.issuer')),
            ('replaces', models.OneToOneField(blank=True, help_text='The wrong line, delivered and reversed, that this one replaces.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='issuers.legacyshareholder')),
            ('user', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='legacy_shareholdings', to=settings.AUTH_USER_MODEL)),
        ],
        options={
            'indexes': [models.Index(fields=['issuer', 'created_at', 'id'], name='legacy_shareholder_list_order'), models.Index(fields=['issuer', 'status', 'created_at', 'id'], name='legacy_shareholder_by_status'), models.Index(fields=['issuer', 'updated_at'], name='legacy_shareholder_updated')],
            'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['PENDING', 'DELIVERED'])), name='legacy_shareholder_status_is_known'), models.CheckConstraint(condition=models.Q(('number_of_shares__gte', 1), ('number_of_shares__lte', 2147483647)), name='legacy_shares_positive_and_int'), models.CheckConstraint(condition=models.Q(('price_cents__gte', 0), ('price_cents__lte', 2147483647)), name='legacy_price_not_negative_and_int'), models.CheckConstraint(condition=models.Q(models.Q(('delivered_at__isnull', False), ('delivered_by__isnull', False), ('ledger_seq__isnull', False), ('status', 'DELIVERED'), ('token__isnull', False)), models.Q(('delivered_at__isnull', True), ('delivered_by__isnull', True), ('ledger_seq__isnull', True), ('status', 'PENDING')), _connector='OR'), name='legacy_shares_delivered_with_when_who_and_entry'), models.UniqueConstraint(fields=('issuer', 'reference'), name='legacy_reference_unique_per_issuer')],
        },
    ),
    migrations.CreateModel(
        name='LegacyShareholderChange',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('before', models.JSONField(help_text='The columns that changed, as they were.')),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('batch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='changes', to='issuers.legacyimport')),
            ('shareholder', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='changes', to='issuers.legacyshareholder')),
        ],
    ),
    migrations.CreateModel(
        name='TokenLedgerHead',
        fields=[
            ('token', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='ledger_head', serialize=False, to='issuers.token')),
            ('last_seq', models.BigIntegerField(default=0)),
            ('last_price', models.BigIntegerField(default=0)),
            ('last_effective_at', models.DateTimeField(null=True)),
            ('last_price_at', models.DateTimeField(null=True)),
            ('supply', issuers.models.tokens.Units(decimal_places=0, default=0, max_digits=20)),
            ('held', issuers.models.tokens.Units(decimal_places=0, default=0, max_digits=20)),
            ('holder_count', models.BigIntegerField(default=0)),
            ('price_cents', models.BigIntegerField(null=True)),
            ('is_open', models.BooleanField(default=False)),
            ('entry_digest', models.BinaryField(db_default=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', help_text='End of the SHA-256 chain of all entries.', max_length=32)),
            ('price_digest', models.BinaryField(db_default=b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00', help_text='End of the SHA-256 chain of all prices.', max_length=32)),
            ('hold_transaction', models.BigIntegerField(help_text='The database transaction that last held it.', null=True)),
            ('hold_at', models.DateTimeField(help_text='The time taken under the lock.', null=True)),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('held__gte', 0), ('held__lte', models.F('supply')), ('supply__lte', 18446744073709551615)), name='ledger_held_within_supply_within_uint64'), models.CheckConstraint(condition=models.Q(('is_open', False), ('price_cents__isnull', True), django.db.models.lookups.LessThanOrEqual(models.ExpressionWrapper(django.db.models.expressions.CombinedExpression(models.F('supply'), '*', models.F('price_cents')), models.DecimalField()), 9223372036854775807), _connector='OR'), name='ledger_value_of_supply_within_bounds')],
        },
    ),
    migrations.AddField(
        model_name='token',
        name='issuer',
        field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tokens', to='issuers.issuer'),
    ),
    migrations.CreateModel(
        name='Restriction',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('kind', models.CharField(choices=[('FREEZE', 'Freeze'), ('LOCK_UP', 'Lock-up'), ('PLEDGE', 'Pledge')], max_length=7)),
            ('units', issuers.models.tokens.Units(decimal_places=0, max_digits=20, null=True)),
            ('until', models.DateTimeField(help_text='Empty: until lifted.', null=True)),
            ('beneficiary', models.CharField(blank=True, help_text='The pledgee.', max_length=200)),
            ('reason', models.CharField(max_length=500)),
            ('created_by', models.CharField(max_length=254)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('ended_by', models.CharField(blank=True, db_default='', max_length=254)),
            ('ended_at', models.DateTimeField(editable=False, null=True)),
            ('ledger_account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='restrictions', to='issuers.ledgeraccount')),
            ('token', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
        ],
        options={
            'indexes': [models.Index(fields=['ledger_account', 'ended_at'], name='restrictions_of_account'), models.Index(fields=['ended_at'], name='restrictions_in_force')],
            'constraints': [models.CheckConstraint(condition=models.Q(('units__isnull', True), models.Q(('token__isnull', False), ('units__gt', 0)), _connector='OR'), name='restricted_units_are_of_a_token'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'PLEDGE'), models.Q(('beneficiary', ''), _negated=True)), models.Q(('beneficiary', ''), ('kind__in', ['FREEZE', 'LOCK_UP'])), _connector='OR'), name='pledge_has_a_beneficiary')],
        },
    ),
    migrations.AddField(
        model_name='legacyshareholder',
        name='token',
        field=models.ForeignKey(blank=True, help_text='The token that the shares become on delivery.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='legacy_shareholders', to='issuers.token'),
    ),
    migrations.CreateModel(
        name='LedgerTransaction',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'seq', blank=True, editable=False, primary_key=True, serialize=False)),
            ('seq', models.BigIntegerField(help_text='From 1, without gaps, per token.')),
            ('kind', models.CharField(choices=[('MINT', 'Mint'), ('ALLOCATE', 'Allocate'), ('TRANSFER', 'Transfer'), ('RETURN', 'Return'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('LEGACY_DELIVERY', 'Legacy delivery'), ('REVERSAL', 'Reversal'), ('TRADE', 'Trade')], max_length=15)),
            ('amount', issuers.models.tokens.Units(decimal_places=0, max_digits=20)),
            ('effective_at', models.DateTimeField()),
            ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('supply_after', issuers.models.tokens.Units(decimal_places=0, max_digits=20)),
            ('held_after', issuers.models.tokens.Units(decimal_places=0, max_digits=20)),
            ('holders_after', models.BigIntegerField()),
            ('actor', models.CharField(max_length=254)),
            ('reason', models.CharField(blank=True, max_length=500)),
            ('chain_reference', models.CharField(max_length=100, null=True)),
            ('reverses', models.BigIntegerField(help_text='The seq of the entry that it reverses.', null=True)),
            ('source', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.ledgeraccount')),
            ('target', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.ledgeraccount')),
            ('legacy_shareholder', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='transactions', to='issuers.legacyshareholder')),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='transactions', to='issuers.token')),
        ],
        options={
            'indexes': [models.Index(fields=['token', '-effective_at', '-seq'], include=('supply_after', 'held_after', 'holders_after'), name='ledger_state_at'), django.contrib.postgres.indexes.BrinIndex(fields=['recorded_at'], name='ledger_recorded'), models.Index(fields=['token', 'recorded_at'], name='ledger_recorded_of_token')],
            'constraints': [models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='ledger_amount_is_positive'), models.CheckConstraint(condition=models.Q(models.Q(('source__isnull', True), ('target__isnull', True), _negated=True), models.Q(('source', models.F('target')), _negated=True)), name='ledger_units_come_or_go'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'REVERSAL'), ('reverses__isnull', False)), models.Q(models.Q(('kind', 'REVERSAL'), _negated=True), ('reverses__isnull', True)), _connector='OR'), name='ledger_reversal_names_what_it_reverses'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'LEGACY_DELIVERY'), ('legacy_shareholder__isnull', False)), models.Q(models.Q(('kind', 'LEGACY_DELIVERY'), _negated=True), ('legacy_shareholder__isnull', True)), _connector='OR'), name='ledger_delivery_names_its_legacy_shareholder'), models.UniqueConstraint(condition=models.Q(('legacy_shareholder__isnull', False)), fields=('legacy_shareholder',), name='legacy_shares_are_delivered_once'), models.UniqueConstraint(condition=models.Q(('reverses__isnull', False)), fields=('token', 'reverses'), name='ledger_entry_is_reversed_once')],
        },
    ),
    migrations.CreateModel(
        name='LedgerPosting',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'seq', 'leg', blank=True, editable=False, primary_key=True, serialize=False)),
            ('seq', models.BigIntegerField()),
            ('leg', models.SmallIntegerField(help_text='1: units leave. 2: units arrive.')),
            ('delta', models.DecimalField(decimal_places=0, max_digits=21)),
            ('balance_after', issuers.models.tokens.Units(decimal_places=0, max_digits=20)),
            ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.ledgeraccount')),
            ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
        ],
        options={
            'indexes': [models.Index(fields=['token', 'account', '-seq'], include=('balance_after',), name='ledger_balance_at')],
            'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('delta__lt', 0), ('leg', 1)), models.Q(('delta__gt', 0), ('leg', 2)), _connector='OR'), name='ledger_first_leg_takes_second_gives'), models.CheckConstraint(condition=models.Q(('balance_after__gte', 0)), name='ledger_balance_after_is_not_negative')],
        },
    ),
    migrations.CreateModel(
        name='HoldingPeriod',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'user_id', 'since', blank=True, editable=False, primary_key=True, serialize=False)),
            ('since', models.BigIntegerField(help_text='The entry that gave the first unit.')),
            ('until', models.BigIntegerField(help_text='The entry that took the last unit.', null=True)),
            ('since_class', models.GeneratedField(db_persist=True, expression=models.Func(models.F('since'), template='floor(%(to_a_doubling)s * ln(%(expressions)s::float8) / ln(2::float8))::int2', to_a_doubling=8), output_field=models.SmallIntegerField())),
            ('until_class', models.GeneratedField(db_persist=True, expression=models.Func(models.F('until'), template='coalesce(floor(%(to_a_doubling)s * ln(%(expressions)s::float8) / ln(2::float8))::int2, 32767)', to_a_doubling=32), output_field=models.SmallIntegerField())),
            ('user', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
        ],
        options={
            'indexes': [models.Index(fields=['token', 'since_class', 'until_class', 'user'], include=('since', 'until'), name='holding_then')],
            'constraints': [models.CheckConstraint(condition=models.Q(('until__isnull', True), ('until__gt', models.F('since')), _connector='OR'), name='holding_ends_after_it_begins'), models.UniqueConstraint(condition=models.Q(('until__isnull', True)), fields=('token', 'user'), include=('since',), name='holding_now')],
        },
    ),
    migrations.CreateModel(
        name='HolderBalance',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'account_id', blank=True, editable=False, primary_key=True, serialize=False)),
            ('balance', issuers.models.tokens.Units(decimal_places=0, max_digits=20)),
            ('last_seq', models.BigIntegerField()),
            ('reserved', issuers.models.tokens.Units(db_default=0, decimal_places=0, help_text='Units held for open sell orders.', max_digits=20)),
            ('user', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ('account', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='balances', to='issuers.ledgeraccount')),
            ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='balances', to='issuers.token')),
        ],
        options={
            'constraints': [models.CheckConstraint(condition=models.Q(('balance__gte', 0)), name='holder_balance_is_not_negative'), models.CheckConstraint(condition=models.Q(('reserved__gte', 0), ('reserved__lte', models.F('balance'))), name='holder_balance_reserved_within_balance')],
        },
    ),
    migrations.CreateModel(
        name='ApprovedHolder',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('until', models.DateTimeField(help_text='Empty: no end.', null=True)),
            ('created_by', models.CharField(max_length=254)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('ended_by', models.CharField(blank=True, db_default='', max_length=254)),
            ('ended_at', models.DateTimeField(editable=False, null=True)),
            ('ledger_account', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.ledgeraccount')),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
        ],
        options={
            'indexes': [models.Index(fields=['token', 'ledger_account', 'ended_at'], name='approved_holders')],
            'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('token', 'ledger_account'), name='holder_is_approved_once')],
        },
    ),
    migrations.CreateModel(
        name='TokenPrice',
        fields=[
            ('pk', models.CompositePrimaryKey('token_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
            ('number', models.BigIntegerField()),
            ('price_cents', models.BigIntegerField(help_text='Price of a unit, euro cents.')),
            ('source', models.CharField(choices=[('ISSUE', 'Issue price'), ('TRADE', 'Trade'), ('NAV', 'Net asset value'), ('MANUAL', 'Set by staff')], max_length=6)),
            ('effective_at', models.DateTimeField()),
            ('recorded_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('recorded_by', models.CharField(max_length=254)),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='prices', to='issuers.token')),
        ],
        options={
            'indexes': [models.Index(fields=['token', '-effective_at', '-number'], include=('price_cents',), name='token_price_at'), django.contrib.postgres.indexes.BrinIndex(fields=['recorded_at'], name='token_price_recorded'), models.Index(condition=models.Q(('source', 'TRADE'), _negated=True), fields=['token', 'recorded_at'], name='token_price_recorded_by_hand')],
            'constraints': [models.CheckConstraint(condition=models.Q(('price_cents__gte', 0)), name='token_price_is_not_negative'), models.CheckConstraint(condition=models.Q(('source__in', ['ISSUE', 'TRADE', 'NAV', 'MANUAL'])), name='token_price_source_is_known')],
        },
    ),
    migrations.CreateModel(
        name='TokenRule',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('kind', models.CharField(choices=[('TRANSFERS_PAUSED', 'Transfers are paused'), ('VERIFIED_HOLDERS', 'Verified holders only'), ('COUNTRIES', 'Countries'), ('INVESTOR_CLASSES', 'Investor classes'), ('APPROVED_HOLDERS', 'Approved holders only'), ('MAX_HOLDERS', 'Most holders'), ('MAX_BALANCE', 'Most units of a holder')], max_length=16)),
            ('parameters', models.JSONField(default=dict, help_text='COUNTRIES: allowed or refused; INVESTOR_CLASSES: classes; MAX_HOLDERS: holders; MAX_BALANCE: units, or bps of the supply.')),
            ('reason', models.CharField(max_length=500)),
            ('created_by', models.CharField(max_length=254)),
            ('approved_by', models.CharField(max_length=254)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ('ended_by', models.CharField(blank=True, db_default='', max_length=254)),
            ('ended_at', models.DateTimeField(editable=False, null=True)),
            ('replaces', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='issuers.tokenrule')),
            ('token', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='rules', to='issuers.token')),
        ],
        options={
            'indexes': [models.Index(fields=['token', 'ended_at'], name='token_rules')],
            'constraints': [models.CheckConstraint(condition=models.Q(issuers.compliance.models.RuleIsValid('kind', 'parameters')), name='token_rule_is_valid'), models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('token', 'kind'), name='token_rule_in_force_is_one')],
        },
    ),
    migrations.CreateModel(
        name='UnnumberedEvent',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('transaction', models.BigIntegerField()),
            ('leads', models.BooleanField(help_text="Whether it is the first of its statement, which has the transaction's events numbered.")),
            ('audience', models.CharField(choices=[('PARTNER', 'One partner'), ('GRANTED', 'Partners with a grant for the issuer'), ('ALL', 'All partners')], max_length=7)),
            ('partner_id', models.UUIDField(null=True)),
            ('type', models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed'), ('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('CASH_CHANGED', 'Cash changed'), ('INVESTOR_CHANGED', 'Investor changed')], max_length=30)),
            ('subject_id', models.UUIDField(null=True)),
            ('issuer_id', models.UUIDField(null=True)),
            ('token_id', models.UUIDField(null=True)),
            ('account_id', models.UUIDField(null=True)),
            ('ledger_sequence', models.BigIntegerField(help_text="The last entry of the token's ledger in the commit.", null=True)),
            ('order_event', models.BigIntegerField(help_text="Number of the event in the market's log of the token.", null=True)),
            ('price', models.BigIntegerField(help_text='Euro cents.', null=True)),
            ('quantity', models.BigIntegerField(null=True)),
            ('remaining', models.BigIntegerField(null=True)),
            ('trade', models.BigIntegerField(help_text='Number of the trade on the tape.', null=True)),
            ('reason', models.CharField(max_length=20, null=True)),
            ('order_id', models.UUIDField(null=True)),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('transaction', 'type', 'subject_id', 'partner_id'), name='one_event_per_commit_and_subject', nulls_distinct=False)],
        },
    ),
    migrations.CreateModel(
        name='DeliveryStep',
        fields=[
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('position', models.PositiveIntegerField(help_text='Number of lines of the delivery before these.')),
            ('shareholder_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None)),
            ('refusals', models.JSONField(default=dict, help_text='Reasons, by line id.')),
            ('units', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), db_default=[], size=None)),
            ('token_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(null=True), db_default=[], size=None)),
            ('user_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(null=True), db_default=[], size=None)),
            ('skipped_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), db_default=[], help_text='Lines that were delivered before.', size=None)),
            ('job', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='issuers.deliveryjob')),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('job', 'position'), name='delivery_has_one_step_at_a_position')],
        },
    ),
    migrations.CreateModel(
        name='Event',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('sequence', models.BigIntegerField()),
            ('type', models.CharField(choices=[('ACCOUNT_STATUS_CHANGED', 'Account status changed'), ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'), ('REGISTER_CHANGED', 'Register changed'), ('TOKEN_PRICE_CHANGED', 'Token price changed'), ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'), ('ARTICLE_PUBLISHED', 'Article published'), ('GRANT_CHANGED', 'Grant changed'), ('KEY_CHANGED', 'Key changed'), ('ORDER_ACCEPTED', 'Order accepted'), ('ORDER_AMENDED', 'Order amended'), ('ORDER_TRADED', 'Order traded'), ('ORDER_CANCELLED', 'Order cancelled'), ('ORDER_EXPIRED', 'Order expired'), ('TRADE_BUSTED', 'Trade busted'), ('CASH_CHANGED', 'Cash changed'), ('INVESTOR_CHANGED', 'Investor changed')], max_length=30)),
            ('at', models.DateTimeField(help_text='Time of the commit; never before that of an earlier event.')),
            ('subject_id', models.UUIDField(null=True)),
            ('issuer_id', models.UUIDField(null=True)),
            ('token_id', models.UUIDField(null=True)),
            ('account_id', models.UUIDField(null=True)),
            ('ledger_sequence', models.BigIntegerField(help_text="The last entry of the token's ledger in the commit.", null=True)),
            ('order_event', models.BigIntegerField(help_text="Number of the event in the market's log of the token.", null=True)),
            ('price', models.BigIntegerField(help_text='Euro cents.', null=True)),
            ('quantity', models.BigIntegerField(null=True)),
            ('remaining', models.BigIntegerField(null=True)),
            ('trade', models.BigIntegerField(help_text='Number of the trade on the tape.', null=True)),
            ('reason', models.CharField(max_length=20, null=True)),
            ('partner', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='accounts.partner')),
        ],
        options={
            'indexes': [models.Index(fields=['partner', 'type', 'sequence'], name='event_by_type'), models.Index(condition=models.Q(('account_id__isnull', False)), fields=['partner', 'account_id', 'sequence'], name='event_by_account')],
            'constraints': [models.UniqueConstraint(fields=('partner', 'sequence'), name='events_are_numbered_per_partner')],
        },
    ),
]
REPLACED = """
    0001_initial 0002_register 0003_register_guards 0004_legacy_delivery
    0005_legacy_guards 0006_holder_balance_user 0007_changed_issuers_are_read
    0008_delivery_steps 0009_holder_guard 0010_article_published_at
    0011_share_class_facts 0012_ledger_chains 0013_identities_stay
    0014_legacy_shareholders_by_status 0015_issuer_terms 0016_events 0017_updated_at
    0018_holding_periods 0019_documents_served 0020_tables_without_locks
    0021_industry_of_issuers 0022_periods_end_first 0023_frozen_deliveries
    0024_begun_deliveries 0025_approvals 0026_history 0027_recorded_at
    0028_legacy_shareholders_by_updated_at 0029_holding_periods_of_before
    0030_tables_for_the_release_before 0031_delivery_progress 0032_grants_end
    0033_events_by_type 0034_compliance 0035_reserved_units 0036_compliance_judge
    0037_reserved_is_validated 0038_events_of_orders 0039_events_by_account
    0040_events_of_cash_and_investors 0041_investors_are_dated_under_locks
    0042_log_by_token 0043_periods_end_where_they_are
"""


class Migration(migrations.Migration):
    replaces = [("issuers", name) for name in REPLACED.split()]
    initial = True

    dependencies = [
        ('accounts', '0025_baseline'),
    ]

    operations = [
        migrations.RunPython(refuse_without_baseline),
        migrations.SeparateDatabaseAndState(state_operations=MODELS),
    ]
