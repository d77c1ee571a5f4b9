from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Check everything that must be true, a line for each rule."
    verbs = {
        "cash": "accounts.management.verify_cash.Command",
        "register": "issuers.management.verify_register.Command",
        "books": "marketdata.management.verify_books.Command",
        "market": "marketdata.trading.management.verify_market.Command",
    }
