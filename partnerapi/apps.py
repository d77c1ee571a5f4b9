from importlib import import_module

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate

from partnerapi.core import starting


class PartnerAPIConfig(AppConfig):
    name = "partnerapi"
    verbose_name = "Partner API"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self):
        # Of our apps all rights are written when this one's turn comes.
        post_migrate.connect(give_roles, sender=apps.get_app_config("auth"))
        # What it registers, `manage.py check` runs.
        import_module("partnerapi.operations.checks")
        # Before those of apps, which need their tables.
        starting.checks.insert(0, "partnerapi.operations.starting.check_database")
        starting.checks.append("partnerapi.sandbox.starting.check_seeded")


def give_roles(*, using, **kwargs):
    import_module("partnerapi.staff.roles").write_roles(using)
