"""A passkey of staff whose device is this process."""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from secrets import token_bytes
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from accounts.passkeys.models import Passkey
from accounts.passkeys.signing import challenge_of, cose, enrol
from accounts.people.models import User
from tests.owner import tamper

ORIGIN = "http://localhost:8000"
PRESENT, VERIFIED, ATTESTED = 1, 4, 64


class Device:
    """Makes one credential and signs with it; its counter grows by one each time."""

    def __init__(self, domain: str = "localhost", origin: str = ORIGIN) -> None:
        self.key = generate_private_key(SECP256R1())
        self.credential = token_bytes(16)
        self.domain, self.origin, self.count = domain, origin, 0
        self.flags = PRESENT | VERIFIED

    def data(self, flags: int, more: bytes = b"") -> bytes:
        self.count += 1
        domain = hashlib.sha256(self.domain.encode()).digest()
        return domain + bytes([flags]) + self.count.to_bytes(4) + more

    def told(self, kind: str, challenge: bytes) -> bytes:
        said = {"type": kind, "challenge": text(challenge), "origin": self.origin}
        return json.dumps(said).encode()

    def register(self, challenge: bytes) -> str:
        """A browser's answer to the enrolment, with the attestation `none`."""
        point = self.key.public_key().public_bytes(
            Encoding.X962, PublicFormat.UncompressedPoint
        )
        length = len(self.credential).to_bytes(2)
        more = bytes(16) + length + self.credential + cose(point)
        data = self.data(self.flags | ATTESTED, more)
        attested = (
            b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58"
            + bytes([len(data)])
            + data
        )
        told = self.told("webauthn.create", challenge)
        return self.answer(attestationObject=attested, clientDataJSON=told)

    def sign(self, digests: Sequence[bytes]) -> str:
        """A browser's answer to a decision."""
        return self.sign_challenge(challenge_of(digests))

    def sign_challenge(self, challenge: bytes) -> str:
        told = self.told("webauthn.get", challenge)
        data = self.data(self.flags)
        signed = data + hashlib.sha256(told).digest()
        signature = self.key.sign(signed, ECDSA(SHA256()))
        return self.answer(
            authenticatorData=data, clientDataJSON=told, signature=signature
        )

    def answer(self, **response: bytes) -> str:
        name = text(self.credential)
        said: dict[str, Any] = {"id": name, "rawId": name, "type": "public-key"}
        said["response"] = {name: text(value) for name, value in response.items()}
        return json.dumps(said)


def text(value: bytes) -> str:
    return urlsafe_b64encode(value).rstrip(b"=").decode()


def enrolled(person: User) -> tuple[Device, Passkey]:
    """A device, and its passkey that waits for those who vouch for it."""
    device, challenge = Device(), token_bytes(32)
    return device, enrol(person, "Laptop", challenge, device.register(challenge))


def counting(person: User) -> tuple[Device, Passkey]:
    """A device whose passkey the owner vouched for and a statement lists."""
    device, passkey = enrolled(person)
    tamper(
        "UPDATE accounts_passkey SET by_owner = TRUE, vouched_at = clock_timestamp()"
        f" WHERE id = '{passkey.pk}'"
    )
    Passkey.objects.note_listed([str(passkey.pk)])
    passkey.refresh_from_db()
    return device, passkey
