from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0012_answers_expire")]

    operations = [
        ValidateConstraint("idempotencyrecord", "idempotency_record_expires_in_a_day"),
        ValidateConstraint("jobrun", "job_run_has_begun"),
    ]
