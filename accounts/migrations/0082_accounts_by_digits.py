from django.db import migrations, models

from accounts.accounts.models import Digits
from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0081_approvals_of_parameters")]

    operations = [
        AddIndexBeside(
            "account",
            models.Index("partner", Digits("id"), name="account_by_digits"),
        ),
    ]
