from django.db import migrations

from partnerapi.core.guards import drop, function

PRUNE = function(
    "partnerapi_prune_job_runs(most integer)",
    "bigint",
    """
    DELETE FROM partnerapi_jobrun WHERE id IN (
        SELECT id FROM partnerapi_jobrun
        WHERE started_at < clock_timestamp() - interval '90 days'
        LIMIT most FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
    """,
    declare="deleted bigint;",
)


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0005_exports"),
    ]

    operations = [
        migrations.RunSQL(PRUNE, drop("partnerapi_prune_job_runs(integer)")),
    ]
