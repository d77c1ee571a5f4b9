from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Issue, list and switch CompIDs of the FIX feed."
    verbs = {
        "issue": "marketdata.management.fix_session.issue.Command",
        "list": "marketdata.management.fix_session.list.Command",
        "switch": "marketdata.management.fix_session.switch.Command",
    }
