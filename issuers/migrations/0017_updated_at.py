from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now

from partnerapi.core.guards import drop_if_there, trigger_function
from partnerapi.core.migrating import AddFieldBeside, AddIndexBeside

TIMED = {
    "issuers_issuer": "update_issuer_time",
    "issuers_legacyshareholder": "update_legacy_time",
    "issuers_token": "update_token_time",
}
# The triggers' name is the last in the alphabet: what others set is seen. Who takes a
# time has a transaction's id before: so nobody who looks for writers afterwards passes
# over it.
TIME = {
    table: trigger_function(
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
CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {name}();
"""
    for table, name in TIMED.items()
}
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
CREATE OR REPLACE TRIGGER update_owned_time AFTER UPDATE OF {SHOWN} ON accounts_user
    FOR EACH ROW WHEN (({of_row("OLD")}) IS DISTINCT FROM ({of_row("NEW")}))
    EXECUTE FUNCTION update_owned_time();
"""


def updated_at(model, help_text=""):
    return AddFieldBeside(
        model,
        "updated_at",
        models.DateTimeField(db_default=Now(), editable=False, help_text=help_text),
    )


class Migration(migrations.Migration):
    """Each table is locked by itself: who writes has locked several, one by one."""

    atomic = False

    dependencies = [
        ("accounts", "0009_settled_at"),
        ("issuers", "0016_events"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        updated_at(
            "issuer", "When the row, or what it shows of its owner, was written last."
        ),
        updated_at("legacyshareholder"),
        updated_at("token"),
        AddIndexBeside(
            "issuer", models.Index(fields=["updated_at"], name="issuer_updated")
        ),
        *(
            migrations.RunSQL(
                TIME[table], drop_if_there(f"{name}()", triggers={"update_time": table})
            )
            for table, name in TIMED.items()
        ),
        migrations.RunSQL(
            OWNER,
            drop_if_there(
                "update_owned_time()", triggers={"update_owned_time": "accounts_user"}
            ),
        ),
    ]
