"""Lists of issuers of a country, or of an industry, are read in an index's order."""

from django.db import migrations, models
from django.db.models.functions import Collate, Left, Lower

from partnerapi.core.guards import drop, trigger_function

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
CREATE TRIGGER keep_industry
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
CREATE TRIGGER update_industry AFTER UPDATE OF subsector_code ON {CODES}
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


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0020_tables_without_locks'),
    ]

    operations = [
        migrations.AddField(
            model_name='issuer',
            name='industry_code',
            field=models.CharField(editable=False, help_text="Its subsector's code, by whose beginnings issuers are listed; triggers keep it.", max_length=8, null=True),
        ),
        migrations.RunSQL(
            KEEP,
            drop("keep_issuer_industry()", triggers={"keep_industry": ISSUERS}),
        ),
        migrations.RunSQL(
            UPDATE,
            drop("update_industry_of_issuers()", triggers={"update_industry": CODES}),
        ),
        migrations.RunSQL(
            "UPDATE issuers_issuer SET industry_code = NULL"
            " WHERE industry_classification_benchmark_id IS NOT NULL;"
            "SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED;",
            migrations.RunSQL.noop,
        ),
        migrations.AddIndex(
            model_name='issuer',
            index=models.Index(models.F('country'), NAME, models.F('id'), name='issuer_by_country'),
        ),
        *(
            migrations.AddIndex(
                model_name='issuer',
                index=models.Index(Left('industry_code', digits), NAME, models.F('id'), name=name),
            )
            for name, digits in LEVELS.items()
        ),
    ]
