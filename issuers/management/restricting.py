"""Code shared by the commands that restrict a holder's units."""

from argparse import ArgumentTypeError
from datetime import datetime

from django.core.management.base import CommandParser
from django.utils import timezone

from accounts.management.people import active_staff, add_staff
from accounts.people.models import User
from issuers.compliance import restrictions
from issuers.compliance.models import Restriction
from issuers.compliance.restrictions import Terms
from issuers.management.register_command import add_reason, writing
from partnerapi.core.commands import DRY_RUN
from partnerapi.core.times import from_rfc3339


def later(text: str) -> datetime:
    try:
        at = from_rfc3339(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
    if at <= timezone.now():
        raise ArgumentTypeError(f"{text} has passed; give a later day or instant")
    return at


def add_terms(parser: CommandParser) -> None:
    """The options --until, --reason and --staff."""
    parser.add_argument(
        "--until",
        metavar="TIME",
        type=later,
        help="end of the restriction; by default, until it is lifted",
    )
    add_reason(parser)
    add_staff(parser)


def set_restriction(user: User, terms: Terms, staff: str, dry_run: bool) -> str:
    who = active_staff("--staff", staff, "issuers.add_restriction").email or ""
    with writing(dry_run):
        made = restrictions.restrict(user, terms, who)
    return f"{describe(made)}{DRY_RUN if dry_run else '.'}"


def describe(restriction: Restriction) -> str:
    units = "all units" if restriction.units is None else f"{restriction.units:,} units"
    of = restriction.token.symbol if restriction.token else "every token"
    until = f" until {restriction.until.isoformat()}" if restriction.until else ""
    return f"{restriction}, {units} of {of}{until}: restriction {restriction.pk}"
