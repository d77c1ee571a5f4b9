from django.contrib.admin.models import CHANGE, LogEntry
from django.core.management.base import CommandError

from accounts.management.people import active_staff
from issuers.management.register_command import (
    RegisterCommand,
    add_reason,
    token_named,
    writing,
)
from issuers.models import Token
from issuers.offerings.deciding import OfferingRefused
from issuers.offerings.secondary import open_secondary_market
from partnerapi.core.commands import DRY_RUN
from partnerapi.core.money import euros


class Command(RegisterCommand):
    help = """Open a token's secondary market, on which investors trade. This is
permanent. An offering of the token ends first; its price is then proposed as the
reference price of an internal market.

The token's history in the admin shows the author and the reason.

examples:
  manage.py market open-secondary ACME --staff ana@example.com \\
      --reason "Offering closed on 3 March"
  manage.py market open-secondary ACME --staff ana@example.com --reason x --dry-run
"""

    is_approved = False

    def add_own_arguments(self, parser):
        add_reason(parser)

    def handle(self, *, symbol, staff, reason, dry_run, **options):
        person, token = active_staff("--staff", staff), token_named(symbol)
        with writing(dry_run):
            try:
                open_secondary_market(token)
            except OfferingRefused as error:
                raise CommandError(f"{error} Nothing was written.") from None
            LogEntry.objects.log_actions(
                person.pk,
                Token.objects.filter(pk=token.pk),
                CHANGE,
                f"Opened the secondary market: {reason}",
            )
        if dry_run:
            return f"{symbol} would move to the secondary market{DRY_RUN}"
        said = f"{symbol} is now on the secondary market."
        if price := token.offerings.last_price():
            said += (
                f" Its offering proposes the reference price {euros(price)}: market "
                f"open {symbol} --reference-price {price}"
            )
        return said
