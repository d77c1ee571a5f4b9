from django.db import migrations, models
from django.db.models.functions import Now

from partnerapi.core.guards import drop, function

PRUNE = function(
    "partnerapi_prune_failed_sign_ins()",
    "bigint",
    """
    DELETE FROM partnerapi_failedsignin
        WHERE at < clock_timestamp() - interval '90 days'
            OR id <= (SELECT max(id) - 1000000 FROM partnerapi_failedsignin);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
    """,
    declare="deleted bigint;",
)


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0006_pruned_job_runs")]

    operations = [
        migrations.CreateModel(
            name="FailedSignIn",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "login",
                    models.CharField(help_text="As it was typed.", max_length=254),
                ),
                ("address", models.CharField(max_length=64)),
                (
                    "is_locked",
                    models.BooleanField(
                        help_text="Refused, or refused from then on, after too many"
                        " failures."
                    ),
                ),
                ("at", models.DateTimeField(db_default=Now(), db_index=True)),
            ],
            options={"verbose_name": "failed sign-in"},
        ),
        migrations.RunSQL(PRUNE, drop("partnerapi_prune_failed_sign_ins()")),
    ]
