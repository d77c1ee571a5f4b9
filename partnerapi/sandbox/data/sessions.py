"""CompIDs for the sandbox's partners: to try the feed and a drop copy, and for load."""

from typing import NamedTuple

from accounts.access import Scope
from accounts.keys.models import Partner
from marketdata.models import FixSession
from marketdata.models.sessions import USUAL_SESSIONS
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from partnerapi.sandbox.data.chance import OPENING

DEMO = "demo"


class FixAccess(NamedTuple):
    """What one of the partners for load logs on with; the key is shown only now."""

    comp_id: str
    login: str
    key: str


def write_fix_sessions() -> bool:
    """Give the partner `demo` CompIDs; False where it has all, or is gone.

    Raises:
        NotBound: the pool has none left.
    """
    demo = Partner.objects.filter(login=DEMO).first()
    if demo is None:
        return False
    sessions = FixSession.objects.filter(partner=demo)
    changed = False
    for is_drop_copy, count in ((False, USUAL_SESSIONS), (True, 1)):
        if not sessions.filter(is_drop_copy=is_drop_copy).exists():
            FixSession.objects.bind(demo, count, is_drop_copy)
            changed = True
    if changed:
        sessions.update(created_at=OPENING)
    return changed


def extend_fix_sessions(total: int) -> list[FixAccess]:
    """Add partners of one CompID each until there are `total`; those that are new.

    Each may see every issuer, and its key market data only.

    Raises:
        NotBound: the pool has fewer left.
    """
    logins = [f"fix_{number:04d}" for number in range(1, total + 1)]
    known = set(
        Partner.objects.filter(login__in=logins).values_list("login", flat=True)
    )
    added = []
    for login in logins:
        if login in known:
            continue
        partner = Partner.objects.create(
            id=derived_uuid7(OPENING, f"partner {login}"),
            login=login,
            name=f"Partner for load {login}",
            created_at=OPENING,
        )
        approved_grant(
            partner,
            id=derived_uuid7(OPENING, f"grant {login} every issuer"),
        )
        [session] = FixSession.objects.bind(partner)
        _, token = approved_key(partner, [Scope.MARKETDATA_READ])
        added.append(FixAccess(session.comp_id, login, token))
    return added
