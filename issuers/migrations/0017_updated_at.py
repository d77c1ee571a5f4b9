import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from partnerapi.core.guards import drop, trigger_function

TIMED = {
    "issuers_issuer": "update_issuer_time",
    "issuers_legacyshareholder": "update_legacy_time",
    "issuers_token": "update_token_time",
}
# The triggers' name is the last in the alphabet: what others set is seen. Who takes a
# time has a transaction's id before: so nobody who looks for writers afterwards passes
# over it.
TIME = "".join(
    trigger_function(
        name,
        table,
        """
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
        """,
        declare="writer xid8;",
    )
    + f"""
CREATE TRIGGER update_time BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {name}();
"""
    for table, name in TIMED.items()
)
SHOWN = "type, company_name, lei, legal_form, address, postal_code, city, country_id"


def of_row(row):
    return ", ".join(f"{row}.{column}" for column in SHOWN.split(", "))


OWNER = trigger_function(
    "update_owned_time",
    "accounts_user",
    """
    PERFORM FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET updated_at = clock_timestamp() WHERE owner_id = NEW.id;
    RETURN NULL;
    """,
    settings="SET enable_seqscan = off",
) + f"""
CREATE TRIGGER update_owned_time AFTER UPDATE OF {SHOWN} ON accounts_user
    FOR EACH ROW WHEN (({of_row("OLD")}) IS DISTINCT FROM ({of_row("NEW")}))
    EXECUTE FUNCTION update_owned_time();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0009_settled_at'),
        ('issuers', '0016_events'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='issuer',
            name='updated_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, help_text='When the row, or what it shows of its owner, was written last.'),
        ),
        migrations.AddField(
            model_name='legacyshareholder',
            name='updated_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
        ),
        migrations.AddField(
            model_name='token',
            name='updated_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False),
        ),
        migrations.AddIndex(
            model_name='issuer',
            index=models.Index(fields=['updated_at'], name='issuer_updated'),
        ),
        migrations.AddIndex(
            model_name='legacyshareholder',
            index=models.Index(fields=['issuer', 'updated_at'], name='legacy_shareholder_updated'),
        ),
        migrations.RunSQL(
            TIME,
            "".join(
                drop(f"{name}()", triggers={"update_time": table})
                for table, name in TIMED.items()
            ),
        ),
        migrations.RunSQL(
            OWNER,
            drop(
                "update_owned_time()", triggers={"update_owned_time": "accounts_user"}
            ),
        ),
    ]
