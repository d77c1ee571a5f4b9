from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("trading", "0003_partners_are_told")]

    operations = [
        AddIndexBeside(
            "order",
            models.Index(
                fields=["client_order_id"],
                condition=models.Q(client_order_id__isnull=False),
                name="order_by_client_order_id",
            ),
        ),
        AddIndexBeside(
            "orderevent",
            models.Index(
                fields=["token", "number"],
                condition=models.Q(order__isnull=True),
                name="order_event_of_phase",
            ),
        ),
    ]
