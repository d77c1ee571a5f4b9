"""Django's PostgreSQL backend with a check of kept connections that asks nobody."""

import select

from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        """Whether statements can be sent; each request asks before its first.

        A server says nothing unasked while all is well, so that something to read is
        the connection's end, or a notice: only then is a statement sent to find out.
        """
        if self.connection.closed or self.connection.broken:
            return False
        if self.connection.info.transaction_status is TransactionStatus.INERROR:
            return False
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN | select.POLLERR)
        return not poll.poll(0) or super().is_usable()
