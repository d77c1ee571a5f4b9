"""Gathers changes of books, and publishes versions of them at intervals."""

import math
from collections.abc import Collection
from threading import Event, Lock, Thread
from time import monotonic
from uuid import UUID

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.versions import WatchedBook, Watcher

STEPS = 3
"""Moments in an interval at which books may be published: books of the same moment are
sent together, and none waits long for its moment."""


class Conflation:
    """Publishes changed books, each at most once in `interval` seconds.

    With an interval of 0 every round of the feed publishes. A book's times of
    publication follow its first change, not the clock: a book that changes once per
    interval is published as often, and soon.
    """

    def __init__(self, feed: Feed, interval: float) -> None:
        self.feed = feed
        self.step = interval / STEPS
        self.rest = STEPS if interval else 0
        self.watched: dict[UUID, WatchedBook] = {}
        self.changed: set[WatchedBook] = set()
        # Held by the sending session: threads that send simultaneously would spend more
        # time on waking each other than on sending.
        self.send_lock = Lock()
        self.has_changes = Event()
        self.stopping = Event()
        self.lock = Lock()
        self.thread = Thread(target=self.run, name="FIX conflation", daemon=True)

    def start(self) -> None:
        self.feed.subscribe(self.on_change)
        self.thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self.has_changes.set()
        self.thread.join()

    def watch(self, book: LiveBook, watcher: Watcher) -> WatchedBook:
        with self.lock:
            watched = self.watched.get(book.token_id)
            if watched is None:
                watched = WatchedBook(book)
                self.watched[book.token_id] = watched
            watched.watchers.add(watcher)
        return watched

    def unwatch(self, watched: WatchedBook, watcher: Watcher) -> None:
        with self.lock:
            watched.watchers.remove(watcher)
            if not watched.watchers:
                self.watched.pop(watched.book.token_id)
                self.changed.discard(watched)

    def on_change(self, books: Collection[LiveBook]) -> None:
        """The feed's thread calls this."""
        with self.lock:
            for book in books:
                watched = self.watched.get(book.token_id)
                # A token that came back has another book. The old one may be reported
                # for the last time together with it.
                if watched and (book.live or book is watched.book):
                    watched.book = book
                    self.changed.add(watched)
            if self.changed and self.step:
                self.has_changes.set()
        if not self.step:
            # Another thread would only wait for this thread.
            self.publish(0)

    def run(self) -> None:
        # A publication may clear the event just after `stop` has set it.
        while not self.stopping.is_set():
            self.has_changes.wait()
            if self.stopping.is_set():
                return
            moment = math.ceil(monotonic() / self.step)
            self.stopping.wait(moment * self.step - monotonic())
            self.publish(moment)

    def publish(self, moment: int) -> None:
        """Make versions of the due changed books, and wake their watchers."""
        wakes: set[Event] = set()
        with self.lock:
            due = [watched for watched in self.changed if watched.due <= moment]
            self.changed.difference_update(due)
            if not self.changed:
                self.has_changes.clear()
            for watched in due:
                watched.publish()
                watched.due = moment + self.rest
                wakes.update(watcher.wake for watcher in watched.watchers)
        for wake in wakes:
            wake.set()
