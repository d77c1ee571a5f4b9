"""When keys were used last: noted by who reads them, written aside.

The digest of a key that an old pepper keyed is written anew aside, too.
A request with a key only reads, so that it is answered where nothing can be written.
"""

import threading
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db import Error, connection

from accounts.keys import peppers
from accounts.keys.asides import Aside
from accounts.keys.peppers import Digest

WRITE_SECONDS = 10.0
WRITE = """
    UPDATE accounts_apikey key SET last_used_at = used.at
    FROM unnest(%s::uuid[], %s::timestamptz[]) AS used (id, at)
    WHERE key.id = used.id
        AND (key.last_used_at < used.at - interval '1 minute') IS NOT FALSE
"""
MOVE = "SELECT accounts_move_keys(%s, %s::uuid[], %s::bytea[], %s::bytea[])"


class KeyUses:
    """The last use of each key that this process has seen, as far as it is not written.

    Thread-safe. A process that is killed loses what it has not written.
    """

    def __init__(self) -> None:
        self.noted: dict[UUID, datetime] = {}
        # What opens a key's digest as it was found, and its digests by all peppers.
        self.digests: dict[UUID, tuple[bytes, list[Digest]]] = {}
        self.lock = threading.Lock()
        self.aside = Aside(self.write_or_wait, WRITE_SECONDS)

    def note(self, key_id: UUID, at: datetime) -> None:
        with self.lock:
            self.noted[key_id] = at
        self.aside.noted()

    def note_digests(self, key_id: UUID, opening: bytes, digests: list[Digest]) -> None:
        with self.lock:
            self.digests[key_id] = opening, digests

    def write(self) -> None:
        """Write what was noted, at most once a minute for a key; one statement.

        Two more where peppers change, or a key's is not noted.

        Raises:
            django.db.Error: nothing was written, and it stays noted.
        """
        with self.lock:
            noted = dict(self.noted)
        if not noted:
            return
        with connection.cursor() as cursor:
            cursor.execute(WRITE, [list(noted), list(noted.values())])
        self.write_digests()
        with self.lock:
            for key_id, at in noted.items():
                # Another thread may have written it meanwhile.
                if self.noted.get(key_id) == at:
                    del self.noted[key_id]

    def write_digests(self) -> None:
        with self.lock:
            noted, self.digests = self.digests, {}
        if not noted:
            return
        position, pepper = peppers.current()
        if pepper is None or not peppers.binds(position):
            return
        openings = [opening for opening, _ in noted.values()]
        moved = [digests[position].digest for _, digests in noted.values()]
        with connection.cursor() as cursor:
            cursor.execute(MOVE, [pepper, list(noted), openings, moved])

    def write_or_wait(self) -> None:
        # Whoever asks for the database meanwhile says what is wrong with it.
        try:
            with suppress(Error):
                self.write()
        finally:
            connection.close()


uses = KeyUses()
