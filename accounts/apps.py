from django.apps import AppConfig
from django.apps import apps as installed
from django.db.models.signals import post_migrate

from partnerapi.core import lock_waits, starting


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self):
        post_migrate.connect(load_countries, sender=self)
        post_migrate.connect(write_policies, sender=self)
        post_migrate.connect(write_scopes, sender=self)
        post_migrate.connect(open_cash_accounts, sender=self)
        lock_waits.NAMES |= {
            "accounts_cashhead": "an account's cash",
            "accounts_user": "a user",
        }
        starting.checks.append("accounts.keys.peppers.check_peppers")


def load_countries(*, using, **kwargs):
    from accounts.people.models import Country

    Country.objects.using(using).load_iso_3166()


def write_policies(*, using, apps=installed, **kwargs):
    from accounts.approvals.models import ApprovalKind, ApprovalPolicy

    # A migration back before the last one leaves a table with fewer columns.
    policy = apps.get_model("accounts", "ApprovalPolicy")
    columns = {field.name for field in policy._meta.fields}
    begin = {
        kind: {
            "from_amount": ApprovalPolicy.FROM_AMOUNTS.get(kind),
            "allows_code": kind not in ApprovalPolicy.SIGNED,
        }
        for kind in ApprovalKind.values
    }
    # The owner's changes stay.
    policy.objects.using(using).bulk_create(
        [
            policy(kind=kind, **{n: v for n, v in given.items() if n in columns})
            for kind, given in begin.items()
        ],
        ignore_conflicts=True,
    )


def write_scopes(*, using, apps=installed, **kwargs):
    from accounts.access import Scope

    # A migration back before its own leaves no table.
    if "keyscope" not in apps.all_models["accounts"]:
        return
    model = apps.get_model("accounts", "KeyScope")
    rows = model.objects.using(using)
    rows.bulk_create([model(name=scope) for scope in Scope], ignore_conflicts=True)
    rows.exclude(name__in=Scope.values).delete()


def open_cash_accounts(*, using, apps=installed, **kwargs):
    # A migration back before the last one leaves a table with fewer columns.
    accounts = apps.get_model("accounts", "CashAccount").objects.using(using)
    heads = apps.get_model("accounts", "CashHead").objects.using(using)
    for kind in ("BANK", "FEES", "SUSPENSE"):
        account, _ = accounts.get_or_create(kind=kind)
        heads.get_or_create(cash_account=account, defaults={"kind": kind})
