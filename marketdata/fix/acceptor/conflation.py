"""Gathers changes of books, and publishes versions of them at intervals."""

import asyncio
import math
from collections.abc import Collection
from uuid import UUID

from marketdata.books.feed import Feed, LiveBook
from marketdata.fix.acceptor.versions import Owner, WatchedBook, Watcher

STEPS = 3
"""Moments in an interval at which books may be published: books of the same moment are
sent together, and none waits long for its moment."""


class Conflation:
    """Publishes changed books, each at most once in `interval` seconds.

    With an interval of 0 every round of the feed publishes. A book's times of
    publication follow its first change, not the clock: a book that changes once per
    interval is published as often, and soon. All but `on_change` runs in `loop`.
    """

    def __init__(
        self, feed: Feed, interval: float, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.feed = feed
        self.step = interval / STEPS
        self.rest = STEPS if interval else 0
        self.loop = loop
        self.watched: dict[UUID, WatchedBook] = {}
        self.changed: set[WatchedBook] = set()
        self.next: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self.feed.subscribe(self.on_change)

    def watch(self, book: LiveBook, watcher: Watcher) -> WatchedBook:
        watched = self.watched.get(book.token_id)
        if watched is None:
            watched = self.watched[book.token_id] = WatchedBook(book)
        watched.watchers[watcher] = None
        return watched

    def unwatch(self, watched: WatchedBook, watcher: Watcher) -> None:
        del watched.watchers[watcher]
        if not watched.watchers:
            self.watched.pop(watched.book.token_id)
            self.changed.discard(watched)

    def on_change(self, books: Collection[LiveBook]) -> None:
        """The feed's thread calls this."""
        self.loop.call_soon_threadsafe(self.gather, books)

    def gather(self, books: Collection[LiveBook]) -> None:
        for book in books:
            watched = self.watched.get(book.token_id)
            # A token that came back has another book. The old one may be reported for
            # the last time together with it.
            if watched and (book.live or book is watched.book):
                watched.book = book
                self.changed.add(watched)
        self.publish_soon()

    def publish_soon(self) -> None:
        if not self.step:
            self.publish(0)
        elif self.changed and self.next is None:
            moment = math.ceil(self.loop.time() / self.step)
            self.next = self.loop.call_at(moment * self.step, self.publish, moment)

    def publish(self, moment: int) -> None:
        """Make versions of the due changed books, and have their watchers sent them."""
        self.next = None
        due = [watched for watched in self.changed if watched.due <= moment]
        self.changed.difference_update(due)
        owners: dict[Owner, list[Watcher]] = {}
        for watched in due:
            watched.publish()
            watched.due = moment + self.rest
            for watcher in watched.watchers:
                owners.setdefault(watcher.owner, []).append(watcher)
        for owner, watchers in owners.items():
            # The fault of one does not keep the others from theirs.
            self.loop.call_soon(owner.on_publication, watchers)
        if self.changed:
            self.next = self.loop.call_at(
                (moment + 1) * self.step, self.publish, moment + 1
            )
