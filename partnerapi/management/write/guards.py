from django.core.management.base import CommandError

from accounts.cash import guards as cash
from issuers.register import guards as register
from marketdata.books import guards as books
from marketdata.trading import guards as market
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.guard_lists import differences


class Command(CommandWithExamples):
    help = """Write the lists of guards that `verify` compares.

For whoever adds a migration: the lists are those of the database that is read, which
must be one that was made by the migrations and by nothing else.

examples:
  manage.py write guards
  manage.py write guards --check
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--check",
            action="store_true",
            help="write nothing; fail where a list is not that of the database",
        )

    def handle(self, *, check, **options):
        for guarded in (
            register.GUARDED,
            books.GUARDED,
            cash.GUARDED,
            market.GUARDED,
        ):
            if check:
                wrong = list(differences(guarded.listed(), guarded.found()))
                if wrong:
                    raise CommandError("\n".join(wrong))
            else:
                guarded.write()
        return "The lists are those of the migrations."
