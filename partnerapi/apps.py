from importlib import import_module

from django.apps import AppConfig


class PartnerAPIConfig(AppConfig):
    name = "partnerapi"
    verbose_name = "Partner API"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self):
        # What it registers, `manage.py check` runs.
        import_module("partnerapi.operations.checks")
        # What it adds, a process that serves looks at when it starts.
        import_module("partnerapi.operations.starting")
