"""A session that is logged on: its subscriptions, and the thread that sends to it."""

import logging
import secrets
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from threading import Event, Lock, Thread
from time import monotonic
from typing import Protocol

from django.conf import settings
from django.utils import timezone

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.conflation import Pace
from marketdata.fix.acceptor.logon import Admission
from marketdata.fix.acceptor.requests import (
    END,
    Directory,
    MarketDataRequest,
    Named,
    RequestRefused,
    books_asked_for,
)
from marketdata.fix.acceptor.subscriptions import Outgoing, Subscription
from marketdata.fix.acceptor.versions import TradesLost
from marketdata.fix.protocol.messages import (
    FOUND,
    NONE_FOUND,
    UNSUPPORTED,
    business_reject,
    request_reject,
    security_list,
)
from marketdata.fix.protocol.rules import (
    CREDIT_SECONDS,
    INTERNAL_ERROR,
    MESSAGES_BURST,
    MOST_UNSENT_BYTES,
    MOST_UNSENT_TRADES,
    PROBE_BYTES,
    SLOW_CONSUMER,
    SOH,
    TOO_MANY_ANSWERS,
    TOO_MANY_MESSAGES,
    TOO_MANY_TRADES,
    WINDOW_BYTES,
)
from marketdata.fix.protocol.wire import masked
from partnerapi.core.buckets import Bucket

logger = logging.getLogger(__name__)

SEEN = 1_000
CONNECTION_LOST = "the connection was lost"
ALL_INSTRUMENTS, ONE_INSTRUMENT = "4", "0"
"""SecurityListRequestType(559)."""


class EngineSession(Protocol):
    """The session as the FIX engine runs it."""

    def send(self, message_type: str, body: str) -> object: ...
    def log_out(self, text: str) -> object: ...
    def allow_logons(self) -> object: ...


@dataclass(slots=True)
class Probe:
    """A TestRequest that was not answered yet, sent after so many bytes."""

    id: str
    sent: int
    at: float


class LiveSession:
    """What a logged-on session is sent; its thread waits for no other.

    There is no queue of book changes: whenever it may, the thread sends what leads
    from what the client has to where the books are. It may while less than
    WINDOW_BYTES are sent and not known to be read; answered TestRequests tell.
    """

    def __init__(
        self,
        admission: Admission,
        feed: Feed,
        pace: Pace,
        engine_session: EngineSession,
    ) -> None:
        self.admission = admission
        self.comp_id = admission.comp_id
        self.feed = feed
        self.pace = pace
        self.engine_session = engine_session
        self.allowance = Bucket(MESSAGES_BURST, settings.FIX_MESSAGES_PER_SECOND)
        self.since: datetime = timezone.now()
        self.heard_at: datetime = self.since
        self.messages_sent = 0
        self.ending = ""
        self.parting = CONNECTION_LOST
        self.subscriptions: dict[str, list[Subscription]] = {}
        self.answers: deque[Outgoing] = deque()
        # Their bytes, as the engine's thread and this session's count them.
        self.queued = self.answered = 0
        # Ids of what the partner has sent, for what it may send again (97=Y).
        self.seen: deque[tuple[str, str, str]] = deque(maxlen=SEEN)
        self.lock = Lock()
        self.end_lock = Lock()
        self.wake = Event()
        self.sent = self.acknowledged = 0
        self.probe: Probe | None = None
        self.is_probe_lost = False
        # Where sending stopped last; it goes on from there, so that all get their turn.
        self.turn = 0
        self.thread = Thread(target=self.run, name=f"FIX {self.comp_id}", daemon=True)

    # Called while the engine handles a message: these may not wait.

    def asks_for_market_data(self, request: MarketDataRequest) -> None:
        try:
            if request.action == END:
                self.unsubscribe(request.request_id)
            else:
                self.subscribe(request)
        except RequestRefused as refusal:
            text = request_reject(request.request_id, refusal.reason, str(refusal))
            self.answer("Y", [text])
        self.wake.set()

    def subscribe(self, request: MarketDataRequest) -> None:
        with self.lock:
            active = {one: len(several) for one, several in self.subscriptions.items()}
        books = books_asked_for(request, active, Directory(self.visible()))
        with self.lock:
            self.subscriptions[request.request_id] = [
                Subscription(request, book, self.pace, self.wake) for book in books
            ]

    def unsubscribe(self, request_id: str) -> None:
        with self.lock:
            ended = self.subscriptions.pop(request_id, None)
        if ended is None:
            raise RequestRefused("4", request_id)
        for subscription in ended:
            subscription.close()

    def asks_for_instruments(self, request_id: str, kind: str, named: Named) -> None:
        """Answer a SecurityListRequest; `kind` is its SecurityListRequestType(559)."""
        directory = Directory(self.visible())
        listed: list[LiveBook] = []
        if kind == ALL_INSTRUMENTS:
            listed = directory.listed()
        elif kind == ONE_INSTRUMENT:
            found = directory.find(named)
            listed = [found] if found else []
        result = FOUND if listed else NONE_FOUND
        if kind not in (ALL_INSTRUMENTS, ONE_INSTRUMENT):
            result = UNSUPPORTED
        response_id = secrets.token_hex(6)
        self.answer("y", security_list(request_id, response_id, result, listed))

    def asks_for_something_else(
        self, number: str, message_type: str, reference: str
    ) -> None:
        self.answer("j", [business_reject(number, message_type, reference)])

    def answers_test_request(self, test_request_id: str) -> bool:
        """Take a Heartbeat for an answer; whether it is the one that was due."""
        probe = self.probe
        if probe is None or probe.id != test_request_id:
            return False
        self.acknowledged = probe.sent
        self.probe = None
        self.wake.set()
        return True

    def misses_messages(self) -> None:
        """What a client has missed is not sent again: perhaps a TestRequest."""
        self.is_probe_lost = self.probe is not None
        self.wake.set()

    def hears(self) -> None:
        self.heard_at = timezone.now()

    def leaves(self, text: str) -> None:
        """The client has sent a Logout."""
        self.parting = f"logged out by the partner: {masked(text)}".removesuffix(": ")

    def counts(self) -> None:
        """Count a message of the client's; one too many ends the session."""
        if not self.allowance.take(1):
            per_second = settings.FIX_MESSAGES_PER_SECOND
            self.end(TOO_MANY_MESSAGES.format(per_second=per_second))

    def may_reset(self, flag: str, heartbeat: str) -> bool:
        """Whether a Logon within the session may start its numbers anew (141=Y).

        Whoever has the connection has been admitted. HeartBtInt(108) stays what the
        front has judged: the engine would take 0 and wait for nobody from then on.
        """
        return flag == "Y" and heartbeat == self.admission.heartbeat

    def has_seen(self, message_type: str, reference: str, action: str) -> bool:
        """Note a message by the id its sender gave it, if any; whether it came before.

        A MarketDataRequest's `action` is its SubscriptionRequestType(263).
        """
        seen = (message_type, reference, action)
        if seen in self.seen:
            return True
        if reference:
            self.seen.append(seen)
        return False

    def answer(self, message_type: str, bodies: Iterable[str]) -> None:
        """Queue an answer; one too many that the client does not read ends it."""
        if self.queued - self.answered > MOST_UNSENT_BYTES:
            self.end(TOO_MANY_ANSWERS)
            return
        for body in bodies:
            outgoing = Outgoing(message_type, body)
            self.queued += outgoing.size
            self.answers.append(outgoing)
        self.wake.set()

    def visible(self) -> list[LiveBook]:
        return [book for book in self.feed.books.values() if self.may_see(book)]

    def may_see(self, book: LiveBook) -> bool:
        return book.is_public or self.admission.caller.may_see(book.issuer_id)

    # Its beginning and end.

    def start(self) -> None:
        self.thread.start()

    def end(self, text: str) -> None:
        """Have the engine send a Logout; it follows within a second."""
        with self.end_lock:
            if self.ending:
                return
            self.ending = text
            self.engine_session.log_out(text)
        logger.warning("%s is logged out: %s", self.comp_id, text)
        self.wake.set()

    def gone(self) -> None:
        """The connection has ended."""
        with self.end_lock:
            self.ending = self.ending or self.parting
            # Logging a session out disables it for whoever comes next, too.
            self.engine_session.allow_logons()
        self.wake.set()
        with self.lock:
            ended = [one for several in self.subscriptions.values() for one in several]
            self.subscriptions = {}
        for subscription in ended:
            subscription.close()

    # The thread.

    def run(self) -> None:
        try:
            while not self.ending:
                self.wake.wait(self.patience())
                self.wake.clear()
                with self.pace.turn:
                    self.send_what_is_due()
        finally:
            # After an unforeseen error, nobody is to hold a book that stands still.
            self.end(INTERNAL_ERROR)

    def patience(self) -> float | None:
        """Seconds until a TestRequest must have been answered."""
        probe = self.probe
        if probe is None:
            return None
        return max(0.0, probe.at + CREDIT_SECONDS - monotonic())

    @property
    def may_send(self) -> bool:
        return not self.ending and self.sent - self.acknowledged < WINDOW_BYTES

    def send_what_is_due(self) -> None:
        if self.is_probe_lost:
            self.is_probe_lost = False
            self.demand_heartbeat()
        probe = self.probe
        if probe and monotonic() - probe.at >= CREDIT_SECONDS:
            self.end(SLOW_CONSUMER)
            return
        if self.is_probe_due:
            # What followed the answered one may fill the window by itself.
            self.demand_heartbeat()
        while self.answers and self.may_send:
            answer = self.answers.popleft()
            self.answered += answer.size
            self.send(answer)
        with self.lock:
            subscriptions = [
                one for several in self.subscriptions.values() for one in several
            ]
        turn = self.turn if self.turn < len(subscriptions) else 0
        self.turn = 0
        try:
            for subscription in subscriptions[turn:] + subscriptions[:turn]:
                if not self.may_see(subscription.watched.book):
                    self.hide(subscription)
                    continue
                while self.may_send and (due := subscription.next_message()):
                    if subscription.is_once:
                        # First: whoever has its answer may use the MDReqID again.
                        self.drop(subscription)
                    self.send(due)
                    if subscription.is_once:
                        break
                if not self.may_send:
                    self.turn = subscriptions.index(subscription)
                    break
        except TradesLost:
            self.end(TOO_MANY_TRADES)
            return
        unsent = sum(one.unsent_trades for one in subscriptions)
        if unsent > MOST_UNSENT_TRADES and not self.may_send:
            self.end(TOO_MANY_TRADES)

    def hide(self, subscription: Subscription) -> None:
        """End a subscription to a book that was hidden, or whose grant was taken."""
        logger.info(
            "%s may no longer see %s", self.comp_id, subscription.watched.book.symbol
        )
        self.drop(subscription)
        self.send(subscription.emptied())

    def drop(self, subscription: Subscription) -> None:
        with self.lock:
            several = self.subscriptions.get(subscription.request_id, [])
            if subscription not in several:
                return
            several.remove(subscription)
            if not several:
                del self.subscriptions[subscription.request_id]
        subscription.close()

    def send(self, outgoing: Outgoing) -> None:
        self.messages_sent += 1
        self.admission.numbering.send(
            lambda: self.engine_session.send(outgoing.type, outgoing.body),
            self.pace.turn,
        )
        self.sent += outgoing.size
        if self.is_probe_due:
            self.demand_heartbeat()

    @property
    def is_probe_due(self) -> bool:
        return self.probe is None and self.sent - self.acknowledged >= PROBE_BYTES

    def demand_heartbeat(self) -> None:
        self.probe = Probe(secrets.token_hex(4), self.sent, monotonic())
        self.send(Outgoing("1", f"112={self.probe.id}{SOH}"))
