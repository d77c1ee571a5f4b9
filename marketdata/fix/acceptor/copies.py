"""Drop copies: sessions that get the events of their partner's orders, in order.

No event is kept here. A session has a position in its partner's events, from which the
next are read, all sessions' in one statement. It goes back to repeat reports.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from typing import NamedTuple, Protocol

from django.db import InterfaceError, OperationalError, connection

from marketdata.fix.acceptor.outbound import Text, as_text
from marketdata.fix.acceptor.reports import AT_ONCE, Batch, Place, Report, read_reports
from marketdata.fix.protocol.executions import (
    MATCHED_TRADES,
    OTHER,
    POSSIBLY_SENT,
    UNSUPPORTED_TYPE,
    request_answer,
)
from marketdata.fix.protocol.rules import (
    EXEC_ID_RULE,
    INTERNAL_ERROR,
    NO_SUCH_EVENT,
    PRUNED_EVENTS,
)
from partnerapi.core import news
from partnerapi.core.channels import ChannelListener
from partnerapi.core.outages import Outage

logger = logging.getLogger(__name__)

LOOK_SECONDS, GATHER_SECONDS = 1.0, 0.05
"""How long events may wait without a message from Redis; the pause between looks."""
MARK = as_text(POSSIBLY_SENT)
NO_MARK = Text(b"", 0)
STREAM = "1"
"""SubscriptionRequestType(263)."""


class ReportRequest(NamedTuple):
    """The fields of AD; "": the field is absent."""

    request_id: str
    type: str
    action: str
    exec_id: str


class Owner(Protocol):
    """A session."""

    def wake(self) -> object: ...
    def answer(self, message_type: str, bodies: Iterable[str]) -> object: ...
    def end(self, text: str) -> object: ...


class Unread(NamedTuple):
    """A report whose reading the client has not acknowledged.

    `number` is its MsgSeqNum(34), `sent` the bytes sent up to its end, `before` the
    position before it.
    """

    number: int
    sent: int
    before: int


class DropCopy:
    """A session's position in the events of its partner, from `position` on.

    `position` is the last event that was sent or is not for it, `read` the last one
    that was read. Reports up to `highest` have been sent in this session, and are
    marked when they are repeated. `turn` counts what makes reports useless that
    are being read.
    """

    def __init__(
        self, partner_id: str, position: int, owner: Owner, copies: "Copies"
    ) -> None:
        self.partner_id = partner_id
        self.owner = owner
        self.copies = copies
        self.position = self.read = position
        self.highest = 0
        self.turn = 0
        self.ready: deque[Report] = deque()
        self.unread: deque[Unread] = deque()
        self.request: ReportRequest | None = None

    def ask(self, request: ReportRequest) -> None:
        """Go to where a request says, once the events have been looked at."""
        if request.type != MATCHED_TRADES:
            self.refuse(request, UNSUPPORTED_TYPE, "TradeRequestType(569) must be 1")
        elif request.action != STREAM:
            self.refuse(request, OTHER, "SubscriptionRequestType(263) must be 1")
        elif not is_position(request.exec_id):
            self.refuse(request, OTHER, EXEC_ID_RULE)
        else:
            if self.request is not None:
                self.refuse(self.request, OTHER, "A later request replaced it")
            self.request = request
            self.read_from(self.position)

    def refuse(self, request: ReportRequest, result: str, text: str) -> None:
        body = request_answer(request.request_id, request.type, result, text)
        self.owner.answer("AQ", [body])

    def read_from(self, position: int) -> None:
        """Drop what is ready, and read what follows an event."""
        self.turn += 1
        self.ready.clear()
        self.read = position
        self.copies.due.set()

    @property
    def after(self) -> int | None:
        """The event that the reports to be read follow; None: there are enough."""
        if self.request is not None:
            return int(self.request.exec_id)
        return self.read if len(self.ready) < AT_ONCE else None

    def take(self, batch: Batch) -> None:
        """Take what was read after `after`."""
        if self.request is not None:
            self.judge(self.request, batch)
        else:
            self.keep(batch)
        self.owner.wake()

    def judge(self, request: ReportRequest, batch: Batch) -> None:
        """Answer a request: go to where it says, or stay."""
        self.request = None
        exec_id = int(request.exec_id)
        if exec_id > batch.head.last:
            self.refuse(request, OTHER, NO_SUCH_EVENT.format(last=batch.head.last))
        elif exec_id < batch.head.pruned:
            self.refuse(request, OTHER, PRUNED_EVENTS.format(pruned=batch.head.pruned))
        else:
            body = request_answer(request.request_id, request.type)
            self.owner.answer("AQ", [body])
            self.position = self.read = exec_id
            self.keep(batch)
            return
        # What was not read meanwhile is read at the next look.
        self.copies.due.set()

    def keep(self, batch: Batch) -> None:
        if self.read < batch.head.pruned:
            self.end(PRUNED_EVENTS.format(pruned=batch.head.pruned))
            return
        if batch.broken is not None:
            logger.error(
                "Event %d of partner %s has no order, state or token",
                batch.broken,
                self.partner_id,
            )
            self.end(INTERNAL_ERROR)
            return
        self.ready += batch.reports
        self.read = batch.end
        if len(batch.reports) == AT_ONCE:
            self.copies.due.set()

    def next_report(self) -> tuple[Text, Text] | None:
        """The next report, and the mark that precedes its fields; None: there is none.

        `note` says that it was sent.
        """
        if not self.ready:
            return None
        sequence, text = self.ready[0]
        return text, MARK if sequence <= self.highest else NO_MARK

    def note(self, number: int, sent: int) -> None:
        """Note the message by which the next report was sent, and all bytes sent."""
        report = self.ready.popleft()
        self.unread.append(Unread(number, sent, self.position))
        self.position = report.sequence
        self.highest = max(self.highest, report.sequence)
        if len(self.ready) == AT_ONCE - 1:
            self.copies.due.set()

    def forget_read(self, acknowledged: int) -> None:
        """Forget the messages up to so many bytes: the client has read them."""
        while self.unread and self.unread[0].sent <= acknowledged:
            self.unread.popleft()

    def lose(self, first: int, following: int) -> None:
        """The client missed the messages from `first` on that come before `following`.

        It gets all reports from the first that it missed.
        """
        lost = [one.before for one in self.unread if first <= one.number < following]
        if lost:
            self.position = min(lost)
            self.read_from(self.position)

    def end(self, text: str) -> None:
        """Log the session out, and read nothing more for it."""
        self.close()
        self.owner.end(text)

    def close(self) -> None:
        self.copies.open.pop(self, None)


def close_connection() -> None:
    """Close the database connection of the calling thread."""
    connection.close()


def is_position(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18


def on_end(task: asyncio.Task[None]) -> None:
    """Log the failure that ended the reading."""
    if not task.cancelled() and (error := task.exception()):
        logger.error("Drop copies can no longer be read", exc_info=error)


class Copies:
    """Reads for all drop copies of an acceptor, from the first on; in the loop.

    Its own thread waits for the database, another for Redis.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.open: dict[DropCopy, None] = {}
        self.due = asyncio.Event()
        self.stopping = Event()
        self.task: asyncio.Task[None] | None = None
        self.outage = Outage(
            logger,
            away="PostgreSQL does not answer (%s): drop copies wait",
            back="PostgreSQL answers again: drop copies continue",
        )

    def add(self, partner_id: str, position: int, owner: Owner) -> DropCopy:
        """Begin a drop copy of the events that follow `position`."""
        if self.task is None:
            self.thread = ThreadPoolExecutor(1, "fix-copies")
            self.listening = Thread(target=self.listen, name="fix-news", daemon=True)
            self.listening.start()
            self.task = self.loop.create_task(self.run())
            self.task.add_done_callback(on_end)
        copy = DropCopy(partner_id, position, owner, self)
        self.open[copy] = None
        self.due.set()
        return copy

    @property
    def is_sound(self) -> bool:
        """Whether it reads and listens, or need not."""
        return self.task is None or (not self.task.done() and self.listening.is_alive())

    def listen(self) -> None:
        outage = Outage(
            logger,
            away="Redis does not answer (%s): drop copies look for events every second",
            back="Redis answers again: drop copies are sent events as they come",
        )
        listener = ChannelListener(news.channel(), self.stopping, outage)
        while not self.stopping.is_set():
            if listener.wait_for_messages(LOOK_SECONDS):
                self.loop.call_soon_threadsafe(self.due.set)
        listener.close()

    async def run(self) -> None:
        """Look when events or requests have come, and each second."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS if self.open else None):
                    await self.due.wait()
            self.due.clear()
            await self.look()
            await asyncio.sleep(GATHER_SECONDS)

    async def look(self) -> None:
        """Read for all that need more."""
        asked = [
            (copy, copy.turn, Place(copy.partner_id, after))
            for copy in self.open
            if (after := copy.after) is not None
        ]
        if not asked:
            return
        places = [place for _, _, place in asked]
        read = await self.loop.run_in_executor(self.thread, self.read, places)
        for (copy, turn, _), batch in zip(asked, read, strict=True):
            if batch is None:
                # Its turn comes before that of those who have theirs now.
                self.due.set()
            elif copy in self.open and copy.turn == turn:
                del self.open[copy]
                self.open[copy] = None
                copy.take(batch)

    def read(self, places: list[Place]) -> list[Batch | None]:
        """In the thread; without the database, it waits for the next look."""
        connection.close_if_unusable_or_obsolete()
        try:
            found = read_reports(places)
        except (OperationalError, InterfaceError) as error:
            connection.close()
            self.outage.begin(error)
            self.stopping.wait(LOOK_SECONDS)
            return [None] * len(places)
        self.outage.end()
        return found

    async def stop(self) -> None:
        """End its threads."""
        if self.task is None:
            return
        self.stopping.set()
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.loop.run_in_executor(self.thread, close_connection)
        await asyncio.to_thread(self.listening.join)
        self.thread.shutdown()
