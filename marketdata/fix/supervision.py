"""What the database knows of live sessions: whether they may go on, how they fare."""

from datetime import datetime

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef

from accounts.callers import Scope
from accounts.models import ApiKey
from issuers.models import IssuerGrant
from marketdata.fix.logon import SCOPE_REFUSED, SWITCHED_OFF, Admissions, granted
from marketdata.models import FixSession


def still_live(admissions: Admissions, at: datetime) -> dict[str, str]:
    """Why sessions must end, by CompID; grants of the others are brought up to date.

    One statement, none where nobody is logged on.
    """
    live = admissions.admitted()
    if not live:
        return {}
    of_partner = {"partner": OuterRef("partner")}
    keys = {
        str(pk): (scopes, enabled, issuer_ids)
        for pk, scopes, enabled, issuer_ids in ApiKey.objects.live(at)
        .filter(pk__in=[admission.key_id for admission in live])
        .values_list(
            "pk",
            "scopes",
            ArraySubquery(
                FixSession.objects.filter(**of_partner, enabled=True).values("comp_id")
            ),
            ArraySubquery(IssuerGrant.objects.filter(**of_partner).values("issuer_id")),
        )
    }
    ended = {}
    for admission in live:
        if admission.key_id not in keys:
            ended[admission.comp_id] = (
                "The API key of this session was revoked or has expired, or its "
                "integration account is switched off."
            )
            continue
        scopes, enabled, issuer_ids = keys[admission.key_id]
        if admission.comp_id not in enabled:
            ended[admission.comp_id] = SWITCHED_OFF
        elif Scope.MARKETDATA_READ not in scopes:
            ended[admission.comp_id] = SCOPE_REFUSED
        else:
            admission.granted_issuers = granted(issuer_ids)
    return ended
