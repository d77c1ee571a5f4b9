"""The same view, whose mutations are one transaction and nothing else.

Served as `tests.benchmarks.without_idempotency`, to measure what idempotency costs.
"""

from collections.abc import Callable
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from graphql import ExecutionResult

from accounts.access import Caller
from partnerapi.graphql.documents import PreparedRequest
from partnerapi.wsgi import application

# The view needs the models, which are ready only now.
from partnerapi.gateway import views  # isort: skip
from partnerapi.gateway.idempotency import StoredAnswer  # isort: skip

__all__ = ["application"]


def at_once(
    caller: Caller,
    key: UUID,
    prepared: PreparedRequest,
    run: Callable[[], ExecutionResult],
    write: Callable[[ExecutionResult], bytes],
) -> StoredAnswer:
    with transaction.atomic():
        body = write(run())
    return StoredAnswer(body, timezone.now(), replayed=False)


views.once = at_once  # type: ignore[attr-defined]
