"""Keeps issuers, tokens and what they publish as they were before a change."""

from django.db import migrations

from partnerapi.core.guards import history_of

ALWAYS = (
    "issuers_issuer",
    "issuers_token",
    "issuers_issuergrant",
    "issuers_issuerfinancialdata",
    "issuers_article",
)


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0025_approvals"),
        ("accounts", "0015_history"),
    ]

    operations = [
        *(history_of(table, left_out="updated_at recorded_in") for table in ALWAYS),
        history_of("issuers_document", left_out="content"),
        # An import makes lines, and names its file; a delivery is in the ledger.
        history_of(
            "issuers_legacyshareholder",
            "UPDATE OF issuer_id, user_id, token_id, number_of_shares, price_cents,"
            " reference, replaces_id OR DELETE",
            left_out="updated_at",
        ),
    ]
