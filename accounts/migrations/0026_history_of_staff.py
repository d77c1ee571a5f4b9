"""Keeps who became staff, with which rights and devices, and who was signed in."""

from django.db import migrations

from partnerapi.core.guards import history_of, rewritten

# A row is found by the column that the third argument names, under its value of before
# and of after; by the digest of a column that is secret.
BY_COLUMN = rewritten(
    "history_record()",
    (
        "    row_key text := coalesce(became, was) ->> 'id';\n",
        "    key_column text := coalesce(TG_ARGV[2], 'id');\n",
    ),
    (
        "    author jsonb :=",
        """    row_keys text[] := ARRAY(SELECT DISTINCT CASE WHEN key_column = ANY (secret)
            THEN left(encode(sha256(convert_to(k, 'UTF8')), 'hex'), 40) ELSE k END
        FROM unnest(ARRAY[was ->> key_column, became ->> key_column]) k
        WHERE k IS NOT NULL);
    author jsonb :=""",
    ),
    (
        "    VALUES (clock_timestamp(), TG_TABLE_NAME, row_key, TG_OP, was, became,",
        "    SELECT clock_timestamp(), TG_TABLE_NAME, k, TG_OP, was, became,",
    ),
    (
        "left(coalesce(author ->> 'request', ''), 100));",
        "left(coalesce(author ->> 'request', ''), 100)\n    FROM unnest(row_keys) k;",
    ),
)

# Imports make users by the thousand, and none of them staff.
MADE_STAFF = """
CREATE TRIGGER history_record_staff AFTER INSERT ON accounts_user FOR EACH ROW
    WHEN (NEW.is_staff OR NEW.is_superuser) EXECUTE FUNCTION
    history_record('last_login updated_at settled_at', 'password')
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0025_baseline"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("otp_totp", "0003_add_timestamps"),
        ("sessions", "0001_initial"),
    ]

    operations = [
        BY_COLUMN,
        migrations.RunSQL(
            MADE_STAFF, "DROP TRIGGER history_record_staff ON accounts_user"
        ),
        history_of("accounts_user_groups", key="user_id"),
        history_of("accounts_user_user_permissions", key="user_id"),
        history_of("auth_group"),
        history_of("auth_group_permissions", key="group_id"),
        # Each sign-in moves these.
        history_of(
            "otp_totp_totpdevice",
            left_out="drift last_t last_used_at throttling_failure_count"
            " throttling_failure_timestamp",
            secret="key",
            key="user_id",
        ),
        # A session's key is as good as a password.
        history_of(
            "django_session", secret="session_key session_data", key="session_key"
        ),
    ]
