"""Sends events to webhook endpoints, each in order and one message at a time.

One process sends, with a lease; another waits for it. An outcome is written after the
response, so that a process that dies may send a message twice and never loses one.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from threading import Event as Flag
from threading import Thread
from time import monotonic
from typing import Any
from uuid import UUID

import uuid_utils.compat as uuid
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from accounts.access import Caller
from accounts.keys.models import ApiKey
from accounts.keys.sealing import SealBroken
from issuers.callers import callers_of
from issuers.models.events import Event
from partnerapi.core import news
from partnerapi.core.channels import ChannelListener
from partnerapi.core.database import execute, rows_of
from partnerapi.core.lease import Lease
from partnerapi.core.metrics import WEBHOOK_ATTEMPTS, WEBHOOK_LOOKS
from partnerapi.core.outages import Outage
from partnerapi.webhooks.messages import message_of, test_message
from partnerapi.webhooks.models import WebhookDelivery, WebhookEndpoint
from partnerapi.webhooks.posting import SECONDS, Outcome, open_client, post
from partnerapi.webhooks.secrets import secrets_of
from partnerapi.webhooks.signing import headers

logger = logging.getLogger(__name__)

LEASE_SECONDS, RENEW_SECONDS = 4, 1.0
"""How long a lease lasts, and how often it is renewed."""
LOOK_SECONDS, GATHER_SECONDS = 1.0, 0.05
"""How long events may wait without a message from Redis; the pause between looks."""
FRESH_SECONDS = 1.0
"""For so long what was read of an endpoint and its key is believed."""
AT_ONCE = 1_000
"""Endpoints that are served at the same time."""
PAGE = 50
"""Events of an endpoint that are read together."""
THREADS = 4
"""Connections to the database."""
SKIPPED = 1_000
"""Events that an endpoint may not see, after which its position is written."""
KEPT = timedelta(days=7)
RETRY_SECONDS = (5, 30, 120, 300, 900, 1_800, 3_600, 7_200, *[14_400] * 5)
"""The pauses after failed attempts: the last is about a day after the first."""
GONE = 410


@dataclass(frozen=True, slots=True)
class Due:
    """An endpoint with something to send, as read at `read_at`; `head` is the number
    of its partner's last event.
    """

    endpoint: WebhookEndpoint
    caller: Caller
    head: int
    read_at: float


class Courier:
    """Serves endpoints; `trust` is for the certificates of their hosts."""

    def __init__(self, trust: ssl.SSLContext | None = None) -> None:
        self.trust = trust or ssl.create_default_context()
        self.lease = Lease("partnerapi_webhooklease", LEASE_SECONDS)
        self.is_ours = False
        self.stopping = Flag()
        self.renewed_at = self.pruned_at = 0.0
        self.at_work: dict[UUID, asyncio.Task[None]] = {}
        # Positions of endpoints, and how far the events after them are not for them.
        self.passed: dict[UUID, tuple[int, int]] = {}
        self.failure: BaseException | None = None
        self.threads = ThreadPoolExecutor(THREADS)
        self.outage = Outage(
            logger,
            away="PostgreSQL does not answer (%s): webhooks wait",
            back="PostgreSQL answers again: webhooks are sent",
        )

    async def run(self, stopping: Flag) -> None:
        """Serve until `stopping` is set; messages under way then end."""
        self.stopping = stopping
        due, loop = asyncio.Event(), asyncio.get_running_loop()

        def listen() -> None:
            outage = Outage(
                logger,
                away="Redis does not answer (%s): events are looked for every second",
                back="Redis answers again: events are sent as they come",
            )
            listener = ChannelListener(news.channel(), stopping, outage)
            while not stopping.is_set():
                if listener.wait_for_messages(LOOK_SECONDS):
                    loop.call_soon_threadsafe(due.set)
            listener.close()

        listening = Thread(target=listen)
        listening.start()
        try:
            while not stopping.is_set():
                await self.look()
                await asyncio.sleep(GATHER_SECONDS)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await due.wait()
                due.clear()
        finally:
            # Where an exception ends it, the listener would go on without end.
            stopping.set()
            if self.at_work:
                await asyncio.wait(self.at_work.values(), timeout=SECONDS + 1)
            await self.ask(self.lease.release)
            await asyncio.to_thread(listening.join)
            self.threads.shutdown()

    async def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function answers that uses the database; None: it is away."""

        def run() -> Any:
            connection.close_if_unusable_or_obsolete()
            try:
                answer = function(*arguments)
            except (OperationalError, InterfaceError) as error:
                connection.close()
                self.outage.begin(error)
                return None
            self.outage.end()
            return answer

        return await asyncio.get_running_loop().run_in_executor(self.threads, run)

    async def look(self) -> None:
        """Take or renew the lease; with it, serve the endpoints that are due."""
        if monotonic() - self.renewed_at >= RENEW_SECONDS:
            was_ours = self.is_ours
            self.is_ours = bool(await self.ask(self.lease.take))
            self.renewed_at = monotonic()
            if self.is_ours != was_ours:
                logger.info(
                    "This process sends the webhooks"
                    if self.is_ours
                    else "Another process sends the webhooks; this one waits"
                )
        if self.failure is not None:
            raise self.failure
        if not self.is_ours:
            return
        WEBHOOK_LOOKS.inc()
        if monotonic() - self.pruned_at > KEPT.total_seconds() / 1_000:
            self.pruned_at = monotonic()
            # Endpoints that have ended go; the events of others are read anew.
            self.passed.clear()
            await self.ask(execute, PRUNE, [KEPT])
        for due in await self.ask(find_due, list(self.at_work), self.passed) or ():
            task = asyncio.create_task(self.serve(due))
            self.at_work[due.endpoint.pk] = task
            task.add_done_callback(partial(self.note_end, due.endpoint.pk))

    def note_end(self, endpoint: UUID, task: asyncio.Task[None]) -> None:
        del self.at_work[endpoint]
        self.failure = self.failure or task.exception()

    def may_go_on(self, due: Due) -> bool:
        is_fresh = monotonic() - due.read_at < FRESH_SECONDS
        return is_fresh and self.is_ours and not self.stopping.is_set()

    async def serve(self, due: Due) -> None:
        """Send the next messages of an endpoint, until one fails."""
        endpoint = due.endpoint
        async with open_client(self.trust) as client:
            if endpoint.test_at is not None:
                message = test_message(endpoint.pk, endpoint.test_at)
                outcome = await self.send(client, endpoint, *message)
                await self.ask(write_test, endpoint, outcome)
                return
            events = await self.ask(read_events, due)
            if events is None:
                return
            for event in events:
                if not self.may_go_on(due):
                    return
                outcome = await self.send(client, endpoint, *message_of(event))
                if not await self.ask(write_outcome, endpoint, event, outcome):
                    return
        if len(events) < PAGE and due.head > endpoint.position:
            await self.ask(self.pass_by, endpoint, due.head)

    async def send(
        self, client: Any, endpoint: WebhookEndpoint, message_id: str, body: bytes
    ) -> Outcome:
        now = timezone.now()
        try:
            secrets = secrets_of(endpoint, now)
        except SealBroken as broken:
            return Outcome(None, 0, str(broken))
        signed = headers(message_id, int(now.timestamp()), body, secrets)
        kind = {"Content-Type": "application/json", "User-Agent": "PartnerAPI-Webhooks"}
        outcome = await post(client, endpoint.url, kind | signed, body)
        WEBHOOK_ATTEMPTS.labels("accepted" if outcome.is_success else "failed").inc()
        return outcome

    def pass_by(self, endpoint: WebhookEndpoint, head: int) -> None:
        """Note that the events up to `head` are not for an endpoint."""
        self.passed[endpoint.pk] = endpoint.position, head
        if head - endpoint.position >= SKIPPED:
            execute(MOVE, [head, endpoint.pk, endpoint.position])


def find_due(at_work: list[UUID], passed: dict[UUID, tuple[int, int]]) -> list[Due]:
    """The endpoints that have something to send now; those of ended keys end."""
    positions, ends = zip(*passed.values(), strict=True) if passed else ((), ())
    heads: dict[UUID, int] = dict(
        rows_of(DUE, [at_work, [*passed], [*positions], [*ends], AT_ONCE])
    )
    if not heads:
        return []
    read_at = monotonic()
    endpoints = WebhookEndpoint.objects.in_bulk(heads)
    keys = ApiKey.objects.live(timezone.now()).filter(
        pk__in={endpoint.key_id for endpoint in endpoints.values()}
    )
    callers = {key.pk: caller for key, caller in callers_of(keys)}
    due = []
    for pk, endpoint in endpoints.items():
        caller = callers.get(endpoint.key_id)
        if caller is None:
            end(endpoint, "The key that made it has ended.")
        else:
            due.append(Due(endpoint, caller, heads[pk], read_at))
    return due


def read_events(due: Due) -> list[Event]:
    """The next events of an endpoint that its key may read now."""
    endpoint = due.endpoint
    events = Event.objects.visible_to(due.caller).filter(
        sequence__gt=endpoint.position, sequence__lte=due.head
    )
    if endpoint.types is not None:
        events = events.filter(type__in=endpoint.types)
    return list(events.order_by("sequence")[:PAGE])


def write_test(endpoint: WebhookEndpoint, outcome: Outcome) -> None:
    write_delivery(endpoint, 0, outcome, timezone.now())
    execute(TESTED, [outcome.is_success, endpoint.pk, endpoint.test_at])


def write_outcome(endpoint: WebhookEndpoint, event: Event, outcome: Outcome) -> bool:
    """Write what came of an attempt; False: read the endpoint anew.

    It is where the attempt failed, and where a partner has asked for earlier events
    meanwhile, whose position stays.
    """
    now = timezone.now()
    if outcome.is_success:
        moved = rows_of(
            ACCEPTED,
            [
                *(uuid.uuid7(), endpoint.pk, event.sequence, endpoint.attempts + 1),
                *(now, outcome.milliseconds, outcome.status),
                *(event.sequence, endpoint.pk, endpoint.position),
            ],
        )
        endpoint.position, endpoint.attempts = event.sequence, 0
        return bool(moved)
    write_delivery(endpoint, event.sequence, outcome, now)
    if outcome.status == GONE:
        end(endpoint, "It answered 410 Gone.")
    elif endpoint.attempts >= len(RETRY_SECONDS):
        end(endpoint, "It accepted no message for a day.")
    else:
        pause = timedelta(seconds=RETRY_SECONDS[endpoint.attempts])
        execute(FAILED, [now + pause, endpoint.pk, endpoint.position])
    return False


def write_delivery(
    endpoint: WebhookEndpoint, sequence: int, outcome: Outcome, at: datetime
) -> None:
    WebhookDelivery.objects.create(
        endpoint=endpoint,
        sequence=sequence,
        attempt=endpoint.attempts + 1,
        at=at,
        milliseconds=outcome.milliseconds,
        status=outcome.status,
        error=outcome.error,
    )


def end(endpoint: WebhookEndpoint, reason: str) -> None:
    """Send no more to an endpoint, and write e-mails to the partner's desk."""
    if rows_of("SELECT webhooks_end(%s, %s)", [endpoint.pk, reason])[0][0]:
        logger.warning("Webhook endpoint %s is off: %s", endpoint.pk, reason)


DUE = """
    SELECT e.id, h.last_sequence
    FROM partnerapi_webhookendpoint e
    JOIN accounts_apikey k ON k.id = e.key_id
    JOIN issuers_eventhead h ON h.partner_id = k.partner_id
    WHERE e.ended_at IS NULL AND e.id <> ALL (%s::uuid[]) AND (
        h.last_sequence > e.position AND e.due_at <= clock_timestamp()
        AND (e.id, e.position, h.last_sequence) NOT IN (
            SELECT * FROM unnest(%s::uuid[], %s::bigint[], %s::bigint[]))
        OR e.test_at IS NOT NULL)
    ORDER BY e.due_at LIMIT %s
"""
# One commit, which waits for no disk: what a crash loses of it is sent twice, and the
# commits of orders do not queue behind it.
ACCEPTED = """
    WITH delivery AS (
        INSERT INTO partnerapi_webhookdelivery
            (id, endpoint_id, sequence, attempt, at, milliseconds, status, error)
        VALUES (%s, %s, %s, %s, %s, %s, %s, '')
    )
    UPDATE partnerapi_webhookendpoint SET position = %s, attempts = 0,
        failing_since = NULL, delivered_at = clock_timestamp()
    WHERE id = %s AND position = %s
    RETURNING set_config('synchronous_commit', 'off', TRUE)
"""
FAILED = """
    UPDATE partnerapi_webhookendpoint SET attempts = attempts + 1, due_at = %s,
        failing_since = coalesce(failing_since, clock_timestamp())
    WHERE id = %s AND position = %s
"""
MOVE = """
    UPDATE partnerapi_webhookendpoint SET position = %s WHERE id = %s AND position = %s
"""
# Where it has been repaired, what failed before is sent without waiting.
TESTED = """
    UPDATE partnerapi_webhookendpoint SET test_at = NULL,
        due_at = CASE WHEN %s THEN clock_timestamp() ELSE due_at END
    WHERE id = %s AND test_at = %s
"""
PRUNE = "DELETE FROM partnerapi_webhookdelivery WHERE at < clock_timestamp() - %s"
