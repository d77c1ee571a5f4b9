from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Show a token's ledger, and make entries in it."
    verbs = {
        "show": "issuers.management.ledger.show",
        "mint": "issuers.management.ledger.mint",
        "burn": "issuers.management.ledger.burn",
        "transfer": "issuers.management.ledger.transfer",
        "reverse": "issuers.management.ledger.reverse",
        "set-price": "issuers.management.ledger.set_price",
    }
