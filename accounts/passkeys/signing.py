"""Enrols passkeys of staff and checks what they sign, before it is written.

The device signs a challenge, the SHA-256 of the digests of what its person confirms
together. `verify approvals` checks the same from outside, without this module.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from uuid_utils.compat import uuid7

from accounts.passkeys.models import Passkey
from accounts.people.models import User
from partnerapi.core.database import execute, value_of

LOCAL = "localhost"
ES256 = -7
MALFORMED = (ValueError, KeyError, TypeError, RecursionError)
"""What an answer that is none raises; the last of them, one that is nested too deep."""


class NotSigned(Exception):
    """A passkey was not enrolled, or has not signed this; the message says why."""


@dataclass(frozen=True, slots=True)
class Signed:
    """An assertion whose signature was checked, in the order in which it is written."""

    key: UUID
    authenticator_data: bytes
    client_data: bytes
    signature: bytes


def challenge_of(digests: Iterable[bytes]) -> bytes:
    return sha256(b"".join(sorted(digests))).digest()


def domain() -> str:
    """The RP ID of this installation."""
    return settings.PARTNER_API_PASSKEY_DOMAIN


def options_to_sign(
    person: User, digests: Iterable[bytes], host: str
) -> dict[str, Any]:
    """What the browser asks a device of this person for, at a host's address."""
    keys = Passkey.objects.counting().filter(person=person, domain=host)
    return {
        "challenge": text_of(challenge_of(digests)),
        "rpId": host,
        "allowCredentials": credentials(keys),
        "userVerification": "required",
    }


def options_to_enrol(person: User, challenge: bytes) -> dict[str, Any]:
    """What the browser asks a device for that makes a new passkey."""
    keys = Passkey.objects.filter(person=person, revoked_at=None)
    email = person.email or ""
    return {
        "challenge": text_of(challenge),
        "rp": {"id": domain(), "name": "Partner platform"},
        "user": {"id": text_of(person.pk.bytes), "name": email, "displayName": email},
        "pubKeyCredParams": [{"type": "public-key", "alg": ES256}],
        "excludeCredentials": credentials(keys),
        "authenticatorSelection": {"userVerification": "required"},
        "attestation": "none",
    }


def credentials(keys: Iterable[Passkey]) -> list[dict[str, str]]:
    return [
        {"type": "public-key", "id": text_of(bytes(key.credential))} for key in keys
    ]


def is_own(origin: str, domain: str) -> bool:
    """Whether an origin is of this domain, over HTTPS where it is remote."""
    address = urlsplit(origin)
    schemes = {"https", "http"} if domain == LOCAL else {"https"}
    return address.hostname == domain and address.scheme in schemes


def enrol(person: User, name: str, challenge: bytes, answer: str) -> Passkey:
    """Keep a new passkey, which does not count before others vouch for it.

    Raises:
        NotSigned
    """
    credential, point = registered(challenge, answer, domain())
    made = Passkey(
        id=uuid7(),
        person=person,
        name=name,
        credential=credential,
        public_key=point,
        domain=domain(),
    )
    write(
        "SELECT passkeys_enrol(%s, %s, %s, %s, %s, %s)",
        [made.pk, person.pk, name, made.credential, made.public_key, made.domain],
    )
    return made


def registered(challenge: bytes, answer: str, domain: str) -> tuple[bytes, bytes]:
    """The credential's id and the public key in a browser's answer to an enrolment.

    Raises:
        NotSigned
    """
    # They take time and memory, and most processes sign nothing.
    from webauthn import verify_registration_response
    from webauthn.helpers.cose import COSEAlgorithmIdentifier
    from webauthn.helpers.decode_credential_public_key import (
        DecodedEC2PublicKey,
        decode_credential_public_key,
    )
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        found = verify_registration_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=domain,
            expected_origin=origins_of(answer, domain),
            require_user_verification=True,
            supported_pub_key_algs=[COSEAlgorithmIdentifier.ECDSA_SHA_256],
        )
        key = decode_credential_public_key(found.credential_public_key)
    except (*MALFORMED, WebAuthnException) as error:
        raise NotSigned(f"The passkey was not accepted: {error}") from None
    assert isinstance(key, DecodedEC2PublicKey)
    return found.credential_id, b"\x04" + key.x + key.y


def check(person: User, digests: Sequence[bytes], answer: str) -> Signed:
    """The assertion in a browser's answer, by a passkey of this person that counts.

    Raises:
        NotSigned
    """
    credential = credential_of(answer)
    key = Passkey.objects.filter(person=person, credential=credential.raw_id).first()
    if key is None:
        raise NotSigned("This passkey is not enrolled for you.")
    check_signature(
        credential,
        challenge_of(digests),
        key.domain,
        bytes(key.public_key),
        key.sign_count,
    )
    answered = credential.response
    return Signed(
        key.pk,
        answered.authenticator_data,
        answered.client_data_json,
        answered.signature,
    )


def credential_of(answer: str) -> Any:
    """The credential that a browser's answer names; its signature is not checked.

    Raises:
        NotSigned
    """
    from webauthn.helpers import parse_authentication_credential_json
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        return parse_authentication_credential_json(answer)
    except (*MALFORMED, WebAuthnException) as error:
        raise NotSigned(f"The signature was not accepted: {error}") from None


def check_signature(
    credential: Any,
    challenge: bytes,
    domain: str,
    point: bytes,
    count: int,
) -> int:
    """The counter of a passkey that has signed the challenge, on a page of its domain.

    Raises:
        NotSigned
    """
    from webauthn import verify_authentication_response
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        told = credential.response.client_data_json
        found = verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=domain,
            expected_origin=own_origins(told, domain),
            credential_public_key=cose(point),
            credential_current_sign_count=count,
            require_user_verification=True,
        )
    except (*MALFORMED, WebAuthnException) as error:
        raise NotSigned(f"The signature was not accepted: {error}") from None
    return found.new_sign_count


def vouch(newer: Passkey, signer: User, answer: str) -> None:
    """Sign a new passkey with an older one, of its person or of another decider.

    Raises:
        NotSigned
    """
    signed = check(signer, [digest_of(newer)], answer)
    write(
        "SELECT passkeys_vouch(%s, %s, %s, %s, %s, %s)",
        [newer.pk, signed.key, signer.pk, *fields(signed)],
    )


def revoke(passkey: Passkey, revoker: User) -> None:
    """
    Raises:
        NotSigned: this person may not end it.
    """
    write("SELECT passkeys_revoke(%s, %s)", [passkey.pk, revoker.pk])


def digest_of(passkey: Passkey) -> bytes:
    return bytes(value_of("SELECT passkeys_digest(%s)", [passkey.pk]))


def fields(signed: Signed) -> tuple[bytes, bytes, bytes]:
    return signed.authenticator_data, signed.client_data, signed.signature


def write(statement: str, arguments: Sequence[Any]) -> None:
    try:
        with transaction.atomic():
            execute(statement, arguments)
    except IntegrityError as error:
        raise NotSigned(str(error).splitlines()[0]) from None


def origins_of(answer: str, domain: str) -> list[str]:
    """The origin that an answer names where it is ours; the library compares it."""
    told = json.loads(answer)["response"]["clientDataJSON"]
    return own_origins(bytes_of(told), domain)


def own_origins(client_data: bytes, domain: str) -> list[str]:
    origin = json.loads(client_data)["origin"]
    return [origin] if is_own(origin, domain) else []


def text_of(value: bytes) -> str:
    """Bytes as browsers' WebAuthn has them in JSON."""
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def cose(point: bytes) -> bytes:
    """A public key as WebAuthn has it: a map of CBOR, of ES256 on P-256."""
    x, y = point[1:33], point[33:]
    return b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20" + x + b"\x22\x58\x20" + y
