from accounts.management.people import user_named
from issuers.compliance.models import Restriction
from issuers.compliance.restrictions import Terms
from issuers.management.register_command import token_named, whole
from issuers.management.restricting import add_terms, set_restriction
from partnerapi.core.commands import DryRunCommand

ALL = "all"
Kind = Restriction.Kind


def units(text):
    return None if text.lower() == ALL else whole(text)


class Command(DryRunCommand):
    help = """Lock, pledge or freeze a holder's units.

Locks add up. Units beyond the locked number can move, and the holder can receive units.
The newest open orders that sell locked units are cancelled. restrict lift, which needs
a second person, ends a lock early.

examples:
  manage.py restrict lock ACME ana@example.com 5_000 --until 2028-01-01 \\
      --staff bo@example.com --reason "Founders' lock-up"
  manage.py restrict lock ACME ana@example.com all --pledged-to "Bank of Lyon" \\
      --staff bo@example.com --reason "Loan 4711" --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument("symbol", type=str.upper, help="the token's symbol")
        parser.add_argument(
            "holder", help="a user's email or wallet address, LEI or id"
        )
        parser.add_argument("units", type=units, help="number of units, or all")
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--pledged-to",
            default="",
            metavar="WHOM",
            help=("pledge the units to this pledgee"),
        )
        how.add_argument(
            "--frozen",
            action="store_true",
            help="freeze the units, for example by court order",
        )
        add_terms(parser)

    def handle(
        self, *, symbol, holder, units, pledged_to, frozen, until, reason, staff,
        dry_run, **options,
    ):  # fmt: skip
        kind = Kind.PLEDGE if pledged_to else Kind.FREEZE if frozen else Kind.LOCK_UP
        terms = Terms(kind, reason, token_named(symbol), units, until, pledged_to)
        return set_restriction(user_named(holder), terms, staff, dry_run)
