from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Issue, list and revoke API keys of partners; vouch for passkeys of staff."
    verbs = {
        "issue": "accounts.management.key.issue.Command",
        "list": "accounts.management.key.list.Command",
        "revoke": "accounts.management.key.revoke.Command",
        "vouch": "accounts.management.key.vouch.Command",
        "peppers": "accounts.management.key.peppers.Command",
    }
