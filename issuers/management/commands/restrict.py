from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Restrict who may hold and move units of tokens."
    verbs = {
        "freeze": "issuers.management.restrict.freeze",
        "lock": "issuers.management.restrict.lock",
        "lift": "issuers.management.restrict.lift",
        "rule": "issuers.management.restrict.rule",
    }
