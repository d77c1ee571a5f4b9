from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Fill a sandbox with invented companies, and show how to get in."
    verbs = {
        "seed": "partnerapi.management.sandbox.seed.Command",
        "access": "partnerapi.management.sandbox.access.Command",
    }
