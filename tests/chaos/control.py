"""The same view with idempotency as it is often written, to show what the storm finds.

It looks whether the key is known, acts, and then notes the answer: three steps, each
committed by itself. Served as `tests.chaos.control`.
"""

from collections.abc import Callable
from uuid import UUID

from django.utils import timezone
from graphql import ExecutionResult

from accounts.access import Caller
from partnerapi.graphql.documents import PreparedRequest
from partnerapi.wsgi import application

# The view needs the models, which are ready only now.
from partnerapi.gateway import views  # isort: skip
from partnerapi.gateway.idempotency import StoredAnswer, fingerprint  # isort: skip
from partnerapi.gateway.models import RETENTION, IdempotencyRecord

__all__ = ["application"]


def check_then_act(
    caller: Caller,
    key: UUID,
    prepared: PreparedRequest,
    run: Callable[[], ExecutionResult],
    write: Callable[[ExecutionResult], bytes],
) -> StoredAnswer:
    records = IdempotencyRecord.objects.filter(partner_id=caller.partner_id, key=key)
    known = records.first()
    if known and known.body and known.expires_at:
        return StoredAnswer(bytes(known.body), known.expires_at, replayed=True)
    body = write(run())
    now = timezone.now()
    record = IdempotencyRecord(
        partner_id=caller.partner_id,
        key=key,
        fingerprint=fingerprint(prepared),
        body=body,
        created_at=now,
        expires_at=now + RETENTION,
    )
    IdempotencyRecord.objects.bulk_create([record], ignore_conflicts=True)
    return StoredAnswer(body, now + RETENTION, replayed=False)


views.once = check_then_act  # type: ignore[attr-defined]
