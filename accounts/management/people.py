"""The people that an operator names on the command line."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from accounts.four_eyes import NotApproved, file_request
from accounts.models import ApprovalDecision, User
from accounts.models.users import WALLET


def add_staff(parser: CommandParser) -> None:
    """The option --staff, which `active_staff` reads."""
    parser.add_argument(
        "--staff",
        metavar="EMAIL",
        required=True,
        help="the member of staff who does it",
    )


def add_second_person(parser: CommandParser) -> None:
    """The options --request and --approval, of what a second person approves."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--request",
        action="store_true",
        help="ask a second person for it, and do nothing yet",
    )
    ways.add_argument(
        "--approval",
        metavar="ID",
        type=UUID,
        help="the approved request, of the same content, that this carries out",
    )


def filed(
    kind: str, content: Mapping[str, Any], title: str, reason: str, person: User
) -> str:
    """File a request for a second person; what the command says of it.

    Raises:
        CommandError: this person may not ask for it.
    """
    try:
        request = file_request(kind, content, title, reason, person)
    except NotApproved as error:
        raise CommandError(f"{error} Nothing was written.") from None
    until = request.expires_at
    return (
        f"Request {request.pk}: {request.title}. A second member of staff decides it "
        f"in the admin until {until:%Y-%m-%d %H:%M} UTC; then give --approval "
        f"{request.pk}, or let them carry it out there."
    )


def approver(approval: UUID) -> str:
    """The address of who approved a request; the database judges whether that counts.

    Raises:
        CommandError: nobody has.
    """
    decision = ApprovalDecision.objects.select_related("decided_by").filter(
        request=approval, is_approved=True
    )
    try:
        return decision.get().decided_by.email or ""
    except ApprovalDecision.DoesNotExist:
        raise CommandError(
            f"--approval {approval}: nobody has approved such a request."
        ) from None


def active_staff(option: str, email: str) -> User:
    """The member of staff with this address, who may sign in.

    Raises:
        CommandError: there is none; the message names `option`.
    """
    try:
        return User.objects.get(email=email.lower(), is_staff=True, is_active=True)
    except User.DoesNotExist:
        raise CommandError(
            f"{option} {email}: no active member of staff has this address. "
            "The admin lists users who are staff."
        ) from None


def user_named(text: str) -> User:
    """The user of this email address, wallet address, LEI or id.

    Raises:
        CommandError: it is none of the four, or no user's, or several users'.
    """
    named = text.removeprefix("User|")
    if "@" in named:
        found = User.objects.filter(email=named.lower())
    elif WALLET.fullmatch(named):
        found = User.objects.filter(holder__wallet_address__iexact=named)
    elif len(named) == 20:
        found = User.objects.filter(lei=named.upper())
    else:
        try:
            found = User.objects.filter(pk=UUID(named))
        except ValueError:
            raise CommandError(
                f"{text} is neither an email address nor a wallet address (0x and 40 "
                "hexadecimal digits) nor an LEI nor a user's id."
            ) from None
    try:
        return found.get()
    except User.DoesNotExist:
        raise CommandError(
            f"There is no user {text}. The admin lists users with their ids."
        ) from None
    except User.MultipleObjectsReturned:
        raise CommandError(
            f"Several users have the wallet address {text}, in other letter cases; "
            "name one by its id."
        ) from None
