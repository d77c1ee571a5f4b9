"""Rules of tokens, approved holders, restrictions, and units that orders reserve."""

import django.db.models.deletion
import django.db.models.functions.datetime
import issuers.compliance.models
import issuers.models.tokens
import uuid_utils.compat
from django.db import migrations, models


# The parameters of a rule, by its kind.
RULE_IS_VALID = """
CREATE FUNCTION register_rule_is_valid(kind text, parameters jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, public AS $$
DECLARE
    name text;
    said jsonb;
BEGIN
    IF kind IN ('TRANSFERS_PAUSED', 'VERIFIED_HOLDERS', 'APPROVED_HOLDERS') THEN
        RETURN parameters = '{}';
    END IF;
    IF jsonb_typeof(parameters) <> 'object'
        OR (SELECT count(*) FROM jsonb_object_keys(parameters)) <> 1 THEN
        RETURN FALSE;
    END IF;
    SELECT key, value INTO name, said FROM jsonb_each(parameters);
    IF jsonb_typeof(said) = 'array' THEN
        RETURN jsonb_array_length(said) BETWEEN 1 AND 300
            AND CASE kind || ' ' || name
                WHEN 'COUNTRIES allowed' THEN TRUE
                WHEN 'COUNTRIES refused' THEN TRUE
                WHEN 'INVESTOR_CLASSES classes' THEN said <@
                    '["RETAIL", "INFORMED", "PROFESSIONAL", "ELIGIBLE_COUNTERPARTY"]'
                ELSE FALSE END
            AND NOT EXISTS (SELECT FROM jsonb_array_elements(said) AS e (one)
                WHERE jsonb_typeof(one) <> 'string'
                    OR kind = 'COUNTRIES' AND one #>> '{}' !~ '^[A-Z]{2}$');
    END IF;
    RETURN said::text ~ '^[1-9][0-9]{0,19}$' AND CASE kind || ' ' || name
        WHEN 'MAX_HOLDERS holders' THEN said::numeric < 2::numeric ^ 63
        WHEN 'MAX_BALANCE units' THEN said::numeric < 2::numeric ^ 64
        WHEN 'MAX_BALANCE bps' THEN said::numeric <= 10000
        ELSE FALSE END;
END $$
"""


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0033_events_by_type'),
        ('accounts', '0020_investors'),
    ]

    operations = [
        migrations.RunSQL(
            RULE_IS_VALID, "DROP FUNCTION register_rule_is_valid(text, jsonb)"
        ),
        migrations.CreateModel(
            name='ApprovedHolder',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('until', models.DateTimeField(help_text='Empty: until it is ended.', null=True)),
                ('created_by', models.CharField(max_length=254)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('ended_by', models.CharField(blank=True, db_default='', max_length=254)),
                ('ended_at', models.DateTimeField(editable=False, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Restriction',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('FREEZE', 'Freeze'), ('LOCK_UP', 'Lock-up'), ('PLEDGE', 'Pledge')], max_length=7)),
                ('units', issuers.models.tokens.Units(decimal_places=0, max_digits=20, null=True)),
                ('until', models.DateTimeField(help_text='Empty: until it is lifted.', null=True)),
                ('beneficiary', models.CharField(blank=True, help_text='To whom units are pledged.', max_length=200)),
                ('reason', models.CharField(max_length=500)),
                ('created_by', models.CharField(max_length=254)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('ended_by', models.CharField(blank=True, db_default='', max_length=254)),
                ('ended_at', models.DateTimeField(editable=False, null=True)),
            ],
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
            ],
        ),
        migrations.AlterField(
            model_name='ledgertransaction',
            name='kind',
            field=models.CharField(choices=[('MINT', 'Mint'), ('ALLOCATE', 'Allocate'), ('TRANSFER', 'Transfer'), ('RETURN', 'Return'), ('BURN', 'Burn'), ('FORCED_TRANSFER', 'Forced transfer'), ('LEGACY_DELIVERY', 'Legacy delivery'), ('REVERSAL', 'Reversal'), ('TRADE', 'Trade')], max_length=15),
        ),
        migrations.AddField(
            model_name='approvedholder',
            name='ledger_account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.ledgeraccount'),
        ),
        migrations.AddField(
            model_name='approvedholder',
            name='token',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token'),
        ),
        migrations.AddField(
            model_name='restriction',
            name='ledger_account',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='restrictions', to='issuers.ledgeraccount'),
        ),
        migrations.AddField(
            model_name='restriction',
            name='token',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token'),
        ),
        migrations.AddField(
            model_name='tokenrule',
            name='replaces',
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='issuers.tokenrule'),
        ),
        migrations.AddField(
            model_name='tokenrule',
            name='token',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='rules', to='issuers.token'),
        ),
        migrations.AddIndex(
            model_name='approvedholder',
            index=models.Index(fields=['token', 'ledger_account', 'ended_at'], name='approved_holders'),
        ),
        migrations.AddConstraint(
            model_name='approvedholder',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('token', 'ledger_account'), name='holder_is_approved_once'),
        ),
        migrations.AddIndex(
            model_name='restriction',
            index=models.Index(fields=['ledger_account', 'ended_at'], name='restrictions_of_account'),
        ),
        migrations.AddIndex(
            model_name='restriction',
            index=models.Index(fields=['ended_at'], name='restrictions_in_force'),
        ),
        migrations.AddConstraint(
            model_name='restriction',
            constraint=models.CheckConstraint(condition=models.Q(('units__isnull', True), models.Q(('token__isnull', False), ('units__gt', 0)), _connector='OR'), name='restricted_units_are_of_a_token'),
        ),
        migrations.AddConstraint(
            model_name='restriction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'PLEDGE'), models.Q(('beneficiary', ''), _negated=True)), models.Q(('beneficiary', ''), ('kind__in', ['FREEZE', 'LOCK_UP'])), _connector='OR'), name='pledge_has_a_beneficiary'),
        ),
        migrations.AddIndex(
            model_name='tokenrule',
            index=models.Index(fields=['token', 'ended_at'], name='token_rules'),
        ),
        migrations.AddConstraint(
            model_name='tokenrule',
            constraint=models.CheckConstraint(condition=models.Q(issuers.compliance.models.RuleIsValid('kind', 'parameters')), name='token_rule_is_valid'),
        ),
        migrations.AddConstraint(
            model_name='tokenrule',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('token', 'kind'), name='token_rule_in_force_is_one'),
        ),
    ]
