from importlib import import_module

from django.apps import AppConfig

from partnerapi.core import lock_waits


class IssuersConfig(AppConfig):
    name = "issuers"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self):
        """Register the models of every room, not only those of `issuers.models`."""
        super().import_models()
        import_module("issuers.register.models")
        import_module("issuers.legacy.models")
        import_module("issuers.compliance.models")

    def ready(self):
        lock_waits.NAMES |= {
            "issuers_deliveryjob": "this delivery",
            "issuers_legacyshareholder": "one of the lines",
            "issuers_issuer": "an issuer",
            "issuers_token": "a token",
            "issuers_tokenledgerhead": "a token's ledger",
        }
