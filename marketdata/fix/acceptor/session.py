"""A logged-on session, and the thread that sends to it."""

import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Protocol

from django.conf import settings
from django.utils import timezone

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.inquiries import (
    Inquiries,
    hidden_status,
    unsolicited_status,
)
from marketdata.fix.acceptor.logon import Admission
from marketdata.fix.acceptor.requests import (
    END,
    STREAM,
    MarketDataRequest,
    RequestRefused,
)
from marketdata.fix.acceptor.statuses import HIDDEN, is_fresh, status_of
from marketdata.fix.acceptor.subscriptions import (
    OutgoingMessage,
    Subscription,
    Subscriptions,
)
from marketdata.fix.acceptor.versions import TradesLost
from marketdata.fix.acceptor.watches import Reply, Watches
from marketdata.fix.acceptor.window import Window
from marketdata.fix.protocol.messages import OTHER, business_reject, request_reject
from marketdata.fix.protocol.rules import (
    INTERNAL_ERROR,
    MESSAGES_BURST,
    MOST_EARLY,
    MOST_UNSENT_BYTES,
    MOST_UNSENT_TRADES,
    REQUEST_ID_RULE,
    REQUEST_IDS,
    SLOW_CONSUMER,
    SOH,
    TOO_MANY_ANSWERS,
    TOO_MANY_EARLY,
    TOO_MANY_MESSAGES,
    TOO_MANY_TRADES,
    TOO_MANY_WATCHES,
)
from marketdata.fix.protocol.statuses import news
from marketdata.fix.protocol.wire import mask
from partnerapi.core.buckets import Bucket
from partnerapi.core.json_lines import logged_as, request_id

logger = logging.getLogger(__name__)

LOGOUT_SECONDS, TEST_SECONDS = 1.0, 2.0
"""How long the session's thread may take to send a Logout, and a TestRequest."""
CONNECTION_LOST = "the connection was lost"


class EngineSession(Protocol):
    """The session as the FIX engine runs it."""

    def send(self, message_type: str, body: str) -> Any: ...
    def number_of(self, message: Any) -> int: ...
    def log_out(self, text: str) -> object: ...
    def allow_logons(self) -> object: ...


class LiveSession:
    """Answers a client and sends it books, in its own independent thread.

    There is no queue of book changes. Whenever the window is open, the thread sends the
    difference between the client's books and the present books.
    """

    def __init__(
        self,
        admission: Admission,
        feed: Feed,
        conflation: Conflation,
        engine_session: EngineSession,
    ) -> None:
        self.admission = admission
        self.comp_id = admission.comp_id
        self.feed = feed
        self.conflation = conflation
        self.engine_session = engine_session
        self.since: datetime = timezone.now()
        self.heard_at: datetime = self.since
        self.messages_sent = 0
        self.rate = Bucket(MESSAGES_BURST, settings.FIX_MESSAGES_PER_SECOND)
        self.early = 0
        self.refused = ("", "")
        self.answers: deque[OutgoingMessage] = deque()
        # Bytes of answers: the engine's thread counts the queued bytes, the session's
        # thread the sent ones.
        self.queued = self.answered = 0
        self.wake = Event()
        self.subscriptions = Subscriptions(conflation, self.wake, admission.is_numbered)
        self.inquiries = Inquiries(feed, self.may_see)
        self.watches = Watches()
        # The first messages that the client missed, and those that follow the last.
        self.gaps: deque[tuple[int, int]] = deque()
        self.must_test, self.tested = Event(), Event()
        # The result of the last look, and whether something has changed since.
        self.seen: object = None
        self.has_news = False
        self.window = Window()
        self.logout_lock = Lock()
        self.logout_reason = ""
        self.is_cut = False
        self.disconnect_reason = CONNECTION_LOST
        self.thread = Thread(target=self.run, name=f"FIX {self.comp_id}", daemon=True)

    # The engine calls these methods while it handles a message. They may not wait.

    def on_message(self) -> None:
        self.heard_at = timezone.now()

    def charge_rate(self) -> None:
        """Charge a message of the client; one over the limit ends the session."""
        if not self.rate.take(1):
            per_second = settings.FIX_MESSAGES_PER_SECOND
            self.end(TOO_MANY_MESSAGES.format(per_second=per_second))

    def on_early(self) -> None:
        """Charge a message that the engine keeps until the earlier ones have come."""
        self.early += 1
        if self.early > MOST_EARLY:
            self.end(TOO_MANY_EARLY)
        self.charge_rate()

    def is_known(self, message_type: str, reference: str, action: str) -> bool:
        """Whether a repeated message (97=Y) was handled before.

        A MarketDataRequest has where its MDReqID(262) stands, unless its `action`,
        SubscriptionRequestType(263), ends that; another where it was refused last.
        """
        if message_type == "V":
            return action != END and reference in self.subscriptions.by_request
        return (message_type, reference) == self.refused

    def on_market_data_request(self, request: MarketDataRequest) -> None:
        try:
            if request.action == END:
                self.subscriptions.end(request.request_id)
            else:
                self.subscriptions.add(request, self.inquiries.directory())
        except RequestRefused as refusal:
            text = request_reject(request.request_id, refusal.reason, str(refusal))
            self.answer("Y", [text])
        self.wake.set()

    def on_inquiry(
        self, number: str, key: tuple[str, str], action: str, ask: Callable[[], Reply]
    ) -> None:
        """Answer a request of another type, and repeat when the answer changes.

        `key` is its type and id, `action` its SubscriptionRequestType(263), or "".
        """
        if action == END:
            self.watches.end(key)
            return
        if action == STREAM and self.watches.is_full(key):
            self.answer("j", [business_reject(number, *key, OTHER, TOO_MANY_WATCHES)])
            return
        reply = ask()
        self.answer(reply.type, reply.bodies)
        if action == STREAM:
            self.watches.keep(key, ask, reply)

    def on_unsupported_message(
        self, number: str, message_type: str, reference: str
    ) -> None:
        self.refused = message_type, reference
        self.answer("j", [business_reject(number, message_type, reference)])

    def on_bad_request_id(
        self, number: str, message_type: str, tag: int, request_id: str
    ) -> None:
        text = REQUEST_ID_RULE.format(field=f"{REQUEST_IDS[tag]}({tag})")
        reject = business_reject(number, message_type, request_id, OTHER, text)
        self.answer("j", [reject])

    def on_heartbeat(self, test_request_id: str) -> bool:
        """Whether it answers our open TestRequest."""
        is_answer = self.window.answer(test_request_id)
        if is_answer:
            self.wake.set()
        return is_answer

    def on_gap(self, first: int, following: int) -> None:
        """The client missed messages, by their MsgSeqNum(34).

        Instead, a W of each book and the trades of the gap are sent.
        """
        self.window.lose_probe()
        self.gaps.append((first, following))
        self.wake.set()

    def on_logout(self, text: str) -> None:
        """The client has sent a Logout."""
        reason = f"logged out by the partner: {mask(text)}"
        self.disconnect_reason = reason.removesuffix(": ")

    def answer(self, message_type: str, bodies: Iterable[str]) -> None:
        """Queue an answer; too many unread answers end the session."""
        if self.queued - self.answered > MOST_UNSENT_BYTES:
            self.end(TOO_MANY_ANSWERS)
            return
        for body in bodies:
            outgoing = OutgoingMessage(message_type, body)
            self.queued += outgoing.size
            self.answers.append(outgoing)
        self.wake.set()

    def may_see(self, book: LiveBook) -> bool:
        return book.is_public or self.admission.caller.may_see(book.issuer_id)

    def look(self) -> None:
        """Have instruments and states checked again after a possible change."""
        caller = self.admission.caller
        seen = is_fresh(self.feed.lag), self.feed.described, caller.granted_issuers
        if seen != self.seen:
            self.seen, self.has_news = seen, True
            self.wake.set()

    def test(self) -> None:
        """Send the client a TestRequest; returns once it was sent."""
        self.tested.clear()
        self.must_test.set()
        self.wake.set()
        self.tested.wait(TEST_SECONDS)

    def notify(self, headline: str, *lines: str) -> None:
        """Send a notice (B)."""
        self.answer("B", [news(headline, lines)])

    # The session's beginning and end.

    def start(self) -> None:
        self.thread.start()

    def end(self, text: str) -> None:
        """Have the engine send a Logout; it follows within a second."""
        with self.logout_lock:
            if self.logout_reason:
                return
            self.logout_reason = text
            self.engine_session.log_out(text)
        self.log_logout(text)
        self.wake.set()

    def end_now(self, text: str) -> None:
        """Send a Logout at once, before the connection is cut."""
        with self.logout_lock:
            if self.logout_reason:
                return
            self.logout_reason = text
            self.is_cut = True
        self.log_logout(text)
        self.wake.set()
        self.thread.join(LOGOUT_SECONDS)

    def log_logout(self, text: str) -> None:
        with logged_as(self.admission.request_id):
            logger.warning("%s is logged out: %s", self.comp_id, text)

    def on_disconnect(self) -> None:
        """The connection has ended."""
        with self.logout_lock:
            self.logout_reason = self.logout_reason or self.disconnect_reason
            # A logged-out session would also refuse the CompID's next Logon.
            self.engine_session.allow_logons()
        self.wake.set()
        self.subscriptions.close()

    # The session's thread.

    def run(self) -> None:
        request_id.set(self.admission.request_id)
        try:
            while not self.logout_reason:
                self.wake.wait(self.window.seconds_left(monotonic()))
                self.wake.clear()
                with self.conflation.send_lock:
                    self.send_what_is_due()
        finally:
            # After an unforeseen error, no client may keep a stale book.
            self.end(INTERNAL_ERROR)
            if self.is_cut:
                # Only the engine's threads can use its sockets.
                self.engine_session.send("5", f"58={self.logout_reason}{SOH}")

    @property
    def may_send(self) -> bool:
        return not self.logout_reason and not self.gaps and self.window.may_send

    def send_what_is_due(self) -> None:
        if self.window.is_probe_lost:
            self.send_probe()
        elif self.window.is_overdue(monotonic()):
            self.end(SLOW_CONSUMER)
            return
        elif self.window.is_probe_due:
            # The bytes after the answered TestRequest may already fill the window.
            self.send_probe()
        if self.must_test.is_set():
            self.must_test.clear()
            self.send(OutgoingMessage("1", f"112={secrets.token_hex(4)}{SOH}"))
            self.tested.set()
        if self.has_news:
            self.has_news = False
            self.tell_news()
        subscriptions = self.subscriptions.in_turn()
        # A client that reports a gap may then answer a TestRequest from behind it. So
        # what it had acknowledged counts once the gaps before that are known.
        acknowledged = self.window.acknowledged
        while self.gaps:
            gap = self.gaps.popleft()
            for subscription in subscriptions:
                subscription.lose(*gap)
        for subscription in subscriptions:
            subscription.forget_read(acknowledged)
        while self.answers and self.may_send:
            answer = self.answers.popleft()
            self.answered += answer.size
            self.send(answer)
        try:
            for subscription in subscriptions:
                if not self.may_see(subscription.watched.book):
                    self.hide(subscription)
                    continue
                self.send_book(subscription)
                if not self.may_send:
                    self.subscriptions.stopped_at = subscription
                    break
        except TradesLost:
            self.end(TOO_MANY_TRADES)
            return
        unsent = sum(one.unsent_trades for one in subscriptions)
        if unsent > MOST_UNSENT_TRADES and not self.window.may_send:
            self.end(TOO_MANY_TRADES)

    def send_book(self, subscription: Subscription) -> None:
        """Send a subscription's next messages, as far as the window allows.

        Raises:
            TradesLost
        """
        while self.may_send:
            before = subscription.known
            due = subscription.next_message() or subscription.bust_message()
            if due is None:
                return
            if subscription.is_once:
                # This goes first: after the answer the client may reuse the MDReqID.
                self.subscriptions.drop(subscription)
            sent = self.send(due)
            if subscription.known != before:
                number = self.engine_session.number_of(sent)
                subscription.note(number, before, self.window)
            if due.type == "W" and not subscription.is_emptied:
                self.tell_status(subscription)
            if subscription.is_once:
                return

    def tell_news(self) -> None:
        """Repeat answers that have changed, and send changed states."""
        for reply in self.watches.changed_replies():
            self.answer(reply.type, reply.bodies)
        for subscription in self.subscriptions.in_turn():
            book = subscription.watched.book
            if subscription.sent_status and self.may_see(book):
                status = status_of(book, True, self.feed.lag)
                if status != subscription.sent_status:
                    self.tell_status(subscription)

    def tell_status(self, subscription: Subscription) -> None:
        book = subscription.watched.book
        subscription.sent_status = status_of(book, True, self.feed.lag)
        body = unsolicited_status(book, subscription.sent_status)
        self.send(OutgoingMessage("f", body))

    def hide(self, subscription: Subscription) -> None:
        """End a subscription to a book that was hidden, or whose grant was ended."""
        symbol = subscription.name.symbol
        logger.info("%s may no longer see %s", self.comp_id, symbol)
        self.subscriptions.drop(subscription)
        self.send(subscription.empty_snapshot())
        status = hidden_status(subscription.name.identity)
        self.send(OutgoingMessage("f", status))
        self.notify(f"{symbol}: subscription ended", HIDDEN)

    def send(self, outgoing: OutgoingMessage) -> Any:
        """Send a message; returns the engine's result."""
        self.messages_sent += 1
        sent = self.engine_session.send(outgoing.type, outgoing.body)
        self.window.sent += outgoing.size
        if self.window.is_probe_due:
            self.send_probe()
        return sent

    def send_probe(self) -> None:
        test_request_id = self.window.new_probe(monotonic())
        self.send(OutgoingMessage("1", f"112={test_request_id}{SOH}"))
