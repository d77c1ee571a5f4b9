"""Requests to invite a person to a partner's desk; two members of staff approve one."""

from collections.abc import Iterable
from typing import Any

from django.core.signing import BadSignature, Signer
from django.db.models import Model
from django.utils import timezone
from uuid_utils.compat import uuid7

from accounts.access import Scope
from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.desk.models import DeskMember
from accounts.keys.models import Partner
from partnerapi.core.database import execute, value_of

signer = Signer(salt="invitations to a desk")


def desk_content(partner: Partner, email: str, scopes: Iterable[str]) -> dict[str, Any]:
    return {"partner": str(partner.pk), "email": email, "scopes": sorted(scopes)}


def desk_title(partner: Partner, email: str, scopes: Iterable[str]) -> str:
    named = ", ".join(sorted(scopes)) or "no scopes"
    return f"{email} at the desk of {partner}, keys with {named}"


class InviteToDesk:
    """Superseded if the address is of staff, or was invited meanwhile."""

    def preview(self, request: ApprovalRequest) -> Preview:
        content = request.content
        partner = self.partner(content)
        at = timezone.now()
        members = partner.desk_members.filter(ended_at=None, expires_at__gt=at)
        scopes = ", ".join(content["scopes"])
        rows = [
            ("Partner", "", str(partner)),
            ("Email address", "", content["email"]),
            ("Scopes of the keys it may issue", "", scopes or "none"),
            (
                "Members of the desk",
                f"{members.count():,}",
                f"{members.count() + 1:,}",
            ),
        ]
        warnings = [
            "The person at this address sees the partner's requests and exports. "
            "Confirm the address with the partner."
        ]
        if scopes:
            warnings.append(
                "The person can issue keys with these scopes, without a second person."
            )
        links: dict[str, Model] = {"Partner": partner}
        return Preview(rows, warnings, links)

    def execute(self, request: ApprovalRequest) -> DeskMember:
        content = request.content
        partner = self.partner(content)
        key = uuid7()
        execute(
            "SELECT desk_invite(%s, %s, %s, %s)",
            [key, partner.pk, content["email"], content["scopes"]],
        )
        return DeskMember.objects.get(pk=key)

    def partner(self, content: dict[str, Any]) -> Partner:
        partner = Partner.objects.get(pk=content["partner"])
        email = content["email"]
        if value_of(OF_STAFF, [email]):
            raise Superseded(
                f"{email} is the address of a member of staff. Staff cannot use "
                "the desk of a partner."
            )
        if not partner.is_active:
            raise Superseded(f"{partner} is switched off.")
        if unknown := set(content["scopes"]) - set(Scope.values):
            raise Superseded(
                f"There is no scope {', '.join(sorted(unknown))} any more."
            )
        if (
            partner.desk_members.filter(email=email, ended_at=None)
            .exclude(enrolled_at=None, expires_at__lte=timezone.now())
            .exists()
        ):
            raise Superseded(
                f"{email} is a member of the desk, or is invited. To change the "
                "scopes, end the membership first."
            )
        return partner


OF_STAFF = """
    SELECT EXISTS (SELECT FROM accounts_user u
        WHERE u.is_staff AND desk_mailbox(u.email) = desk_mailbox(%s))
"""


def invitation_path(member: DeskMember) -> str:
    """The address that the invitation has; it is good for one passkey."""
    return f"/partner/invitation/{signer.sign(str(member.pk))}"


def invited(signed: str) -> DeskMember | None:
    """The member whose invitation can be accepted now."""
    try:
        key = signer.unsign(signed)
    except BadSignature:
        return None
    waiting = DeskMember.objects.filter(enrolled_at=None, ended_at=None)
    return (
        waiting.select_related("partner")
        .filter(pk=key, expires_at__gt=timezone.now())
        .first()
    )


def end_membership(member: DeskMember, actor: str) -> bool:
    """End the member's access; False if it had ended before.

    `actor` is the e-mail address of a member of staff with the right to change members.
    """
    return bool(value_of("SELECT desk_end(%s, %s)", [actor, member.pk]))
