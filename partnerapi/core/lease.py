"""A lease in the database: one of several processes works, and another waits for it."""

from os import getpid
from socket import gethostname

from partnerapi.core.database import execute, rows_of


class Lease:
    """The lease in the one row of `table`; it lasts for `seconds` unless renewed.

    It ends by the database's clock. Its holder may still work for a moment after the
    end: a lease saves work, and is no lock.
    """

    def __init__(self, table: str, seconds: float) -> None:
        self.holder = f"{gethostname()}:{getpid()}"
        self.taking = TAKE.format(table=table, seconds=seconds)
        self.releasing = RELEASE.format(table=table)

    def take(self) -> bool:
        """Take or renew it; whether this process has it."""
        return bool(rows_of(self.taking, [self.holder]))

    def release(self) -> None:
        """End it, if this process has it."""
        execute(self.releasing, [self.holder])


TAKE = """
    INSERT INTO {table} AS lease (id, holder, since, until)
    VALUES (1, %s, clock_timestamp(), clock_timestamp() + '{seconds} s')
    ON CONFLICT (id) DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until,
        since = CASE lease.holder WHEN EXCLUDED.holder THEN lease.since
            ELSE EXCLUDED.since END
    WHERE lease.holder = EXCLUDED.holder OR lease.until <= clock_timestamp()
    RETURNING id
"""
RELEASE = "UPDATE {table} SET until = clock_timestamp() WHERE holder = %s"
