"""Refuses changes that a transaction would judge by an old snapshot."""

from django.db import migrations

from partnerapi.core.guards import (
    REFUSE_SNAPSHOT,
    SEARCH_PATH,
    call_without_snapshot,
    closed_to_public,
    refuse_snapshots,
)

REFUSE = f"""
CREATE FUNCTION accounts_refuse_snapshot() RETURNS trigger LANGUAGE plpgsql
{SEARCH_PATH} AS $$
BEGIN
    {REFUSE_SNAPSHOT}
END $$;
{closed_to_public("accounts_refuse_snapshot()")}"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0026_history_of_staff")]

    operations = [
        migrations.RunSQL(REFUSE, "DROP FUNCTION accounts_refuse_snapshot()"),
        refuse_snapshots(
            "accounts_account",
            "accounts_accountstatuschange",
            "accounts_apikey",
            "accounts_applicant",
            "accounts_approvaldecision",
            "accounts_approvalrequest",
            "accounts_bankline",
            "accounts_bankstatement",
            "accounts_cashtransaction",
            "accounts_country",
            "accounts_holderimport",
            "accounts_investorattestation",
            "accounts_investorchange",
            "accounts_partner",
            "accounts_pepper",
            "accounts_user",
            "accounts_user_groups",
            "accounts_user_user_permissions",
            "accounts_userholder",
            "accounts_withdrawal",
        ),
        *call_without_snapshot(
            "accounts_hold_cash(bigint[])",
            "accounts_join(uuid, uuid)",
            "accounts_lock(uuid)",
            "accounts_share(uuid[])",
            "approvals_overtake(uuid, text)",
        ),
    ]
