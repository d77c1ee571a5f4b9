"""What a second person approves, done in one call."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.accounts.models import Account, Actor
from accounts.approvals.models import ApprovalKind
from issuers.compliance import restrictions, rules
from issuers.compliance.models import Restriction, TokenRule
from issuers.legacy import delivery
from issuers.legacy.approvals import delivery_content
from issuers.legacy.models import DeliveryJob
from issuers.models import Token
from issuers.register import ledger
from issuers.register.approvals import entry_content, price_content
from issuers.register.kinds import EntryKind
from issuers.register.ledger import Entry, Recorded
from partnerapi.core.database import fetch
from partnerapi.sandbox.data.approvals import (
    ASKER,
    WHY,
    carry_out_requests,
    colleague,
    file_and_approve,
)


def asker() -> str:
    """The e-mail address of a member of staff that may bind holders and tokens."""
    return colleague(ASKER).email or ""


def desk() -> Actor:
    """A member of staff that may change accounts."""
    return Actor(asker(), is_staff=True)


def partner_of(account: Account) -> Actor:
    return Actor(account.partner.login, is_staff=False)


def approved_record(entries: Sequence[Entry], actor: str) -> list[Recorded]:
    """`ledger.record`, with an approval for each entry that needs one."""
    with transaction.atomic():
        supplies = held(entry.token_id for entry in entries)
        requests = []
        for entry in entries:
            supply = supplies[entry.token_id]
            if approval := EntryKind(entry.kind).approval:
                requests += file_and_approve(approval, entry_content(entry, supply))
            made, destroyed = entry.source is None, entry.target is None
            supplies[entry.token_id] += (made - destroyed) * entry.amount
        with carry_out_requests(requests):
            return ledger.record(entries, actor)


def held(token_ids: Iterable[UUID]) -> dict[UUID, int]:
    """The tokens' supplies; no one else writes their ledgers meanwhile."""
    rows = fetch(HOLD, [[*set(token_ids)]], tuple)
    return {token: int(supply) for token, supply in rows}


HOLD = "SELECT token_id, supply FROM register_read(%s, '{}', '{}', TRUE)"


def approved_price(token_id: UUID, cents: int, source: str, actor: str) -> Recorded:
    """`ledger.set_price`, with the approval that it needs."""
    with transaction.atomic():
        held([token_id])
        content = price_content(token_id, cents, source)
        with carry_out_requests(file_and_approve(ApprovalKind.PRICE, content)):
            return ledger.set_price(token_id, cents, source, actor)


def released_job(source: str, ids: Sequence[UUID], created_by: str) -> DeliveryJob:
    """A delivery that may begin."""
    job = delivery.begin_job(source, ids, created_by)
    with carry_out_requests(
        file_and_approve(ApprovalKind.DELIVERY, delivery_content(job))
    ):
        delivery.release(job)
    return job


def approved_rule(
    token: Token, kind: str, parameters: Mapping[str, Any] | None
) -> TokenRule | None:
    """Make, change or, without parameters, end a rule of a token."""
    content = rules.rule_content(token, kind, parameters, WHY)
    with carry_out_requests(file_and_approve(ApprovalKind.RULE, content)):
        return rules.set_rule(token, kind, parameters, WHY, asker())


def approved_lifting(restriction: Restriction) -> None:
    content = restrictions.lifting_content(restriction)
    with carry_out_requests(file_and_approve(ApprovalKind.LIFTING, content)):
        restrictions.end(restriction, asker())
