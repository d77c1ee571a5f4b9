from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Book clients' money."
    verbs = {
        "book-statement": "accounts.management.cash.book_statement.Command",
    }
