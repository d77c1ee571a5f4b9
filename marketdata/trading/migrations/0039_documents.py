"""Contract notes, statements and invoices, as they were issued."""

import django.db.models.deletion
import uuid_utils.compat
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0080_approvals_of_erasures'),
        ('issuers', '0093_erasures'),
        ("trading", "0038_phase_call_is_validated"),
    ]

    operations = [
        migrations.CreateModel(
            name='IssuedDocument',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('CONTRACT_NOTE', 'Contract note'), ('STATEMENT', 'Statement'), ('INVOICE', 'Invoice')], max_length=13)),
                ('number', models.BigIntegerField(help_text='From 1 without gaps, of its kind.')),
                ('begins', models.DateField()),
                ('ends', models.DateField()),
                ('fee_net', models.BigIntegerField(help_text='Fees in the period, less those that came back; euro cents.')),
                ('fee_vat', models.BigIntegerField(help_text='Their value added tax, euro cents.')),
                ('content', models.BinaryField()),
                ('content_digest', models.BinaryField(help_text='SHA-256.', max_length=32)),
                ('pdf', models.BinaryField()),
                ('pdf_digest', models.BinaryField(help_text='SHA-256.', max_length=32)),
                ('issued_at', models.DateTimeField()),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, help_text='Empty: an invoice.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.account')),
                ('partner', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
            ],
            options={
                'indexes': [
                    models.Index(fields=['account', 'issued_at', 'id'], name='account_documents'),
                    models.Index(condition=models.Q(('kind', 'INVOICE')), fields=['partner', 'issued_at', 'id'], name='partner_invoices'),
                ],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(models.Q(('account__isnull', True), ('kind', 'INVOICE')), models.Q(('account__isnull', False), ('kind__in', ['CONTRACT_NOTE', 'STATEMENT'])), _connector='OR'), name='issued_document_is_of_an_account_unless_an_invoice'),
                    models.CheckConstraint(condition=models.Q(('ends__gte', models.F('begins'))), name='issued_document_ends_after_it_begins'),
                    models.UniqueConstraint(fields=('kind', 'number'), name='issued_document_has_its_own_number'),
                    models.UniqueConstraint(fields=('account', 'kind', 'begins'), name='account_document_is_issued_once'),
                    models.UniqueConstraint(condition=models.Q(('kind', 'INVOICE')), fields=('partner', 'begins'), name='invoice_is_issued_once'),
                ],
            },
        ),
    ]
