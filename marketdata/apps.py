from django.apps import AppConfig


class MarketDataConfig(AppConfig):
    name = "marketdata"
    verbose_name = "Market data"
    default_auto_field = "django.db.models.BigAutoField"
