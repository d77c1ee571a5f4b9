from django.apps import AppConfig


class PartnerAPIConfig(AppConfig):
    name = "partnerapi"
    verbose_name = "Partner API"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self):
        from partnerapi.operations import checks  # noqa: F401
