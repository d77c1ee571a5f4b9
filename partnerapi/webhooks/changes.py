"""What partners do with their endpoints.

These functions change an endpoint that the caller has read, and write nothing.
"""

from collections.abc import Sequence

import uuid_utils.compat as uuid
from django.utils import timezone

from accounts.access import Caller
from issuers.models.events import newest_events
from partnerapi.core.errors import BadUserInput, PartnerAPIError
from partnerapi.webhooks.models import MOST_OF_KEY, WebhookEndpoint
from partnerapi.webhooks.secrets import sealed_for, secrets_of
from partnerapi.webhooks.signing import new_secret


class TooManyWebhooks(PartnerAPIError):
    """The key has as many webhook endpoints as it may have."""

    code = "TOO_MANY_WEBHOOKS"
    example = f"an endpoint more than the {MOST_OF_KEY} of a key"
    remedy = "Delete an endpoint that you no longer need."


def new_endpoint(
    caller: Caller, url: str, types: Sequence[str] | None
) -> tuple[WebhookEndpoint, str]:
    """An endpoint for the events after the last one, not written yet; its secret.

    Raises:
        TooManyWebhooks
    """
    assert caller.key_id is not None
    live = WebhookEndpoint.objects.visible_to(caller).filter(ended_at=None)
    if live.count() >= MOST_OF_KEY:
        raise TooManyWebhooks(
            f"Your key has {MOST_OF_KEY} endpoints; delete one that it does not need.",
            maximum=MOST_OF_KEY,
        )
    key, secret = uuid.uuid7(), new_secret()
    newest = newest_events([caller.partner_id])
    endpoint = WebhookEndpoint(
        id=key,
        key_id=caller.key_id,
        url=url,
        types=None if types is None else sorted(set(types)),
        sealed_secrets=sealed_for(key, [secret]),
        position=newest.get(caller.partner_id, 0),
        attempts=0,
        created_at=timezone.now(),
    )
    return endpoint, secret


def roll_secret(endpoint: WebhookEndpoint) -> str:
    """Give an endpoint a new secret; the newest of before signs for a day, too."""
    now = timezone.now()
    secret = new_secret()
    before = secrets_of(endpoint, now)[0]
    endpoint.sealed_secrets = sealed_for(endpoint.pk, [secret, before])
    endpoint.rolled_at = now
    return secret


def request_test(endpoint: WebhookEndpoint) -> None:
    """Have a test sent; one that has not been sent yet is this one."""
    if endpoint.test_at is None:
        endpoint.test_at = timezone.now()


def redeliver(endpoint: WebhookEndpoint, first: int) -> None:
    """Send the events from `first` on again.

    Raises:
        BadUserInput: it is 0, or the event has not been sent yet.
    """
    if not 1 <= first <= endpoint.position:
        raise BadUserInput(
            f"`from` is {first}, and is not from 1 to {endpoint.position}; the events "
            "after that are sent in any case.",
            argument="from",
        )
    endpoint.position = first - 1
    endpoint.attempts, endpoint.failing_since = 0, None
    endpoint.due_at = timezone.now()


def delete(endpoint: WebhookEndpoint) -> None:
    endpoint.ended_at, endpoint.reason = timezone.now(), "You deleted it."
