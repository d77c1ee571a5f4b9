"""Decisions that a passkey of the person who decides has signed."""

from collections.abc import Sequence

from django.db import IntegrityError, transaction

from accounts.approvals.four_eyes import NotApproved, decisions, sentence
from accounts.approvals.models import ApprovalDecision, ApprovalRequest
from accounts.passkeys.signing import NotSigned, check, fields
from accounts.people.models import User
from partnerapi.core.database import rows_of, value_of


def digests_of(
    requests: Sequence[ApprovalRequest], decider: User, is_approved: bool, reason: str
) -> list[bytes]:
    """What the passkey signs: each request, its content, the verdict, the decider."""
    keys = [request.pk for request in requests]
    rows = rows_of(DIGESTS, [decider.pk, is_approved, reason, keys])
    return [bytes(digest) for (digest,) in rows]


DIGESTS = """
    SELECT approvals_digest(id, %s, %s, %s) FROM unnest(%s::uuid[]) AS u (id)
"""


def decide_signed(
    requests: Sequence[ApprovalRequest],
    decider: User,
    is_approved: bool,
    reason: str,
    answer: str,
) -> list[ApprovalDecision]:
    """Approve or reject requests with one assertion, a browser's answer.

    Raises:
        NotApproved: this person cannot decide them, or has not signed this.
    """
    digests = digests_of(requests, decider, is_approved, reason)
    keys = [request.pk for request in requests]
    try:
        signed = check(decider, digests, answer)
        with transaction.atomic():
            at = value_of(
                DECIDE,
                [keys, decider.pk, is_approved, reason, signed.key, *fields(signed)],
            )
    except NotSigned as error:
        raise NotApproved(str(error)) from None
    except IntegrityError as error:
        raise NotApproved(sentence(error)) from None
    return decisions(requests, decider, is_approved, reason, at)


DECIDE = "SELECT approvals_decide_signed(%s, %s, %s, %s, %s, %s, %s, %s)"
