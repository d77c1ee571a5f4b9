"""Requests for a grant of every issuer, those to come included."""

from typing import Any

from django.db.models import Model
from django.utils import timezone

from accounts.four_eyes import Overtaken, Preview
from accounts.models import ApiKey, ApprovalRequest, Partner
from issuers.models import Issuer, IssuerGrant
from partnerapi.core.money import counted


def grant_content(partner: Partner) -> dict[str, Any]:
    return {"partner": str(partner.pk)}


def grant_title(partner: Partner) -> str:
    return f"Grant of every issuer to {partner}"


class GrantEveryIssuer:
    """Superseded where the partner has such a grant by now."""

    def preview(self, request: ApprovalRequest) -> Preview:
        partner = self.partner(request.content)
        live = ApiKey.objects.live(timezone.now()).filter(partner=partner)
        scopes = sorted({scope for key in live for scope in key.scopes})
        granted = partner.grants.live().count()
        rows = [
            ("Partner", "", str(partner)),
            ("Scopes of its live keys", "", ", ".join(scopes) or "none"),
            (
                "Issuers whose personal data and private tokens it sees",
                f"{granted:,}",
                f"every issuer: {Issuer.objects.count():,}, and all to come",
            ),
        ]
        links: dict[str, Model] = {"Partner": partner}
        warning = (
            "The partner sees the shareholders of every company that its keys' scopes "
            f"let it read. It holds {counted(live.count(), 'live key')}."
        )
        return Preview(rows, [warning], links)

    def execute(self, request: ApprovalRequest) -> IssuerGrant:
        partner = self.partner(request.content)
        ended = IssuerGrant.objects.filter(partner=partner, issuer=None).first()
        if ended is None:
            return IssuerGrant.objects.create(partner=partner, issuer=None)
        ended.give_again(timezone.now())
        return ended

    def partner(self, content: dict[str, Any]) -> Partner:
        partner = Partner.objects.get(pk=content["partner"])
        if partner.grants.live().filter(issuer=None).exists():
            raise Overtaken(f"{partner} has a grant of every issuer.")
        if not partner.is_active:
            raise Overtaken(f"{partner} is switched off.")
        return partner
