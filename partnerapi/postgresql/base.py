"""Django's PostgreSQL backend with a check of kept connections that asks nobody."""

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """Whether the connection still stands; each request asks before its first use.

        A server says nothing unasked while all is well, so that something to read is
        the connection's end, or a notice: only then is a statement sent to find out.
        """
        if self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN | select.POLLERR)
        return not poll.poll(0) or super().is_usable()
