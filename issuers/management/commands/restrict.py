from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Restrict who may hold and move units of tokens."
    verbs = {
        "freeze": "issuers.management.restrict.freeze.Command",
        "lock": "issuers.management.restrict.lock.Command",
        "lift": "issuers.management.restrict.lift.Command",
        "rule": "issuers.management.restrict.rule.Command",
    }
