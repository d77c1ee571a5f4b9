from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Sell a token's units for its issuer, on the primary market."
    verbs = {
        "draft": "issuers.management.offering.draft.Command",
        "request": "issuers.management.offering.request.Command",
        "settle": "issuers.management.offering.settle.Command",
        "show": "issuers.management.offering.show.Command",
        "withdraw": "issuers.management.offering.withdraw.Command",
    }
