"""Rows that the application inserts get their ids from sequences alone."""

from django.db import migrations

from partnerapi.core.guards import SEARCH_PATH, closed_to_public, refuse_given_ids

REFUSE = f"""
CREATE FUNCTION partnerapi_refuse_given_id() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER {SEARCH_PATH} AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id = OLD.id THEN
            RETURN NEW;
        END IF;
    ELSIF NEW.id = currval(TG_ARGV[0]::regclass) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'The sequence of % gives its ids, and not %.', TG_TABLE_NAME, NEW.id
        USING ERRCODE = 'restrict_violation';
END $$;
{closed_to_public("partnerapi_refuse_given_id()")}"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0013_answers_expire_is_validated"),
        ("accounts", "0025_baseline"),
        ("admin", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("axes", "0001_initial"),
        ("issuers", "0043_baseline"),
        ("marketdata", "0013_baseline"),
        ("otp_totp", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(REFUSE, "DROP FUNCTION partnerapi_refuse_given_id()"),
        refuse_given_ids(
            "accounts_bankstatement",
            "accounts_cashtransaction",
            "accounts_pepper",
            "accounts_user_groups",
            "accounts_user_user_permissions",
            "auth_group",
            "auth_group_permissions",
            "axes_accessattempt",
            "django_admin_log",
            "issuers_deliverystep",
            "issuers_ledgeraccount",
            "marketdata_fixsession",
            "otp_totp_totpdevice",
            "partnerapi_exportmember",
            "partnerapi_failedsignin",
            "partnerapi_idempotencyrecord",
            "partnerapi_jobrun",
        ),
    ]
