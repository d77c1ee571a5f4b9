"""A request that its asker took back is no refusal in the log."""

from importlib import import_module

from django.db import migrations

before = import_module("partnerapi.migrations.0010_log_by_object").LOG
VERDICT = "CASE WHEN d.is_approved THEN 'Approval' ELSE 'Refusal' END"
TAKEN_BACK = (
    "CASE WHEN d.is_approved THEN 'Approval'"
    " WHEN d.decided_by_id = r.filed_by_id THEN 'Taken back' ELSE 'Refusal' END"
)


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0010_log_by_object"),
        ("accounts", "0041_exports_and_imports_are_kept"),
    ]

    operations = [
        migrations.RunSQL(before.replace(VERDICT, TAKEN_BACK), before),
    ]
