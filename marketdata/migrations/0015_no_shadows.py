"""Has checks believe no type that a session made for itself."""

from django.db import migrations

from partnerapi.core.guards import without_shadows


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0014_read_committed")]

    operations = [
        without_shadows(
            "market_time_zone()",
            "marketdata_digest_change(bigint, smallint, bigint, bigint, boolean,"
            " timestamptz)",
            "marketdata_digest_trade(bigint, bigint, bigint, timestamptz)",
        ),
    ]
