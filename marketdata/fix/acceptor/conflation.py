"""When the states of books become editions."""

import math
from collections.abc import Collection
from threading import Event, Lock, Thread
from time import monotonic
from uuid import UUID

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.versions import BookByMessage, WatchedBook, Watcher

STEPS = 3
"""Moments in an interval at which books may be published: what falls together is sent
together, and none waits long for its moment."""


class Pace:
    """Publishes what the feed changed: a book at most once in `interval` seconds.

    With an interval of 0 every message of a log is an edition. The moments of a book
    follow its first change, not the clock: one that changes as often as it may be
    published is published as often, and soon.
    """

    def __init__(self, feed: Feed, interval: float) -> None:
        self.feed = feed
        self.step = interval / STEPS
        self.rest = STEPS if interval else 0
        self.watched: dict[UUID, WatchedBook] = {}
        self.changed: set[WatchedBook] = set()
        # Of the session that sends. Threads that send at once would spend more time
        # on waking each other than on sending.
        self.turn = Lock()
        self.has_changes = Event()
        self.stopping = Event()
        self.lock = Lock()
        self.thread = Thread(target=self.run, name="FIX pace", daemon=True)

    def start(self) -> None:
        self.feed.listen(self.heard)
        self.thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self.has_changes.set()
        self.thread.join()

    def watch(self, book: LiveBook, watcher: Watcher) -> WatchedBook:
        with self.lock:
            watched = self.watched.get(book.token_id)
            if watched is None:
                watched = (WatchedBook if self.step else BookByMessage)(book)
                self.watched[book.token_id] = watched
            watched.watchers.add(watcher)
            watched.ladders_needed += watcher.needs_ladders
        return watched

    def unwatch(self, watched: WatchedBook, watcher: Watcher) -> None:
        with self.lock:
            watched.watchers.remove(watcher)
            watched.ladders_needed -= watcher.needs_ladders
            if not watched.watchers:
                self.watched.pop(watched.book.token_id)
                self.changed.discard(watched)

    def heard(self, books: Collection[LiveBook]) -> None:
        """Called on the feed's thread."""
        with self.lock:
            for book in books:
                watched = self.watched.get(book.token_id)
                # A token that came back has another book; the old one may be last
                # heard of together with it.
                if watched and (book.live or book is watched.book):
                    watched.book = book
                    self.changed.add(watched)
            if self.changed and self.step:
                self.has_changes.set()
        if not self.step:
            # A thread more would only wait for this one.
            self.publish(0)

    def run(self) -> None:
        # The end may be told just before a publication takes the event back.
        while not self.stopping.is_set():
            self.has_changes.wait()
            if self.stopping.is_set():
                return
            moment = math.ceil(monotonic() / self.step)
            self.stopping.wait(moment * self.step - monotonic())
            self.publish(moment)

    def publish(self, moment: int) -> None:
        """Make editions of the changed books that are due, and wake who watches."""
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
