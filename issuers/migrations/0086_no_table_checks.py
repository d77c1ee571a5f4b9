"""No function asks which table its trigger is on.

Only the owner may attach it to a table: none else may execute it.
"""

from django.db import migrations

from partnerapi.core.guards import without_table_check

TABLES = {
    "approvals_of_delivery": "issuers_deliveryjob",
    "approvals_of_identity": "issuers_token",
    "approvals_of_register": "issuers_issuer",
    "delivery_note_makers": "issuers_legacyshareholder",
    "delivery_stays": "issuers_deliverystep",
    "events_account_changed": "accounts_accountstatuschange",
    "events_announce": "issuers_unnumberedevent",
    "events_article_changed": "issuers_article",
    "events_figures_changed": "issuers_issuerfinancialdata",
    "events_key_changed": "accounts_apikey",
    "events_number": "issuers_unnumberedevent",
    "events_open_head": "accounts_partner",
    "issuers_count_legacy": "issuers_legacyshareholder",
    "keep_issuer_industry": "issuers_issuer",
    "register_keep_changes": "issuers_legacyshareholderchange",
    "register_keep_delivered": "issuers_legacyshareholder",
    "register_keep_holder": "accounts_userholder",
    "register_keep_issuer": "issuers_issuer",
    "register_keep_token": "issuers_token",
    "register_keep_user": "accounts_user",
    "register_open_ledger": "issuers_token",
    "search_issuer_changed": "issuers_issuer",
    "search_issuer_deleted": "issuers_issuer",
    "search_owner_changed": "accounts_user",
    "search_token_changed": "issuers_token",
    "update_industry_of_issuers": "issuers_industryclassificationbenchmark",
    "update_owned_time": "accounts_user",
}


class Migration(migrations.Migration):
    dependencies = [("issuers", "0085_witnesses")]

    operations = [
        without_table_check(name, table) for name, table in TABLES.items()
    ] + [
        without_table_check(
            "register_time_token", "issuers_token",
            behind="    PERFORM register_mark(ARRAY[NEW.issuer_id]);",
        )
    ]  # fmt: skip
