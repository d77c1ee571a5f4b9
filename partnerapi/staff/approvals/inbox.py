"""The badge beside a user's name: decisions that wait for it, and decisions taken."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Value
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounts.approvals.models import ApprovalDecision, ApprovalKind, ApprovalRequest

SEEN = "requests_seen_at"
"""The key of a session: when its user looked at the requests."""
MOST = 99
BACK = timedelta(days=7)
"""So far back decisions count, for a session that has not looked."""


@dataclass(frozen=True, slots=True)
class Inbox:
    waiting: int
    """Requests of others that the user may decide."""
    decided: int
    """Own requests that another person has decided since the user looked."""

    @property
    def total(self) -> int:
        return self.waiting + self.decided

    def __str__(self) -> str:
        return f"{self.waiting} to decide, {self.decided} decided"


def read(request: HttpRequest) -> Inbox | None:
    """One statement; None: the user sees no requests."""
    user: Any = request.user
    if not user.is_staff or not user.has_perm("accounts.view_approvalrequest"):
        return None
    rights = {kind: f"accounts.decide_{kind.lower()}" for kind in ApprovalKind}
    kinds = [kind for kind, right in rights.items() if user.has_perm(right)]
    at = timezone.now()
    waiting = ApprovalRequest.objects.open(at).filter(kind__in=kinds, decision=None)
    decided = ApprovalDecision.objects.filter(
        request__filed_by=user, decided_at__gt=seen_at(request, at)
    ).exclude(decided_by=user)
    counted = (
        waiting.exclude(filed_by=user).order_by().annotate(is_decided=Value(False))
    )
    taken = decided.order_by().annotate(is_decided=Value(True))
    rows = counted.values_list("is_decided")[:MOST].union(
        taken.values_list("is_decided")[:MOST], all=True
    )
    said = [is_decided for (is_decided,) in rows]
    return Inbox(said.count(False), said.count(True))


def seen_at(request: HttpRequest, at: datetime) -> datetime:
    kept = request.session.get(SEEN)
    return (parse_datetime(kept) if kept else None) or at - BACK


def note_seen(request: HttpRequest) -> None:
    request.session[SEEN] = timezone.now().isoformat()
