"""The message of an event: what changed and where to read it, and no values of it."""

from datetime import datetime
from uuid import UUID

import orjson

from issuers.models.events import OF_GRANTED_ISSUERS, Event, EventType
from issuers.schema.events import SUBJECTS
from partnerapi.core.times import to_rfc3339

TEST = "TEST"
"""The type of the message that `testWebhookEndpoint` asks for."""


def message_of(event: Event) -> tuple[str, bytes]:
    """The id and the body of an event's message; every attempt sends the same."""
    # Events of an issuer's register may concern other partners' accounts.
    account = None if event.type in OF_GRANTED_ISSUERS else event.account_id
    data = {
        "subjectID": named(SUBJECTS.get(EventType(event.type)), event.subject_id),
        "issuerID": named("Issuer", event.issuer_id),
        "accountID": named("Account", account),
    }
    return f"msg_{event.pk.hex}", body_of(event.type, event.sequence, event.at, data)


def named(type_name: str | None, key: UUID | None) -> str | None:
    return f"{type_name}|{key}" if type_name and key else None


def test_message(endpoint: UUID, at: datetime) -> tuple[str, bytes]:
    """The id and the body of a test, whose sequence is 0: that of no event."""
    message = f"test_{endpoint.hex}_{at:%Y%m%d%H%M%S%f}"
    return message, body_of(TEST, 0, at, {})


def body_of(
    type: str, sequence: int, at: datetime, data: dict[str, str | None]
) -> bytes:
    return orjson.dumps(
        {"type": type, "sequence": sequence, "timestamp": to_rfc3339(at), "data": data}
    )
