"""The people that an operator names on the command line."""

import sys
from collections.abc import Mapping
from getpass import getpass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.approvals.four_eyes import NotApproved, file_request
from accounts.approvals.models import ApprovalDecision
from accounts.people.models import WALLET, User


def add_staff(parser: CommandParser) -> None:
    """The option --staff, which `active_staff` reads."""
    parser.add_argument(
        "--staff",
        metavar="EMAIL",
        required=True,
        help="the member of staff responsible",
    )


def add_second_person(parser: CommandParser) -> None:
    """The options --request and --approval, for actions that need a second person."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--request",
        action="store_true",
        help=(
            "request approval by a second person, and do nothing yet; requires the "
            "password of --staff"
        ),
    )
    ways.add_argument(
        "--approval",
        metavar="ID",
        type=UUID,
        help="id of the approved request to execute; its content must be the same",
    )


def file_for_approval(
    kind: str, content: Mapping[str, Any], title: str, reason: str, person: User
) -> str:
    """File a request for a second person; return the command's message.

    Raises:
        CommandError: this person is not authenticated, or may not file the request.
    """
    prove(person)
    try:
        request = file_request(kind, content, title, reason, person)
    except NotApproved as error:
        raise CommandError(f"{error} Nothing was written.") from None
    until = request.expires_at
    return (
        f"Request {request.pk}: {request.title}. A second member of staff decides on "
        f"it in the admin until {until:%Y-%m-%d %H:%M} UTC. If approval alone does not "
        f"execute it, run this command again with --approval {request.pk}."
    )


def prove(person: User) -> None:
    """Ask for a person's password and, if needed, for their second factor.

    Without it, one person could file in a colleague's name and approve in their own.

    Raises:
        CommandError: the password or the code is wrong.
    """
    proven = person.check_password(read_hidden_line(f"Password of {person.email}: "))
    if proven and settings.PARTNER_API_STAFF_OTP:
        code = read_hidden_line("Code of the second factor: ")
        devices = TOTPDevice.objects.filter(user=person, confirmed=True)
        proven = any(device.verify_token(code) for device in devices)
    if not proven:
        factor = " and the code of their second factor"
        raise CommandError(
            f"--request files in the name of {person.email}: enter their "
            f"password{factor * settings.PARTNER_API_STAFF_OTP}, on standard input if "
            "there is no terminal. Nothing was written."
        )


def read_hidden_line(prompt: str) -> str:
    """A line typed without echo, or the next line of standard input."""
    return getpass(prompt) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")


def approver(approval: UUID) -> str:
    """The approver's address; the database decides whether the approval is valid.

    Raises:
        CommandError: the request is not approved.
    """
    decision = ApprovalDecision.objects.select_related("decided_by").filter(
        request=approval, is_approved=True
    )
    try:
        return decision.get().decided_by.email or ""
    except ApprovalDecision.DoesNotExist:
        raise CommandError(
            f"--approval {approval}: there is no approved request of this kind."
        ) from None


def active_staff(option: str, email: str, right: str = "") -> User:
    """The active member of staff with this address; with this right, if one is named.

    Raises:
        CommandError: there is none; the message names `option`.
    """
    try:
        person = User.objects.get(email=email.lower(), is_staff=True, is_active=True)
    except User.DoesNotExist:
        raise CommandError(
            f"{option} {email}: no active member of staff has this address. The admin "
            "lists staff users."
        ) from None
    if right and not person.has_perm(right):
        raise CommandError(
            f"{option} {email}: this member of staff does not have the right {right}. "
            "A group gives it."
        )
    return person


def user_named(text: str) -> User:
    """The user of this email address, wallet address, LEI or id.

    Raises:
        CommandError: it is none of the four, or belongs to no user or to several.
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
            f"Several users have the wallet address {text}, in different letter case; "
            "give an id instead."
        ) from None
