"""Requests for a grant of an issuer, or of every issuer, future ones included."""

from typing import Any
from uuid import UUID

from django.db.models import Model
from django.utils import timezone
from uuid_utils.compat import uuid7

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.keys.models import ApiKey, Partner
from issuers.models import Issuer, IssuerGrant
from partnerapi.core.database import value_of
from partnerapi.core.money import plural


def grant_content(partner: Partner, issuer: Issuer | None) -> dict[str, Any]:
    content = {"partner": str(partner.pk)}
    return content | {"issuer": str(issuer.pk)} if issuer else content


def grant_title(partner: Partner, issuer: Issuer | None) -> str:
    return f"Grant for {issuer or 'every issuer'} to {partner}"


def give(
    partner: Partner, issuer: Issuer | None, actor: str, id: UUID | None = None
) -> IssuerGrant:
    """Give a grant, or give one again that ended.

    The transaction carries the approval for it; `actor` filed the request, or decided
    it.
    """
    key = issuer and issuer.pk
    [grant] = IssuerGrant.objects.raw(GIVE, [id or uuid7(), actor, partner.pk, key])
    return grant


GIVE = "SELECT * FROM binds_grant(%s, %s, %s, %s)"


def end(grant: IssuerGrant, actor: str) -> bool:
    """End the partner's access to the issuer; False if it had ended before.

    `actor` is the e-mail address of a member of staff with the right to change grants.
    """
    return bool(value_of(END, [actor, grant.pk]))


END = "SELECT binds_end_grant(%s, %s)"


class GiveGrant:
    """Superseded if the partner now sees the issuer, or every issuer."""

    def preview(self, request: ApprovalRequest) -> Preview:
        partner, issuer = self.parties(request.content)
        live = ApiKey.objects.live(timezone.now()).filter(partner=partner)
        scopes = sorted({scope for key in live for scope in key.scopes})
        granted = partner.grants.live().count()
        becomes = (
            f"{granted + 1:,}, {issuer} among them"
            if issuer
            else f"every issuer: {Issuer.objects.count():,} now, and all future ones"
        )
        rows = [
            ("Partner", "", str(partner)),
            ("Company", "", str(issuer or "every company")),
            ("Scopes of its active keys", "", ", ".join(scopes) or "none"),
            (
                "Issuers whose personal data and private tokens are visible",
                f"{granted:,}",
                becomes,
            ),
        ]
        links: dict[str, Model] = {"Partner": partner}
        if issuer:
            links["Company"] = issuer
        warning = (
            f"The partner can read the shareholders of {issuer or 'every company'}, "
            "within the scopes of its keys. It holds "
            f"{plural(live.count(), 'active key')}."
        )
        return Preview(rows, [warning], links)

    def execute(self, request: ApprovalRequest) -> IssuerGrant:
        partner, issuer = self.parties(request.content)
        return give(partner, issuer, request.filed_by.email or "")

    def parties(self, content: dict[str, Any]) -> tuple[Partner, Issuer | None]:
        partner = Partner.objects.get(pk=content["partner"])
        granted = partner.grants.live()
        if granted.filter(issuer=None).exists():
            raise Superseded(f"{partner} already has a grant for every issuer.")
        key = content.get("issuer")
        issuer = Issuer.objects.get(pk=key) if key else None
        if issuer and granted.filter(issuer=issuer).exists():
            raise Superseded(f"{partner} already has a grant for {issuer}.")
        if not partner.is_active:
            raise Superseded(f"{partner} is switched off.")
        return partner, issuer
