from accounts.management.people import user_named
from issuers.compliance.models import Restriction
from issuers.compliance.restrictions import Terms
from issuers.management.register_command import token_named
from issuers.management.restricting import add_terms, set_restriction
from partnerapi.core.commands import DryRunCommand


class Command(DryRunCommand):
    help = """Freeze a holder: from now on, no units move in or out.

One person with the right to add restrictions can freeze; lifting with restrict lift
needs a second one. The holder's open orders are cancelled. Forced transfers and
reversals still move units.

examples:
  manage.py restrict freeze ana@example.com --staff bo@example.com \\
      --reason "Order of the court of Lyon, 26/1187"
  manage.py restrict freeze 529900T8BM49AURSDO55 --token ACME --until 2027-01-01 \\
      --staff bo@example.com --reason "Dispute" --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "holder", help="a user's email or wallet address, LEI or id"
        )
        parser.add_argument(
            "--token", type=str.upper, metavar="SYMBOL", help="only this token"
        )
        add_terms(parser)

    def handle(self, *, holder, token, until, reason, staff, dry_run, **options):
        of = token_named(token) if token else None
        terms = Terms(Restriction.Kind.FREEZE, reason, of, until=until)
        return set_restriction(user_named(holder), terms, staff, dry_run)
