from django.db import migrations

from partnerapi.core.guards import history_of


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0008_leases"),
        ("accounts", "0015_history"),
    ]

    operations = [
        # The acceptor writes the columns of the connection.
        history_of(
            "marketdata_fixsession",
            "INSERT OR UPDATE OF comp_id, partner_id, enabled OR DELETE",
        ),
    ]
