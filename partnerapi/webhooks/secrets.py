"""The secrets of an endpoint: two while one is rolled, encrypted in the database."""

from datetime import datetime, timedelta
from uuid import UUID

import orjson

from accounts.keys.sealing import seal, unseal
from partnerapi.webhooks.models import WebhookEndpoint

ROLLING = timedelta(days=1)
"""How long the secret of before signs, too, once there is a new one."""


def sealed_for(endpoint_id: UUID, secrets: list[str]) -> bytes:
    return seal(orjson.dumps(secrets), endpoint_id.bytes)


def secrets_of(endpoint: WebhookEndpoint, at: datetime) -> list[str]:
    """The secrets that sign at that time, the new one first.

    Raises:
        SealBroken: the pepper that encrypted them is no longer in the settings.
    """
    known: list[str] = orjson.loads(
        unseal(bytes(endpoint.sealed_secrets), endpoint.pk.bytes)
    )
    is_rolling = endpoint.rolled_at is not None and at < endpoint.rolled_at + ROLLING
    return known[:2] if is_rolling else known[:1]
