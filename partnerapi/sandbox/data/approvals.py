"""Files and approves what needs a second person, for the sandbox and for tests."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Permission
from django.db import transaction

from accounts.accounts.approvals import closing_content
from accounts.accounts.models import Account
from accounts.approvals.four_eyes import carrying, decide, file_request
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.keys.approvals import key_content
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers.compliance import restrictions, rules
from issuers.compliance.models import Restriction, TokenRule
from issuers.grants import grant_content
from issuers.legacy import delivery
from issuers.legacy.approvals import delivery_content
from issuers.legacy.models import DeliveryJob
from issuers.models import Issuer, IssuerGrant, Token
from issuers.register import ledger
from issuers.register.approvals import entry_content, price_content
from issuers.register.kinds import EntryKind
from issuers.register.ledger import Entry, Recorded
from partnerapi.core.database import fetch
from partnerapi.core.owner import owner_alias
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.chance import OPENING

STAFF = {
    "compliance@sandbox.example": ("Ilse", "Tamm"),
    "operations@sandbox.example": ("Oskar", "Claes"),
}
"""Who asked for things, and who decided; without passwords they do not sign in."""
ASKER, DECIDER = STAFF
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
        user.user_permissions.set(rights.filter(codename__regex="^(file|decide)_"))
        users.appoint(user)


def approved(kind: str, *contents: Mapping[str, Any]) -> list[ApprovalRequest]:
    """Requests of one person, each approved by another."""
    asker, decider = colleague(ASKER), colleague(DECIDER)
    requests = []
    for content in contents:
        title = f"{ApprovalKind(kind).label}, sandbox"
        requests.append(file_request(kind, content, title, WHY, asker))
        decide(requests[-1], decider, is_approved=True)
    return requests


def carried(requests: Iterable[ApprovalRequest]) -> AbstractContextManager[None]:
    return carrying(request.pk for request in requests)


def approved_key(
    partner: Partner, scopes: Iterable[str], expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """A key that two people issue; with its token."""
    scopes = list(scopes)
    content = key_content(partner, scopes, expires_at)
    with carried(approved(ApprovalKind.KEY, content)):
        return ApiKey.objects.issue(partner, scopes, expires_at)


def approved_grant(
    partner: Partner, issuer: Issuer | None = None, **given: Any
) -> IssuerGrant:
    """A grant that two people give; without an issuer, of every issuer."""
    with carried(approved(ApprovalKind.GRANT, grant_content(partner, issuer))):
        return IssuerGrant.objects.create(partner=partner, issuer=issuer, **given)


def approved_record(entries: Sequence[Entry], actor: str) -> list[Recorded]:
    """`ledger.record`, with an approval for each entry that needs one."""
    with transaction.atomic():
        supplies = held(entry.token_id for entry in entries)
        requests = []
        for entry in entries:
            supply = supplies[entry.token_id]
            if approval := EntryKind(entry.kind).approval:
                requests += approved(approval, entry_content(entry, supply))
            made, destroyed = entry.source is None, entry.target is None
            supplies[entry.token_id] += (made - destroyed) * entry.amount
        with carried(requests):
            return ledger.record(entries, actor)


def held(token_ids: Iterable[UUID]) -> dict[UUID, int]:
    """The tokens' supplies; no one else writes their ledgers meanwhile."""
    rows = fetch(HOLD, [[*set(token_ids)]], tuple)
    return {token: int(supply) for token, supply in rows}


HOLD = "SELECT token_id, supply FROM register_hold(%s)"


def approved_price(token_id: UUID, cents: int, source: str, actor: str) -> Recorded:
    """`ledger.set_price`, with the approval that it needs."""
    with transaction.atomic():
        held([token_id])
        content = price_content(token_id, cents, source)
        with carried(approved(ApprovalKind.PRICE, content)):
            return ledger.set_price(token_id, cents, source, actor)


def released_job(source: str, ids: Sequence[UUID], created_by: str) -> DeliveryJob:
    """A delivery that may begin."""
    job = delivery.begin_job(source, ids, created_by)
    with carried(approved(ApprovalKind.DELIVERY, delivery_content(job))):
        delivery.release(job)
    return job


def approved_closing(account: Account, reason: str) -> AbstractContextManager[None]:
    """A transaction in which staff may close an account; `DECIDER` approves it."""
    return carried(approved(ApprovalKind.CLOSING, closing_content(account, reason)))


def approved_rule(
    token: Token, kind: str, parameters: Mapping[str, Any] | None
) -> TokenRule | None:
    """Make, change or, without parameters, end a rule of a token."""
    content = rules.rule_content(token, kind, parameters, WHY)
    with carried(approved(ApprovalKind.RULE, content)):
        return rules.set_rule(token, kind, parameters, WHY, ASKER, DECIDER)


def approved_lifting(restriction: Restriction) -> None:
    content = restrictions.lifting_content(restriction)
    with carried(approved(ApprovalKind.LIFTING, content)):
        restrictions.end(restriction, ASKER)
