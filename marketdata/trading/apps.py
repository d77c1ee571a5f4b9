from importlib import import_module

from django.apps import AppConfig

from accounts.people.followers import FOLLOWERS
from partnerapi.core import lock_waits


class TradingConfig(AppConfig):
    name = "marketdata.trading"
    label = "trading"
    default_auto_field = "django.db.models.BigAutoField"

    def import_models(self):
        """Register the models that partners read, too."""
        super().import_models()
        import_module("marketdata.trading.telling")

    def ready(self):
        FOLLOWERS.append("marketdata.trading.following.OpenOrders")
        lock_waits.NAMES |= {
            "trading_market": "a market",
            "trading_order": "an order",
        }
