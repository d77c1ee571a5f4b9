"""A change of an investor's profile is dated when nobody moves the holder's units.

Triggers of a row are called by their names: what takes the locks comes before
`accounts_follow_investor`, which reads the clock.
"""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import trigger_function

judge = import_module("issuers.migrations.0036_compliance_judge")

HOLD_INVESTOR_BEFORE = judge.HOLD_INVESTOR.partition("\nCREATE TRIGGER")[0]
HOLD_INVESTOR = trigger_function(
    "register_hold_investor",
    "accounts_investorchange",
    """
    PERFORM FROM accounts_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.user_id = NEW.user_id FOR NO KEY UPDATE;
    RETURN NEW;
    """,
    settings=judge.BY_INDEX,
)
RENAME = "ALTER TRIGGER {} ON accounts_investorchange RENAME TO {};"
FIRST, LATE = "account_is_held_first", "register_hold_investor"


class Migration(migrations.Migration):
    dependencies = [("issuers", "0040_events_of_cash_and_investors")]

    operations = [
        migrations.RunSQL(
            HOLD_INVESTOR + RENAME.format(LATE, FIRST),
            HOLD_INVESTOR_BEFORE + RENAME.format(FIRST, LATE),
        )
    ]
