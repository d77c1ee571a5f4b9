from uuid import UUID

from django.core.management.base import CommandError

from issuers.offerings.allotting import shares_now
from issuers.offerings.deciding import covered, price_text, reflection_ends
from issuers.offerings.drafting import terms_of
from issuers.offerings.models import Offering
from partnerapi.core.commands import CommandWithExamples, text_table
from partnerapi.core.money import euros


def offering_named(id: UUID) -> Offering:
    """
    Raises:
        CommandError
    """
    offering = Offering.objects.select_related("token__issuer").filter(pk=id).first()
    if offering is None:
        raise CommandError(f"There is no offering {id}; offering show lists them.")
    return offering


class Command(CommandWithExamples):
    help = """List offerings, or show the book of one, with its allotment as of now.

It writes nothing. Each subscription is shown with the units that it would get, and the
code of the rule by which it would get fewer than its share.

examples:
  manage.py offering show
  manage.py offering show 0190c3a1-0000-7000-8000-000000000000
"""

    def add_arguments(self, parser):
        parser.add_argument("offering", type=UUID, nargs="?", help="an offering's id")

    def handle(self, *, offering, **options):
        return book(offering_named(offering)) if offering else listing()


def listing() -> str:
    found = Offering.objects.select_related("token").order_by("-opens_at", "-id")
    rows = [
        {
            "id": str(of.pk),
            "token": of.token.symbol,
            "status": of.status,
            "price": price_text(terms_of(of)),
            "units": f"{of.minimum_units:,} to {of.maximum_units:,}",
            "closes, UTC": f"{of.closes_at:%Y-%m-%d %H:%M}",
        }
        for of in found
    ]
    return text_table(["id", "token", "status", "price", "units", "closes, UTC"], rows)


def book(offering: Offering) -> str:
    price, shares = shares_now(offering)
    rows = [
        {
            "account": str(share.subscription.account_id),
            "units": f"{share.subscription.quantity:,}",
            "limit": euros(share.subscription.limit_price),
            "gets": f"{share.units:,}",
            "refused by": share.code,
        }
        for share in shares
    ]
    ends = reflection_ends(offering)
    last = f"{ends:%Y-%m-%d %H:%M:%S} UTC" if ends else "none"
    head = (
        f"{offering.token.symbol}: {offering.status}, covered {covered(offering):,} of "
        f"{offering.maximum_units:,} units at {euros(price) if price else 'no price'}; "
        f"last reflection period: {last}."
    )
    columns = ["account", "units", "limit", "gets", "refused by"]
    return f"{head}\n{text_table(columns, rows)}"
