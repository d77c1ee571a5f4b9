"""Whether an export may still be written, or downloaded, for its partner."""

from django.utils import timezone

from accounts.access import (
    Caller,
    Forbidden,
    Unauthenticated,
    check_scope,
    missing_grant,
)
from accounts.keys.models import ApiKey
from issuers.callers import caller_of
from issuers.models import IssuerGrant, Token
from partnerapi.exports.connections import CONNECTIONS
from partnerapi.exports.models import Export


def check_access(export: Export, caller: Caller) -> None:
    """Refuse a caller who may not read the connection any more.

    Raises:
        Forbidden: the key lacks the scope, or the partner the grant, or a grant has
            ended without which the file may have fewer rows.
    """
    check_scopes(export.connection, caller)
    if not sees_object(export, caller):
        raise missing_grant(str(export.issuer_id))
    if has_lost_grant(export, caller):
        raise Forbidden(
            "A grant that you had when the file was written has ended; create the "
            "export again."
        )


def check_scopes(connection: str, caller: Caller | None) -> None:
    """Refuse a caller whose key lacks one of the connection's scopes.

    Raises:
        Unauthenticated: the request has no key.
        Forbidden
    """
    if caller is None:
        raise Unauthenticated(
            "An export needs an API key: send it in the X-Token-Auth header."
        )
    for scope in CONNECTIONS[connection].scopes:
        check_scope(caller, scope)


def sees_object(export: Export, caller: Caller) -> bool:
    """Whether the caller may see the issuer or the token that the export is of."""
    if export.issuer_id is None or caller.may_see(str(export.issuer_id)):
        return True
    if CONNECTIONS[export.connection].needs_grant:
        return False
    tokens = Token.objects.visible_to(caller)
    return export.token_id is None or tokens.filter(pk=export.token_id).exists()


def has_lost_grant(export: Export, caller: Caller) -> bool:
    """Whether the export may have rows that the caller no longer sees."""
    if not CONNECTIONS[export.connection].shows_granted or (
        caller.granted_issuers is None
    ):
        return False
    ended = IssuerGrant.objects.filter(
        partner=export.partner_id, ended_at__gt=export.created_at
    )
    return ended.exists()


def reader_of(export: Export) -> Caller | None:
    """A caller of the export's partner that may read the connection now, or None.

    It needs a live key with the scopes, and the grant.
    """
    key = (
        ApiKey.objects.live(timezone.now())
        .select_related("partner")
        .filter(
            partner=export.partner_id,
            scopes__contains=list(CONNECTIONS[export.connection].scopes),
        )
        .first()
    )
    if key is None:
        return None
    caller = caller_of(key)
    if not sees_object(export, caller) or has_lost_grant(export, caller):
        return None
    return caller
