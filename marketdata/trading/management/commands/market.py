from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Open and run the internal markets."
    verbs = {
        "open-secondary": "issuers.management.open_secondary_market",
        "open": "marketdata.trading.management.market.open",
        "phase": "marketdata.trading.management.market.phase",
        "bust": "marketdata.trading.management.market.bust",
        "cancel-orders": "marketdata.trading.management.market.cancel_orders",
        "orders": "marketdata.trading.management.market.orders",
    }
