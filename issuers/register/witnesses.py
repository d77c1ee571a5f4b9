"""Witnesses: partners that sign public statements as well, each with a key of its own.

A witness proves that the partner has seen this statement of this number. A partner that
is shown another one has proof of two histories.
"""

import base64
import json
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from issuers.register.statement_models import Statement, Witness, WitnessKey
from partnerapi.core.times import to_rfc3339


class NotWitnessed(Exception):
    """The key or the signature is not what it must be; `member` of the input is it."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(message)
        self.member = member


def acknowledge(
    partner_id: str,
    statement: Statement,
    public: str,
    signature: str,
    at: datetime,
    is_trial: bool = False,
) -> None:
    """Register the partner's public key, if it is new, and store its signature.

    `public` and `signature` are base64; the signature is of the statement's line. A
    trial only checks them.

    Raises:
        NotWitnessed: the key is no Ed25519 key or another partner's, or has not signed
            this statement.
    """
    try:
        point = base64.b64decode(public, validate=True)
        key = Ed25519PublicKey.from_public_bytes(point)
    except ValueError:
        raise NotWitnessed(
            "publicKey", "`publicKey` is not the base64 of an Ed25519 key's 32 bytes."
        ) from None
    try:
        key.verify(base64.b64decode(signature, validate=True), statement.said.encode())
    except (InvalidSignature, ValueError):
        raise NotWitnessed(
            "signature",
            "`signature` is not the base64 of an Ed25519 signature, by this key, of "
            f"the first line of /statements/{statement.number}.",
        ) from None
    named = base64.b64encode(point).decode()
    if is_trial:
        new = WitnessKey(public_key=named, partner_id=partner_id, since=at)
        registered = WitnessKey.objects.filter(public_key=named).first() or new
    else:
        registered, _ = WitnessKey.objects.get_or_create(
            public_key=named, defaults={"partner_id": partner_id, "since": at}
        )
    if str(registered.partner_id) != partner_id:
        raise NotWitnessed("publicKey", "`publicKey` is the key of another partner.")
    if not is_trial:
        # The first signature of a key stays.
        Witness.objects.get_or_create(
            statement=statement,
            key=registered,
            defaults={"signature": signature, "at": at},
        )


def witnesses_of(numbers: list[int]) -> dict[int, list[Witness]]:
    """The witnesses of statements, oldest first, by the statements' numbers."""
    found: dict[int, list[Witness]] = {number: [] for number in numbers}
    for one in (
        Witness.objects.filter(statement__in=numbers)
        .select_related("key__partner")
        .order_by("statement", "at", "key")
    ):
        found[one.statement_id].append(one)
    return found


def witnesses_text(number: int) -> str:
    """The witnesses of a statement, as JSON."""
    said: list[dict[str, Any]] = [
        {
            "partner": one.key.partner.login,
            "publicKey": one.key_id,
            "signature": one.signature,
            "at": to_rfc3339(one.at),
        }
        for one in witnesses_of([number])[number]
    ]
    return json.dumps({"witnesses": said})
