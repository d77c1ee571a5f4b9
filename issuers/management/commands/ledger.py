from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Show a token's ledger, and add entries to it."
    verbs = {
        "show": "issuers.management.ledger.show.Command",
        "mint": "issuers.management.ledger.moves.Mint",
        "burn": "issuers.management.ledger.moves.Burn",
        "transfer": "issuers.management.ledger.moves.Transfer",
        "reverse": "issuers.management.ledger.reverse.Command",
        "set-price": "issuers.management.ledger.set_price.Command",
    }
