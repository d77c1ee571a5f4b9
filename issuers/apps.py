from importlib import import_module

from django.apps import AppConfig


class IssuersConfig(AppConfig):
    name = "issuers"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self):
        """Register the models of every room, not only those of `issuers.models`."""
        super().import_models()
        import_module("issuers.register.models")
        import_module("issuers.legacy.models")
