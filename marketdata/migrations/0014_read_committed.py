"""Refuses changes that a transaction would judge by an old snapshot."""

from django.db import migrations

from partnerapi.core.guards import call_without_snapshot, refuse_snapshots


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0013_baseline"),
        ("accounts", "0027_read_committed"),
    ]

    operations = [
        refuse_snapshots("marketdata_fixlease", "marketdata_fixsession"),
        *call_without_snapshot(
            "marketdata_lock_book(uuid)",
            "marketdata_record(uuid, bigint, smallint[], bigint[], bigint[], boolean[],"
            " bigint[], bigint[], boolean)",
        ),
    ]
