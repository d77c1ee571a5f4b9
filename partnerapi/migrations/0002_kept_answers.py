import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.guards import drop, function, trigger_function

PRUNE = function(
    "partnerapi_prune_idempotency_records(most integer)",
    "bigint",
    """
    -- A key that is being claimed anew stays, and nobody waits for anybody.
    DELETE FROM partnerapi_idempotencyrecord WHERE id IN (
        SELECT id FROM partnerapi_idempotencyrecord
        WHERE expires_at <= clock_timestamp()
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
    """,
    declare="deleted bigint;",
)

KEEP_ANSWERS = trigger_function(
    "partnerapi_keep_answers",
    "partnerapi_idempotencyrecord",
    """
    IF OLD.expires_at > clock_timestamp() THEN
        RAISE EXCEPTION 'The answer to key % is kept as it was given until %.',
            OLD.key, OLD.expires_at USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER partnerapi_keep_answers BEFORE UPDATE ON partnerapi_idempotencyrecord
    FOR EACH ROW EXECUTE FUNCTION partnerapi_keep_answers();
"""

# Plans follow what a large import has written, in its own transaction, too.
ANALYZE = function(
    "partnerapi_analyze(tables text[])",
    "void",
    """
    FOREACH name IN ARRAY tables LOOP
        EXECUTE format('ANALYZE public.%I', name);
    END LOOP;
    """,
    declare="name text;",
)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_kept_histories"),
        ("partnerapi", "0001_initial"),
    ]

    operations = [
        migrations.AlterField(
            "idempotencyrecord",
            "partner",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="accounts.partner",
            ),
        ),
        migrations.RunSQL(
            PRUNE, drop("partnerapi_prune_idempotency_records(integer)")
        ),
        migrations.RunSQL(ANALYZE, drop("partnerapi_analyze(text[])")),
        migrations.RunSQL(
            KEEP_ANSWERS,
            drop(
                "partnerapi_keep_answers()",
                triggers={"partnerapi_keep_answers": "partnerapi_idempotencyrecord"},
            ),
        ),
    ]
