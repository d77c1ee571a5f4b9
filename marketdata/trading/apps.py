from importlib import import_module

from django.apps import AppConfig

from accounts import followers
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
        following = import_module("marketdata.trading.following")
        followers.FOLLOWERS.append(following.OpenOrders())
        lock_waits.NAMES |= {
            "trading_market": "a market",
            "trading_order": "an order",
        }
