from importlib import import_module

from django.apps import AppConfig
from django.apps import apps as installed
from django.db.models.signals import post_migrate

from partnerapi.core import lock_waits


class IssuersConfig(AppConfig):
    name = "issuers"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self):
        """Register the models of every room, not only those of `issuers.models`."""
        super().import_models()
        import_module("issuers.register.models")
        import_module("issuers.register.statement_models")
        import_module("issuers.legacy.models")
        import_module("issuers.compliance.models")
        import_module("issuers.offerings.models")

    def ready(self):
        post_migrate.connect(write_entry_kinds, sender=self)
        lock_waits.NAMES |= {
            "issuers_deliveryjob": "this delivery",
            "issuers_legacyshareholder": "one of the lines",
            "issuers_issuer": "an issuer",
            "issuers_offering": "an offering",
            "issuers_subscription": "a subscription",
            "issuers_token": "a token",
            "issuers_tokenledgerhead": "a token's ledger",
        }


def write_entry_kinds(*, using, apps=installed, **kwargs):
    from issuers.register.kinds import kind_rows

    # A migration back before its own leaves no table.
    if "entrykindrow" not in apps.all_models["issuers"]:
        return
    model = apps.get_model("issuers", "EntryKindRow")
    rows = model.objects.using(using)
    names = []
    for row in kind_rows():
        names.append(row["name"])
        rows.update_or_create(name=row["name"], defaults=row)
    rows.exclude(name__in=names).delete()
