"""The passkeys of members of a partner's desk: set with an invitation, then used.

A challenge is signed by the server and returns with the answer: it says what it is for
and when it was made. The database takes each only once.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.utils import timezone

from accounts.desk.models import DeskMember
from accounts.passkeys.signing import (
    ES256,
    NotSigned,
    check_signature,
    credential_of,
    registered,
    text_of,
    write,
)

LIFETIME = timedelta(minutes=5)
"""So long a challenge can be signed."""
UNKNOWN = "This passkey is of no desk, or cannot be used yet."
signer = Signer(salt="challenges of a desk")


def domain() -> str:
    """The RP ID: the host name under which partners read the pages."""
    return urlsplit(settings.PARTNER_API_SITE).hostname or ""


def new_challenge(purpose: str) -> str:
    """A challenge for one purpose, as the browser keeps it meanwhile."""
    microseconds = int(timezone.now().timestamp() * 1_000_000)
    return signer.sign(f"{purpose}|{microseconds}|{token_urlsafe(32)}")


def bytes_to_sign(challenge: str) -> bytes:
    return sha256(challenge.encode()).digest()


def made_at(challenge: str, purpose: str) -> datetime:
    """When a challenge for this purpose was made.

    Raises:
        NotSigned: it was made for another purpose, too long ago, or by someone else.
    """
    try:
        named, microseconds, _ = signer.unsign(challenge).rsplit("|", 2)
        at = datetime.fromtimestamp(int(microseconds) / 1_000_000, UTC)
        if named == purpose and timezone.now() - at < LIFETIME:
            return at
    except (BadSignature, ValueError):
        pass
    raise NotSigned("The page has waited too long. Try again.")


def options_to_enrol(member: DeskMember, challenge: str) -> dict[str, Any]:
    return {
        "challenge": text_of(bytes_to_sign(challenge)),
        "rp": {"id": domain(), "name": "Partner API"},
        "user": {
            "id": text_of(member.pk.bytes),
            "name": member.email,
            "displayName": member.email,
        },
        "pubKeyCredParams": [{"type": "public-key", "alg": ES256}],
        "authenticatorSelection": {
            "residentKey": "required",
            "requireResidentKey": True,
            "userVerification": "required",
        },
        "attestation": "none",
    }


def options_to_sign(challenge: str) -> dict[str, Any]:
    """The device knows its passkey by itself: no address is typed or shown."""
    return {
        "challenge": text_of(bytes_to_sign(challenge)),
        "rpId": domain(),
        "userVerification": "required",
    }


def enrol(member: DeskMember, challenge: str, answer: str) -> None:
    """Keep the passkey of an invited member; it can be used after 24 hours.

    Raises:
        NotSigned
    """
    made_at(challenge, purpose_of_enrolment(member))
    credential, point = registered(bytes_to_sign(challenge), answer, domain())
    write("SELECT desk_enrol(%s, %s, %s, %s)", [member.pk, credential, point, domain()])


def purpose_of_enrolment(member: DeskMember) -> str:
    return f"enrol {member.pk}"


@dataclass(frozen=True, slots=True)
class Signature:
    """A checked signature of a member, which the database has not taken yet."""

    member: DeskMember
    count: int
    asked_at: datetime


def check_member(challenge: str, purpose: str, answer: str) -> Signature:
    """The member whose passkey has signed a challenge for this purpose.

    Raises:
        NotSigned
    """
    asked_at = made_at(challenge, purpose)
    credential = credential_of(answer)
    member = (
        DeskMember.objects.select_related("partner")
        .filter(credential=credential.raw_id)
        .first()
    )
    if member is None or member.public_key is None or not member.may_use():
        raise NotSigned(UNKNOWN)
    count = check_signature(
        credential,
        bytes_to_sign(challenge),
        member.domain,
        bytes(member.public_key),
        member.sign_count,
    )
    return Signature(member, count, asked_at)


def use(signature: Signature) -> None:
    """Take the signature, for what needs no other.

    Raises:
        NotSigned: it was used before.
    """
    write(
        "SELECT desk_use(%s, %s, %s)",
        [signature.member.pk, signature.count, signature.asked_at],
    )
