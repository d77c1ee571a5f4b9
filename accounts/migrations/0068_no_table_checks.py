"""No function asks which table its trigger is on.

Only the owner may attach it to a table: none else may execute it.
"""

from django.db import migrations

from partnerapi.core.guards import without_table_check

TABLES = {
    "accounts_accept_applicant": "accounts_accountstatuschange",
    "accounts_begin_history": "accounts_account",
    "accounts_count_accounts": "accounts_account",
    "accounts_describe": "accounts_applicant",
    "accounts_enrol_device": "otp_totp_totpdevice",
    "accounts_fold_totals": "accounts_totalchange",
    "accounts_follow_history": "accounts_accountstatuschange",
    "accounts_follow_staff": "accounts_rowchange",
    "accounts_keep_keys": "accounts_apikey",
    "accounts_keep_names": "accounts_userholder",
    "accounts_open_account": "accounts_account",
    "accounts_record_time": "accounts_account",
    "accounts_time_change": "accounts_accountstatuschange",
    "approvals_of_closing": "accounts_accountstatuschange",
    "approvals_of_key": "accounts_apikey",
    "approvals_rested": "accounts_approvaldecision",
    "cash_name_account": "accounts_cashaccount",
    "cash_of_closed_account": "accounts_accountstatuschange",
    "cash_open_account": "accounts_account",
    "cash_open_head": "accounts_cashaccount",
    "staff_log_has_its_time": "django_admin_log",
}


class Migration(migrations.Migration):
    dependencies = [("accounts", "0067_webhooks")]

    operations = [
        without_table_check(name, table) for name, table in TABLES.items()
    ] + [without_table_check("accounts_judge_scopes", "accounts_apikey", "\n            ")]
