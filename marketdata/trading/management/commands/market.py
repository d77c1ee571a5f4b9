from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Open and run the internal markets."
    verbs = {
        "open-secondary": "issuers.management.open_secondary_market.Command",
        "open": "marketdata.trading.management.market.open.Command",
        "phase": "marketdata.trading.management.market.phase.Command",
        "parameters": "marketdata.trading.management.market.parameters.Command",
        "bust": "marketdata.trading.management.market.bust.Command",
        "cancel-orders": "marketdata.trading.management.market.cancel_orders.Command",
        "block": "marketdata.trading.management.market.block.Command",
        "orders": "marketdata.trading.management.market.orders.Command",
        "sweep-fees": "marketdata.trading.management.market.sweep_fees.Command",
    }
