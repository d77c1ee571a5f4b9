"""Whether an export may still be written, or downloaded, for its partner."""

from django.utils import timezone

from accounts.access import Caller, check_scope, missing_grant
from accounts.keys.models import ApiKey
from issuers.callers import caller_of
from partnerapi.exports.models import SCOPES_OF_EXPORTS, Export


def check_access(export: Export, caller: Caller) -> None:
    """Refuse a caller who may not read the connection any more.

    Raises:
        Forbidden: the key lacks the scope, or the partner the grant.
    """
    check_scope(caller, SCOPES_OF_EXPORTS[export.connection])
    if export.issuer_id is not None and not caller.may_see(str(export.issuer_id)):
        raise missing_grant(str(export.issuer_id))


def reader_of(export: Export) -> Caller | None:
    """Whoever may read the connection for the export's partner now, or None.

    It needs a live key with the scope, and the grant.
    """
    key = (
        ApiKey.objects.live(timezone.now())
        .select_related("partner")
        .filter(
            partner=export.partner_id,
            scopes__contains=[SCOPES_OF_EXPORTS[export.connection]],
        )
        .first()
    )
    if key is None:
        return None
    caller = caller_of(key)
    issuer_id = export.issuer_id
    return caller if issuer_id is None or caller.may_see(str(issuer_id)) else None
