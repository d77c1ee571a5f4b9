from partnerapi.core.commands import CommandGroup


class Command(CommandGroup):
    help = "Book bank statements."
    verbs = {
        "book-statement": "accounts.management.cash.book_statement.Command",
    }
