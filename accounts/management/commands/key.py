from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Issue, list and revoke API keys of partners."
    verbs = {
        "issue": "accounts.management.key.issue",
        "list": "accounts.management.key.list",
        "revoke": "accounts.management.key.revoke",
        "peppers": "accounts.management.key.peppers",
    }
