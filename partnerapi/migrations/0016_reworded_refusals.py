"""Words the refusals of functions in plain English."""

from django.db import migrations

from partnerapi.core.guards import rewritten


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0015_one_function_refuses_changes")]

    operations = [
        rewritten(
            "partnerapi_prune_idempotency_records(integer)",
            (
                "-- A key that is being claimed anew stays, and nobody waits for anybody.",
                "-- A key that is being claimed anew stays, and neither side waits.",
            ),
        ),
        rewritten(
            "partnerapi_keep_exports()",
            (
                "can not become",
                "cannot become",
            ),
        ),
    ]
