"""Files and approves what needs a second person, for the sandbox and tests."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Permission
from django.db import transaction

from accounts.approvals.four_eyes import carrying, decide, file_request
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.keys.approvals import key_content
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers.grants import give, grant_content
from issuers.models import Issuer, IssuerGrant
from partnerapi.core.owner import owner_alias
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.chance import OPENING

STAFF = {
    "compliance@sandbox.example": ("Ilse", "Tamm"),
    "operations@sandbox.example": ("Oskar", "Claes"),
}
"""Who asked for things, and who decided; without passwords they do not sign in."""
ASKER, DECIDER = STAFF
THEIRS = (
    "^(file|decide)_|^add_(restriction|approvedholder|investorchange|houseaccount"
    "|paymentfile)$"
    "|^change_(account|issuergrant|market)$"
)
"""The rights of these people."""
WHY = "The sandbox is filled"


def colleague(email: str) -> User:
    """A member of the sandbox's staff; where there is none, the owner makes one."""
    user = User.objects.filter(email=email).first()
    if user is None:
        employ(email, owner_alias())
        user = User.objects.get(email=email)
    return user


def employ(email: str, using: str) -> None:
    """Make a member of the sandbox's staff who asks and decides at once."""
    first, last = STAFF[email]
    users = User.objects.db_manager(using)
    with transaction.atomic(using=using):
        user = users.create(
            id=derived_uuid7(OPENING, f"staff {email}"),
            type=User.Type.INDIVIDUAL,
            email=email,
            password="!",
            first_name=first,
            last_name=last,
            is_staff=True,
            created_at=OPENING,
        )
        rights = Permission.objects.using(using)
        user.user_permissions.set(rights.filter(codename__regex=THEIRS))
        users.appoint(user)


def file_and_approve(kind: str, *contents: Mapping[str, Any]) -> list[ApprovalRequest]:
    """Requests of one person, each approved by another."""
    asker, decider = colleague(ASKER), colleague(DECIDER)
    requests = []
    for content in contents:
        title = f"{ApprovalKind(kind).label}, sandbox"
        requests.append(file_request(kind, content, title, WHY, asker))
        decide(requests[-1], decider, is_approved=True)
    return requests


def carry_out_requests(
    requests: Iterable[ApprovalRequest],
) -> AbstractContextManager[None]:
    return carrying(request.pk for request in requests)


def approved_key(
    partner: Partner, scopes: Iterable[str], expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """A key that two people issue; with its token."""
    scopes = list(scopes)
    content = key_content(partner, scopes, expires_at)
    with carry_out_requests(file_and_approve(ApprovalKind.KEY, content)):
        return ApiKey.objects.issue(partner, scopes, expires_at)


def approved_grant(
    partner: Partner, issuer: Issuer | None = None, id: UUID | None = None
) -> IssuerGrant:
    """A grant that two people give; without an issuer, of every issuer."""
    with carry_out_requests(
        file_and_approve(ApprovalKind.GRANT, grant_content(partner, issuer))
    ):
        return give(partner, issuer, ASKER, id)
