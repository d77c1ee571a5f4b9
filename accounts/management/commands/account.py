from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Open accounts of partners' clients, and change their status."
    verbs = {
        "open": "accounts.management.account.open.Command",
        "status": "accounts.management.account.status.Command",
    }
