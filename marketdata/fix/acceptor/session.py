"""A session: what it is asked, and what it sends, in the listener's thread."""

import asyncio
import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from typing import Protocol

from django.conf import settings
from django.utils import timezone

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.copies import DropCopy, ReportRequest
from marketdata.fix.acceptor.inquiries import (
    Inquiries,
    hidden_status,
    unsolicited_status,
)
from marketdata.fix.acceptor.logon import Admission
from marketdata.fix.acceptor.outbound import Outbound, as_text
from marketdata.fix.acceptor.requests import (
    END,
    STREAM,
    MarketDataRequest,
    RequestRefused,
)
from marketdata.fix.acceptor.standing_requests import Reply, StandingRequests
from marketdata.fix.acceptor.statuses import HIDDEN, is_fresh, status_of
from marketdata.fix.acceptor.subscriptions import (
    OutgoingMessage,
    Subscription,
    Subscriptions,
)
from marketdata.fix.acceptor.versions import TradesLost
from marketdata.fix.acceptor.window import Window
from marketdata.fix.protocol.messages import OTHER, business_reject, request_reject
from marketdata.fix.protocol.rules import (
    INTERNAL_ERROR,
    MESSAGES_BURST,
    MOST_EARLY,
    MOST_UNSENT_BYTES,
    MOST_UNSENT_TRADES,
    NO_ORDERS,
    READ_ONLY,
    REQUEST_ID_RULE,
    REQUEST_IDS,
    SLOW_CONSUMER,
    SOH,
    TOO_MANY_ANSWERS,
    TOO_MANY_EARLY,
    TOO_MANY_MESSAGES,
    TOO_MANY_STANDING,
    TOO_MANY_TRADES,
)
from marketdata.fix.protocol.statuses import news
from marketdata.fix.protocol.wire import mask
from partnerapi.core.buckets import Bucket
from partnerapi.core.json_lines import logged_as

logger = logging.getLogger(__name__)

CONNECTION_LOST = "the connection was lost"
SILENT = "silent: the partner sent nothing, and did not answer a TestRequest"


class EngineSession(Protocol):
    """The session as the FIX engine runs it."""

    @property
    def expected(self) -> int: ...
    def receive(self, message: bytes, number: int) -> object: ...
    def tick(self, number: int) -> object: ...
    def log_out(self, text: str) -> object: ...
    def disconnect(self) -> object: ...
    def allow_logons(self) -> object: ...


class LiveSession:
    """Answers a client and sends it books, in the listener's thread.

    There is no queue of book changes. Whenever the window is open, the session sends
    the difference between the client's books and the present books.
    """

    def __init__(
        self,
        admission: Admission,
        feed: Feed,
        conflation: Conflation,
        engine_session: EngineSession,
        outbound: Outbound,
    ) -> None:
        self.admission = admission
        self.comp_id = admission.comp_id
        self.feed = feed
        self.engine_session = engine_session
        self.outbound = outbound
        self.loop = asyncio.get_running_loop()
        self.since: datetime = timezone.now()
        self.heard_at: datetime = self.since
        self.messages_sent = 0
        self.rate = Bucket(MESSAGES_BURST, settings.FIX_MESSAGES_PER_SECOND)
        self.early = 0
        self.refused = ("", "")
        self.answers: deque[OutgoingMessage] = deque()
        # Bytes of answers that wait.
        self.queued = 0
        self.subscriptions = Subscriptions(conflation, self, admission.is_numbered)
        self.inquiries = Inquiries(feed, self.may_see)
        self.standing = StandingRequests()
        # Instead of market data.
        self.copy: DropCopy | None = None
        # The first messages that the client missed, and those that follow the last.
        self.gaps: deque[tuple[int, int]] = deque()
        # Whether a look at everything is about to happen, or the window ended one.
        self.is_woken = self.is_behind = False
        # The result of the last look, and whether something has changed since.
        self.seen: object = None
        self.has_news = False
        self.window = Window()
        self.is_logged_on = False
        self.ended = asyncio.Event()
        self.logout_reason = ""
        # Why it ends, unless the acceptor logs it out.
        self.end_reason = ""

    # From the connection.

    def receive(self, message: bytes) -> None:
        """Have the engine handle a whole message of the client."""
        self.outbound.log("<", message)
        is_early = number_of(message) > self.engine_session.expected
        self.engine_session.receive(message, self.outbound.number)
        if is_early and not self.ended.is_set():
            self.on_early()

    def tick(self) -> None:
        """Each second: what the engine sends by itself, and the client's silence."""
        if self.ended.is_set():
            return
        self.engine_session.tick(self.outbound.number)
        if self.window.is_overdue(monotonic()):
            self.end(SLOW_CONSUMER)
        elif not self.window.may_send and not self.logout_reason:
            unsent = sum(one.unsent_trades for one in self.subscriptions.all())
            if unsent > MOST_UNSENT_TRADES:
                self.end(TOO_MANY_TRADES)

    def pass_on(self, message: str) -> None:
        """Send what the engine has made."""
        self.outbound.pass_on(message)

    def disconnect(self, reason: str) -> None:
        """The connection has ended, or is to end."""
        if not self.ended.is_set():
            self.end_reason = self.end_reason or reason
            self.outbound.flush()
            self.engine_session.disconnect()

    # The engine calls these methods while it handles a message: what they cause to be
    # sent follows once it has handled it.

    def wake(self) -> None:
        """Look at all that is due, soon."""
        if not self.is_woken:
            self.is_woken = True
            self.loop.call_soon(self.send_what_is_due)

    def on_message(self) -> None:
        self.heard_at = timezone.now()

    def charge_rate(self) -> None:
        """Charge a message of the client; one over the limit ends the session."""
        if not self.rate.take(1):
            per_second = settings.FIX_MESSAGES_PER_SECOND
            self.end(TOO_MANY_MESSAGES.format(per_second=per_second))

    def on_reject(self, number: str, text: str) -> None:
        """The engine rejects a message of the client, which no other callback gets."""
        with logged_as(self.admission.request_id):
            logger.info("%s: message %s is rejected: %s", self.comp_id, number, text)
        self.charge_rate()

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
        self.wake()

    def on_inquiry(
        self, number: str, key: tuple[str, str], action: str, ask: Callable[[], Reply]
    ) -> None:
        """Answer a request of another type, and repeat when the answer changes.

        `key` is its type and id, `action` its SubscriptionRequestType(263), or "".
        """
        if action == END:
            self.standing.end(key)
            return
        if action == STREAM and self.standing.is_full(key):
            self.answer("j", [business_reject(number, *key, OTHER, TOO_MANY_STANDING)])
            return
        reply = ask()
        self.answer(reply.type, reply.bodies)
        if action == STREAM:
            self.standing.keep(key, ask, reply)

    def on_report_request(self, request: ReportRequest) -> None:
        assert self.copy
        self.copy.ask(request)

    def on_unsupported_message(
        self, number: str, message_type: str, reference: str
    ) -> None:
        self.refused = message_type, reference
        text = NO_ORDERS if self.copy else READ_ONLY
        self.answer("j", [business_reject(number, message_type, reference, text=text)])

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
            self.wake()
        return is_answer

    def on_gap(self, first: int, following: int) -> None:
        """The client missed messages, by their MsgSeqNum(34).

        Instead, a W of each book and the trades of the gap are sent, and the reports
        of a drop copy.
        """
        self.window.lose_probe()
        self.gaps.append((first, following))
        self.wake()

    def on_logout(self, text: str) -> None:
        """The client has sent a Logout."""
        self.end_reason = f"logged out by the partner: {mask(text)}".removesuffix(": ")

    def on_engine_logout(self, text: str) -> None:
        """The engine logs the client out, or answers its Logout; `text` may be ""."""
        reason = f"logged out by the engine: {text}".removesuffix(": ")
        self.end_reason = self.end_reason or reason

    def answer(self, message_type: str, bodies: Iterable[str]) -> None:
        """Queue an answer; too many unread answers end the session."""
        if self.queued > MOST_UNSENT_BYTES:
            self.end(TOO_MANY_ANSWERS)
            return
        for body in bodies:
            outgoing = OutgoingMessage(message_type, as_text(body))
            self.queued += len(outgoing.body.data)
            self.answers.append(outgoing)
        self.wake()

    def may_see(self, book: LiveBook) -> bool:
        return book.is_public or self.admission.caller.may_see(book.issuer_id)

    def look(self) -> None:
        """Have instruments and states checked again after a possible change."""
        caller = self.admission.caller
        seen = is_fresh(self.feed.lag), self.feed.described, caller.granted_issuers
        if seen != self.seen:
            self.seen, self.has_news = seen, True
            self.wake()

    def test(self) -> None:
        """Send the client a TestRequest, unless the session has ended."""
        if not self.ended.is_set():
            test_request = as_text(f"112={secrets.token_hex(4)}{SOH}")
            self.send(OutgoingMessage("1", test_request))

    def notify(self, headline: str, *lines: str) -> None:
        """Send a notice (B)."""
        self.answer("B", [news(headline, lines)])

    # The session's end.

    def end(self, text: str) -> None:
        """Have the engine send a Logout."""
        if self.logout_reason:
            return
        self.logout_reason = text
        self.engine_session.log_out(text)
        with logged_as(self.admission.request_id):
            logger.warning("%s is logged out: %s", self.comp_id, text)
        self.loop.call_soon(self.tick)

    def end_now(self, text: str) -> None:
        """Send a Logout at once, and free the CompID."""
        self.end(text)
        self.tick()
        self.disconnect(text)

    def on_disconnect(self) -> None:
        """The engine's session has ended."""
        # Only a client that was silent for too long is disconnected without a Logout.
        self.logout_reason = self.logout_reason or self.end_reason or SILENT
        # A logged-out session would also refuse the CompID's next Logon.
        self.engine_session.allow_logons()
        self.subscriptions.close()
        if self.copy:
            self.copy.close()
        self.ended.set()

    # What is sent.

    @property
    def may_send(self) -> bool:
        return not self.logout_reason and not self.gaps and self.window.may_send

    def on_publication(self, watchers: list[Subscription]) -> None:
        """Send the new versions of these books."""
        if self.is_behind or self.is_woken:
            # All are looked at when the client has read more.
            return
        with self.never_stale():
            self.send_books(watchers)

    def send_what_is_due(self) -> None:
        self.is_woken = False
        if self.logout_reason or not self.is_logged_on:
            return
        with self.never_stale():
            self.send_all()

    @contextmanager
    def never_stale(self) -> Iterator[None]:
        """After an unforeseen error, no client may keep a stale book."""
        is_done = False
        try:
            yield
            is_done = True
        finally:
            if not is_done:
                self.end(INTERNAL_ERROR)

    def send_all(self) -> None:
        if self.window.is_probe_lost:
            self.send_probe()
        elif self.window.is_probe_due:
            # The bytes after the answered TestRequest may already fill the window.
            self.send_probe()
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
            if self.copy:
                self.copy.lose(*gap)
        for subscription in subscriptions:
            subscription.forget_read(acknowledged)
        while self.answers and self.may_send:
            answer = self.answers.popleft()
            self.queued -= len(answer.body.data)
            self.send(answer)
        self.is_behind = False
        if self.copy:
            self.send_reports(self.copy, acknowledged)
        self.send_books(subscriptions)

    def send_books(self, subscriptions: Iterable[Subscription]) -> None:
        """Send what these need, as far as the window allows."""
        try:
            for subscription in subscriptions:
                if not self.may_send:
                    self.is_behind = True
                    self.subscriptions.stopped_at = subscription
                    break
                if self.may_see(subscription.watched.book):
                    self.send_book(subscription)
                else:
                    self.hide(subscription)
        except TradesLost:
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
            number = self.outbound.number
            self.send(due)
            if subscription.known != before:
                subscription.note(number, before, self.window)
            if due.type == "W" and not subscription.is_emptied:
                self.tell_status(subscription)
            if subscription.is_once:
                return

    def send_reports(self, copy: DropCopy, acknowledged: int) -> None:
        """Send the reports that are ready, as far as the window allows."""
        copy.forget_read(acknowledged)
        while self.may_send and (report := copy.next_report()):
            number = self.outbound.number
            self.send(OutgoingMessage("8", *report))
            copy.note(number, self.window.sent)

    def tell_news(self) -> None:
        """Repeat answers that have changed, and send changed states."""
        for reply in self.standing.changed_replies():
            self.answer(reply.type, reply.bodies)
        for subscription in self.subscriptions.in_turn():
            if subscription.sent_status and self.may_see(subscription.watched.book):
                self.tell_status(subscription)

    def tell_status(self, subscription: Subscription) -> None:
        """Send the state (f) of a book, unless the client knows it."""
        book = subscription.watched.book
        status = status_of(book, True, self.feed.lag)
        if status != subscription.sent_status:
            subscription.sent_status = status
            body = unsolicited_status(book, status)
            self.send(OutgoingMessage("f", as_text(body)))

    def hide(self, subscription: Subscription) -> None:
        """End a subscription to a book that was hidden, or whose grant was ended."""
        symbol = subscription.name.symbol
        logger.info("%s may no longer see %s", self.comp_id, symbol)
        self.subscriptions.drop(subscription)
        self.send(subscription.empty_refresh())
        status = hidden_status(subscription.name.identity)
        self.send(OutgoingMessage("f", as_text(status)))
        self.notify(f"{symbol}: subscription ended", HIDDEN)

    def send(self, outgoing: OutgoingMessage) -> None:
        self.messages_sent += 1
        self.window.sent += self.outbound.send(*outgoing)
        if self.window.is_probe_due:
            self.send_probe()

    def send_probe(self) -> None:
        test_request_id = self.window.new_probe(monotonic())
        self.send(OutgoingMessage("1", as_text(f"112={test_request_id}{SOH}")))


def number_of(message: bytes) -> int:
    """MsgSeqNum(34); 0 if it has other characters than digits, or more than 19."""
    number = message.partition(b"\x0134=")[2].partition(b"\x01")[0]
    return int(number) if number.isdigit() and len(number) < 20 else 0
