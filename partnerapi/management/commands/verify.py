from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Check all rules that data must keep; prints a line per rule."
    verbs = {
        "approvals": "issuers.management.verify_approvals.Command",
        "cash": "accounts.management.verify_cash.Command",
        "register": "issuers.management.verify_register.Command",
        "books": "marketdata.management.verify_books.Command",
        "market": "marketdata.trading.management.verify_market.Command",
    }
