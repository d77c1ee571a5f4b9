"""Of the platform's cash accounts, markets have one each."""

from django.db import migrations, models
from django.db.models import Q

from partnerapi.core.migrating import DropIndexBeside

BEFORE = "one_cash_account_of_the_platform_per_kind"
SINCE = "cash_account_of_the_platform_is_one_of_its_kind"


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0078_market_fees_are_validated")]

    operations = [
        migrations.RunSQL(
            f"""CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS {SINCE}
            ON accounts_cashaccount (kind) WHERE kind IN ('BANK', 'FEES', 'SUSPENSE')""",
            f"DROP INDEX CONCURRENTLY IF EXISTS {SINCE}",
            state_operations=[
                migrations.AddConstraint(
                    "cashaccount",
                    models.UniqueConstraint(
                        fields=["kind"],
                        condition=Q(kind__in=["BANK", "FEES", "SUSPENSE"]),
                        name=SINCE,
                    ),
                )
            ],
        ),
        DropIndexBeside(
            BEFORE,
            "accounts_cashaccount (kind) WHERE NOT (kind = 'CLIENT')",
            [migrations.RemoveConstraint("cashaccount", BEFORE)],
        ),
    ]
