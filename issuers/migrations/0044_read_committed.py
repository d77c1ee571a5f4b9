"""Refuses changes that a transaction would judge by an old snapshot."""

from django.db import migrations

from partnerapi.core.guards import call_without_snapshot, refuse_snapshots


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0043_baseline"),
        ("accounts", "0027_read_committed"),
    ]

    operations = [
        refuse_snapshots(
            "issuers_approvedholder",
            "issuers_article",
            "issuers_deliveryjob",
            "issuers_deliverystep",
            "issuers_document",
            "issuers_industryclassificationbenchmark",
            "issuers_issuer",
            "issuers_issuerfinancialdata",
            "issuers_issuergrant",
            "issuers_ledgeraccount",
            "issuers_ledgertransaction",
            "issuers_legacyimport",
            "issuers_legacyshareholder",
            "issuers_legacyshareholderchange",
            "issuers_restriction",
            "issuers_token",
            "issuers_tokenprice",
            "issuers_tokenrule",
        ),
        *call_without_snapshot("events_announce_articles()", "register_hold(uuid[])"),
        # Who locks nothing may ask in a snapshot.
        *call_without_snapshot(
            "register_states(uuid[], bigint[], boolean)", behind="    IF holds THEN"
        ),
        *call_without_snapshot(
            "register_note(uuid[], timestamptz, timestamptz)",
            behind="    IF (asked <= settled) IS NOT TRUE THEN",
        ),
    ]
