"""The last use of keys: noted when they are read, written in the background.

The digest of a key that an old pepper keyed is rewritten in the background, too. A
request with a key only reads, so it is answered even if the database is read-only.
"""

import threading
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db import Error, connection

from accounts.keys import peppers
from accounts.keys.asides import Aside
from accounts.keys.peppers import Digest
from partnerapi.core.database import execute

WRITE_SECONDS = 10.0
WRITE = """
    UPDATE accounts_apikey key SET last_used_at = used.at
    FROM unnest(%s::uuid[], %s::timestamptz[]) AS used (id, at)
    WHERE key.id = used.id
        AND (key.last_used_at < used.at - interval '1 minute') IS NOT FALSE
"""
MOVE = "SELECT accounts_move_keys(%s, %s::uuid[], %s::bytea[], %s::bytea[])"


class KeyUses:
    """The unwritten last use of each key that this process has seen.

    Thread-safe. A process that is killed loses its unwritten notes.
    """

    def __init__(self) -> None:
        self.noted: dict[UUID, datetime] = {}
        # The opening of a key's stored digest, and its digests by all peppers.
        self.digests: dict[UUID, tuple[bytes, list[Digest]]] = {}
        self.lock = threading.Lock()
        self.aside = Aside(self.write_or_wait, WRITE_SECONDS)

    def note(self, key_id: UUID, at: datetime) -> None:
        with self.lock:
            self.noted[key_id] = at
        self.aside.start_writer()

    def note_digests(self, key_id: UUID, opening: bytes, digests: list[Digest]) -> None:
        with self.lock:
            self.digests[key_id] = opening, digests

    def write(self) -> None:
        """Write the notes, at most once a minute for a key; one statement.

        Two more statements where peppers change, or a key's pepper is not recorded.

        Raises:
            django.db.Error: nothing was written; the notes stay.
        """
        with self.lock:
            noted = dict(self.noted)
        if not noted:
            return
        execute(WRITE, [list(noted), list(noted.values())])
        self.write_digests()
        with self.lock:
            for key_id, at in noted.items():
                # Another thread may have written the note meanwhile.
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
        execute(MOVE, [pepper, list(noted), openings, moved])

    def write_or_wait(self) -> None:
        # Callers that need the database report what is wrong with it.
        try:
            with suppress(Error):
                self.write()
        finally:
            connection.close()


uses = KeyUses()
