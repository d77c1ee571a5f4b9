"""Members of a partner's desk, whose devices are this process."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.test import Client

from accounts.approvals.models import ApprovalKind
from accounts.desk.invitations import InviteToDesk, desk_content
from accounts.desk.models import DeskMember
from accounts.desk.passkeys import (
    Signature,
    bytes_to_sign,
    check_member,
    domain,
    enrol,
    new_challenge,
    purpose_of_enrolment,
)
from accounts.keys.models import Partner
from accounts.passkeys.signing import bytes_of
from partnerapi.sandbox.data.approvals import carry_out_requests, file_and_approve
from tests.owner import tamper
from tests.passkeys import Device


def invited_member(
    partner: Partner, email: str, scopes: Iterable[str] = ()
) -> DeskMember:
    """A member whose address two people approved, and who has no passkey yet."""
    requests = file_and_approve(ApprovalKind.DESK, desk_content(partner, email, scopes))
    with carry_out_requests(requests):
        return InviteToDesk().execute(requests[0])


def new_device() -> Device:
    return Device(domain(), f"https://{domain()}")


def set_passkey(member: DeskMember, device: Device) -> None:
    challenge = new_challenge(purpose_of_enrolment(member))
    enrol(member, challenge, device.register(bytes_to_sign(challenge)))
    member.refresh_from_db()


def let_rest(member: DeskMember, by: timedelta = timedelta(hours=24)) -> None:
    """The member has set the passkey so much earlier."""
    seconds = by.total_seconds()
    tamper(
        f"UPDATE accounts_deskmember SET enrolled_at = enrolled_at - {seconds} *"
        f" interval '1 second', usable_from = usable_from - {seconds} *"
        f" interval '1 second' WHERE id = '{member.pk}'"
    )
    member.refresh_from_db()


def active_member(
    partner: Partner,
    email: str,
    scopes: Iterable[str] = (),
    device: Device | None = None,
) -> tuple[DeskMember, Device]:
    member, device = invited_member(partner, email, scopes), device or new_device()
    set_passkey(member, device)
    let_rest(member)
    return member, device


def sign_in(client: Client, device: Device) -> Any:
    """The answer to a sign-in, as a browser asks for it."""
    asked = client.post("/partner/sign-in", {"options": ""}).json()
    answer = device.sign_challenge(bytes_of(asked["challenge"]))
    return client.post("/partner/sign-in", {"answer": answer})


def signature(device: Device, purpose: str = "test") -> Signature:
    challenge = new_challenge(purpose)
    return check_member(
        challenge, purpose, device.sign_challenge(bytes_to_sign(challenge))
    )
