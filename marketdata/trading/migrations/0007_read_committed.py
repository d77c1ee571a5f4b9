"""Refuses changes that a transaction would judge by an old snapshot."""

from django.db import migrations

from partnerapi.core.guards import call_without_snapshot, refuse_snapshots


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0006_baseline"),
        ("accounts", "0027_read_committed"),
    ]

    operations = [
        refuse_snapshots(
            "trading_bust", "trading_execution", "trading_order", "trading_orderevent"
        ),
        *call_without_snapshot(
            "trading_change_phase(uuid, text, text, timestamptz, bigint, text, text)",
            "trading_lock(uuid[])",
            "trading_open(uuid, time, time, boolean, timestamptz, bigint, bigint,"
            " integer, bigint, text)",
        ),
    ]
