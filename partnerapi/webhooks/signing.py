"""Signs messages as Standard Webhooks 1.0 does, symmetrically (`v1`)."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def headers(
    message_id: str, timestamp: int, body: bytes, secrets: Iterable[str]
) -> dict[str, str]:
    """The three headers of a message; `timestamp` in seconds since 1970.

    Each secret gives a signature: while one is rolled, the receiver knows either.
    """
    signed = f"{message_id}.{timestamp}.".encode() + body
    signatures = [
        base64.b64encode(
            hmac.digest(
                base64.b64decode(s.removeprefix(PREFIX)), signed, hashlib.sha256
            )
        ).decode()
        for s in secrets
    ]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
