from django.db import migrations

KEEP_LOG = """
CREATE FUNCTION staff_log_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What staff did stays on the log, and so does user %. Clear '
        'is_active on the user instead.', OLD.user_id
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER staff_log_stays BEFORE DELETE ON django_admin_log
    FOR EACH ROW EXECUTE FUNCTION staff_log_stays();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_account_accountstatuschange_and_more"),
        ("admin", "0003_logentry_add_action_flag_choices"),
    ]

    operations = [
        migrations.RunSQL(
            KEEP_LOG,
            "DROP TRIGGER staff_log_stays ON django_admin_log;"
            "DROP FUNCTION staff_log_stays()",
        ),
    ]
