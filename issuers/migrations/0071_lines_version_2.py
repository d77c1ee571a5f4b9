"""Columns of lines of version 2, which stay when the migration is taken back.

What was written with them is proved by them alone.
"""

from django.db import migrations, models

TYPES = {models.BinaryField: "bytea", models.BigIntegerField: "bigint"}


def add(model: str, name: str, field: models.Field) -> migrations.SeparateDatabaseAndState:
    """Add a column unless it has stayed."""
    column = f"{name} {TYPES[type(field)]}"
    return migrations.SeparateDatabaseAndState(
        [
            migrations.RunSQL(
                f"ALTER TABLE issuers_{model} ADD COLUMN IF NOT EXISTS {column}",
                migrations.RunSQL.noop,
            )
        ],
        [migrations.AddField(model, name, field)],
    )


class Migration(migrations.Migration):
    # A table's lock is not held while the next one's is waited for.
    atomic = False

    dependencies = [
        ('issuers', '0070_triggers_tell_no_more'),
    ]

    operations = [
        add('ledgertransaction', 'previous_digest', models.BinaryField(help_text='In the first line of version 2: the digest before it.', max_length=32, null=True)),
        add('ledgertransaction', 'private_digest', models.BinaryField(help_text='SHA-256 of salt and private part; null in version 1.', max_length=32, null=True)),
        add('ledgertransaction', 'salt', models.BinaryField(max_length=16, null=True)),
        add('ledgertransaction', 'source_before', models.BigIntegerField(help_text="The source's entry before; 0: none. Null in version 1.", null=True)),
        add('ledgertransaction', 'target_before', models.BigIntegerField(help_text="The target's entry before; 0: none. Null in version 1.", null=True)),
        add('tokenledgerhead', 'version_1_entries', models.BigIntegerField(help_text='How many entries came before the first line of version 2; null: there is no line of version 2.', null=True)),
        add('tokenledgerhead', 'version_1_prices', models.BigIntegerField(null=True)),
        add('tokenprice', 'previous_digest', models.BinaryField(help_text='In the first line of version 2: the digest before it.', max_length=32, null=True)),
        add('tokenprice', 'private_digest', models.BinaryField(help_text='SHA-256 of salt and private part; null in version 1.', max_length=32, null=True)),
        add('tokenprice', 'salt', models.BinaryField(max_length=16, null=True)),
    ]
