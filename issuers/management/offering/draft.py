from argparse import ArgumentTypeError
from datetime import UTC, datetime
from uuid import UUID

from django.core.management.base import CommandError

from issuers.management.register_command import (
    RegisterCommand,
    actor,
    token_named,
    whole,
    writing,
)
from issuers.offerings.drafting import OfferingTerms, TermsRefused, draft
from issuers.offerings.models import REFLECTION_SECONDS, AllotmentRule, UnitSource
from partnerapi.core.commands import DRY_RUN


def instant(text: str) -> datetime:
    """An instant in UTC; without an offset, it is in UTC already."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not 2027-01-31T09:00") from None
    except OverflowError:
        raise ArgumentTypeError(
            f"{text} is before the year 1 or beyond the year 9999, UTC"
        ) from None


class Command(RegisterCommand):
    help = """Draft an offering of a token's units by its issuer.

Partners do not see a draft. Two people open it: see offering request. Until then, it
can be withdrawn: see offering withdraw.

examples:
  manage.py offering draft ACME --price 1250 --units 5000 --minimum 1000 \\
      --opens 2027-02-01T08:00 --closes 2027-02-15T16:00 --staff ana@example.com
  manage.py offering draft ACME --rule BOOK --floor 1000 --cap 1500 --units 5000 \\
      --minimum 1000 --opens 2027-02-01T08:00 --closes 2027-02-15T16:00 \\
      --source MINT --staff ana@example.com --dry-run
"""
    is_approved = False

    def add_own_arguments(self, parser):
        parser.add_argument(
            "--price",
            metavar="CENTS",
            type=whole,
            help="price of a unit; none for BOOK",
        )
        parser.add_argument(
            "--floor", metavar="CENTS", type=whole, help="lowest limit of a BOOK"
        )
        parser.add_argument(
            "--cap", metavar="CENTS", type=whole, help="highest limit of a BOOK"
        )
        parser.add_argument(
            "--units", metavar="UNITS", type=whole, required=True, help="units offered"
        )
        parser.add_argument(
            "--minimum", metavar="UNITS", type=whole, required=True,
            help="with fewer units it fails",
        )  # fmt: skip
        parser.add_argument(
            "--smallest", metavar="UNITS", type=whole, default=1,
            help="units of the smallest subscription",
        )  # fmt: skip
        parser.add_argument(
            "--largest", metavar="UNITS", type=whole,
            help="units of the largest subscription",
        )  # fmt: skip
        parser.add_argument(
            "--opens", metavar="TIME", type=instant, required=True,
            help="when it begins to take subscriptions",
        )  # fmt: skip
        parser.add_argument(
            "--closes", metavar="TIME", type=instant, required=True,
            help="when it no longer takes any",
        )  # fmt: skip
        parser.add_argument(
            "--rule", choices=AllotmentRule.values, default=str(AllotmentRule.PRO_RATA),
            help="how units are allotted",
        )  # fmt: skip
        parser.add_argument(
            "--source", choices=UnitSource.values, default=str(UnitSource.TREASURY),
            help="where the units come from",
        )  # fmt: skip
        parser.add_argument(
            "--reflection", metavar="SECONDS", type=whole, default=REFLECTION_SECONDS,
            help="how long most investors may withdraw",
        )  # fmt: skip
        parser.add_argument(
            "--fee", metavar="BPS", type=whole, default=0,
            help="the issuer's fee, in 1/100 %% of the proceeds",
        )  # fmt: skip
        parser.add_argument(
            "--vat", metavar="BPS", type=whole, default=0,
            help="value added tax of the fee, in 1/100 %%",
        )  # fmt: skip

        parser.add_argument(
            "--document", metavar="ID", type=UUID, action="append", default=[],
            dest="documents", help="a document of it; repeat it for several",
        )  # fmt: skip

    def handle(
        self, *, symbol, price, floor, cap, units, minimum, smallest, largest, opens,
        closes, rule, source, reflection, fee, vat, documents, staff, dry_run,
        **options,
    ):  # fmt: skip
        who, token = actor(staff), token_named(symbol)
        terms = OfferingTerms(
            price, units, minimum, opens, closes, rule, source, floor, cap, smallest,
            largest, reflection, fee, vat, tuple(documents),
        )  # fmt: skip
        try:
            with writing(dry_run):
                drafted = draft(token, terms, who)
        except TermsRefused as error:
            raise CommandError(str(error)) from None
        if dry_run:
            return f"An offering of {symbol} would be drafted{DRY_RUN}"
        return f"Drafted offering {drafted.pk} of {symbol}."
