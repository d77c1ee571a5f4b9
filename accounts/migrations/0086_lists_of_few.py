"""Lists users and cash accounts of which there are few, without reading the others."""

from django.db import migrations, models
from django.db.models import Q

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0085_status_changes_recorded")]

    operations = [
        AddIndexBeside(
            "user",
            models.Index(fields=["id"], condition=Q(is_staff=True), name="user_staff"),
        ),
        AddIndexBeside(
            "user",
            models.Index(
                fields=["id"], condition=Q(is_active=False), name="user_inactive"
            ),
        ),
        AddIndexBeside(
            "user",
            models.Index(
                fields=["id"], condition=Q(type="COMPANY"), name="user_company"
            ),
        ),
        AddIndexBeside(
            "cashaccount",
            models.Index(
                fields=["kind", "id"],
                condition=~Q(kind="CLIENT"),
                name="cash_account_by_kind",
            ),
        ),
    ]
