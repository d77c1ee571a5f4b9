"""Partners are told when cash or the investor profile of a client changes."""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

events = import_module("issuers.migrations.0016_events")
guards = import_module("issuers.migrations.0003_register_guards")


def of_accounts(type_: str, accounts: str) -> str:
    return f"""{events.TELL} 'PARTNER', a.partner_id, '{type_}', a.id, NULL::uuid,
        NULL::uuid, a.id, NULL::bigint
    FROM (SELECT DISTINCT {accounts}) e
    JOIN accounts_account a ON a.id = e.account_id ORDER BY a.id {events.ONCE}"""


# Of a trade the two sides' orders tell.
CASH = trigger_function(
    "events_cash_changed",
    "accounts_cashtransaction",
    of_accounts(
        "CASH_CHANGED",
        """c.account_id FROM entered t
        JOIN accounts_cashaccount c ON c.id IN (t.source_id, t.target_id)
        WHERE t.kind <> 'TRADE'""",
    ),
    settings=guards.BY_INDEX,
)
WITHDRAWALS = trigger_function(
    "events_withdrawal_changed",
    "accounts_withdrawal",
    of_accounts(
        "CASH_CHANGED",
        "c.account_id FROM entered w"
        " JOIN accounts_cashaccount c ON c.id = w.cash_account_id",
    ),
    settings=guards.BY_INDEX,
)
INVESTORS = trigger_function(
    "events_investor_changed",
    "accounts_investorchange",
    of_accounts(
        "INVESTOR_CHANGED",
        """o.id AS account_id FROM entered i
        JOIN accounts_account o ON o.user_id = i.user_id
        WHERE o.status NOT IN ('CLOSED', 'REJECTED')""",
    ),
    settings=guards.BY_INDEX,
)


def tells(name: str, when: str, table: str) -> str:
    return f"""
CREATE TRIGGER {name} AFTER {when} ON {table}
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION {name.removesuffix("_again")}();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0039_events_by_account"),
        ("accounts", "0025_approvals_of_markets"),
    ]

    operations = [
        migrations.RunSQL(
            CASH + tells("events_cash_changed", "INSERT", "accounts_cashtransaction"),
            drop(
                "events_cash_changed()",
                triggers={"events_cash_changed": "accounts_cashtransaction"},
            ),
        ),
        migrations.RunSQL(
            WITHDRAWALS
            + tells("events_withdrawal_changed", "INSERT", "accounts_withdrawal")
            + tells("events_withdrawal_changed_again", "UPDATE", "accounts_withdrawal"),
            drop(
                "events_withdrawal_changed()",
                triggers={
                    "events_withdrawal_changed": "accounts_withdrawal",
                    "events_withdrawal_changed_again": "accounts_withdrawal",
                },
            ),
        ),
        migrations.RunSQL(
            INVESTORS
            + tells("events_investor_changed", "INSERT", "accounts_investorchange"),
            drop(
                "events_investor_changed()",
                triggers={"events_investor_changed": "accounts_investorchange"},
            ),
        ),
    ]
