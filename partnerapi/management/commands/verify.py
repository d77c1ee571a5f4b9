from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Check everything that must be true, a line for each rule."
    verbs = {
        "cash": "accounts.management.verify_cash",
        "register": "issuers.management.verify_register",
        "books": "marketdata.management.verify_books",
        "market": "marketdata.trading.management.verify_market",
    }
