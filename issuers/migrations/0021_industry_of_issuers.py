"""Lists of issuers of a country, or of an industry, are read in an index's order."""

from django.db import migrations, models, transaction
from django.db.models.functions import Collate, Left, Lower

from partnerapi.core.guards import drop_if_there, trigger_function
from partnerapi.core.migrating import (
    AddFieldBeside,
    AddIndexBeside,
    again_while_locked,
)

ISSUERS, CODES = "issuers_issuer", "issuers_industryclassificationbenchmark"
OF_ISSUER = trigger_function(
    "keep_issuer_industry",
    ISSUERS,
    """
    -- Who changes the code meanwhile is waited for, or waits.
    SELECT subsector_code INTO NEW.industry_code
    FROM issuers_industryclassificationbenchmark
    WHERE id = NEW.industry_classification_benchmark_id FOR KEY SHARE;
    RETURN NEW;
    """,
)
KEEP = f"""{OF_ISSUER}
CREATE OR REPLACE TRIGGER keep_industry
    BEFORE INSERT OR UPDATE OF industry_classification_benchmark_id, industry_code
    ON {ISSUERS} FOR EACH ROW EXECUTE FUNCTION keep_issuer_industry();
"""
OF_CODE = trigger_function(
    "update_industry_of_issuers",
    CODES,
    """
    PERFORM FROM issuers_issuer WHERE industry_classification_benchmark_id = NEW.id
        ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET industry_code = NULL
        WHERE industry_classification_benchmark_id = NEW.id;
    RETURN NULL;
    """,
)
UPDATE = f"""{OF_CODE}
CREATE OR REPLACE TRIGGER update_industry AFTER UPDATE OF subsector_code ON {CODES}
    FOR EACH ROW WHEN (OLD.subsector_code IS DISTINCT FROM NEW.subsector_code)
    EXECUTE FUNCTION update_industry_of_issuers();
"""
NAME = Collate(Lower('trading_name'), 'C')
LEVELS = {
    'issuer_by_industry': 2,
    'issuer_by_supersector': 4,
    'issuer_by_sector': 6,
    'issuer_by_subsector': 8,
}


BATCH = 200
FILL = """
    WITH batch AS (
        SELECT id FROM issuers_issuer
        WHERE industry_classification_benchmark_id IS NOT NULL AND id > %s
        ORDER BY id LIMIT %s
    ), filled AS (
        UPDATE issuers_issuer SET industry_code = NULL
        WHERE id IN (SELECT id FROM batch)
    )
    SELECT max(id::text)::uuid FROM batch
"""


def fill(apps, schema_editor):
    last = "00000000-0000-0000-0000-000000000000"
    while last:
        last = again_while_locked(lambda: fill_batch(schema_editor.connection, last))


def fill_batch(connection, after):
    """Have the trigger set the code of issuers after one; the last, or None."""
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        cursor.execute(FILL, [after, BATCH])
        [(last,)] = cursor.fetchall()
    return last


class Migration(migrations.Migration):
    """Each step is a transaction of its own, so that the issuers are held briefly."""

    atomic = False

    dependencies = [
        ('issuers', '0020_tables_without_locks'),
    ]

    operations = [
        AddFieldBeside(
            model_name='issuer',
            name='industry_code',
            field=models.CharField(editable=False, help_text="Its subsector's code, by whose beginnings issuers are listed; triggers keep it.", max_length=8, null=True),
        ),
        migrations.RunSQL(
            KEEP,
            drop_if_there("keep_issuer_industry()", triggers={"keep_industry": ISSUERS}),
        ),
        migrations.RunSQL(
            UPDATE,
            drop_if_there("update_industry_of_issuers()", triggers={"update_industry": CODES}),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        AddIndexBeside(
            model_name='issuer',
            index=models.Index(models.F('country'), NAME, models.F('id'), name='issuer_by_country'),
        ),
        *(
            AddIndexBeside(
                model_name='issuer',
                index=models.Index(Left('industry_code', digits), NAME, models.F('id'), name=name),
            )
            for name, digits in LEVELS.items()
        ),
    ]
