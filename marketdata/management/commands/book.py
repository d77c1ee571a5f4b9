from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Show an order book, or replay a file into one."
    verbs = {
        "replay": "marketdata.management.book.replay.Command",
        "show": "marketdata.management.book.show.Command",
    }
