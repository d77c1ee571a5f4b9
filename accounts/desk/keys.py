"""API keys that members of a partner's desk issue and revoke themselves."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from accounts.desk.models import DeskMember
from accounts.desk.passkeys import Signature
from accounts.keys.models import ApiKey
from accounts.passkeys.signing import write

MOST_DAYS = 365


def issue(
    signature: Signature, scopes: Iterable[str], expires_at: datetime
) -> tuple[ApiKey, str]:
    """A key of the member's partner, with its token, which is not stored.

    Raises:
        NotSigned: the database refuses the signature, a scope or the end.
    """
    partner = signature.member.partner
    key, token = ApiKey.objects.prepare(partner, scopes, expires_at)
    write(
        "SELECT desk_issue_key(%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        [
            *(signature.member.pk, signature.count, signature.asked_at),
            *(key.pk, key.secret_digest, key.pepper_id, key.last_four),
            *(key.scopes, expires_at),
        ],
    )
    return key, token


def revoke(member: DeskMember, key_id: UUID, at: datetime) -> ApiKey | None:
    """Revoke a key of the member's partner; None: it has no such active key."""
    keys = ApiKey.objects.select_related("partner")
    key = keys.filter(pk=key_id, partner=member.partner_id).first()
    return key if key and key.revoke(at) else None
