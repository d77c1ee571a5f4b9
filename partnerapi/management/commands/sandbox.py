from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Fill a sandbox with invented companies, and show its logins and keys."
    verbs = {
        "seed": "partnerapi.management.sandbox.seed.Command",
        "access": "partnerapi.management.sandbox.access.Command",
    }
