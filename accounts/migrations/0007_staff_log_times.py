from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

# A line that came later with an earlier time would change what was stated of the log.
TIME_LOG = trigger_function(
    "staff_log_has_its_time",
    "django_admin_log",
    """
    NEW.action_time := clock_timestamp();
    RETURN NEW;
    """,
) + """
CREATE TRIGGER staff_log_has_its_time BEFORE INSERT ON django_admin_log
    FOR EACH ROW EXECUTE FUNCTION staff_log_has_its_time();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_kept_histories")]

    operations = [
        migrations.RunSQL(
            TIME_LOG,
            drop(
                "staff_log_has_its_time()",
                triggers={"staff_log_has_its_time": "django_admin_log"},
            ),
        ),
    ]
