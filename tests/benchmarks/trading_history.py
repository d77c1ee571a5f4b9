"""A market's past: as many orders and trades as are asked for, of a few real ones."""

from typing import Any
from uuid import UUID

ORDER = (
    "(lpad(to_hex(1700000000000 + {0}), 12, '0') || '70008000'"
    " || lpad(to_hex({0}), 12, '0'))::uuid"
)
"""The id of an order of the past, by its number from 0."""
HEADS = {
    "trading_market": ("last_event", 3),
    "marketdata_orderbookhead": ("last_trade", 1),
    "issuers_tokenledgerhead": ("last_seq", 1),
}
"""By the table of a token's heads, the last number, and how many of it a trade has."""


def add_history(token_id: UUID, trades: int) -> None:
    """Load so many orders, and as many trades between them, into a market's past.

    The rows are the market's own ones, over and over, as the owner writes them past
    the triggers: balances, levels and digests do not know of them.
    """
    from tests.owner import as_owner

    with as_owner():
        past = Past(token_id, trades)
        past.load()
        past.analyze()


class Past:
    def __init__(self, token_id: UUID, trades: int) -> None:
        self.token, self.trades = token_id, trades
        self.of_token = f"token_id = '{token_id}'"
        self.changed: list[str] = []

    def load(self) -> None:
        from tests.issuers.events import COUNT_EVENTS

        of, trades = self.of_token, self.trades
        event = self.last("trading_market", "last_event")
        trade = self.last("marketdata_orderbookhead", "last_trade")
        change = self.last("marketdata_orderbookhead", "last_sequence")
        entry = self.last("issuers_tokenledgerhead", "last_seq")
        price = self.last("issuers_tokenledgerhead", "last_price")
        cash = self.one("SELECT max(id) FROM accounts_cashtransaction")
        told = self.one("SELECT max(last_sequence) FROM issuers_eventhead")
        posting = self.one("SELECT max(last_number) FROM accounts_cashhead")
        kinds = "('ORDER_ACCEPTED', 'ORDER_TRADED')"
        orders = self.one("SELECT count(*) FROM trading_order")
        own = ORDER.format(f"({orders} + n - 1)")
        order = ORDER.format(f"({orders} + n % {trades})")
        self.multiply(
            "trading_order", f"{of} AND status = 'FILLED'", trades,
            id=own, priority=f"{event} + n",
            last_event=f"{event} + n", created_at=self.ago("created_at"),
        )  # fmt: skip
        self.multiply(
            "trading_orderevent", f"{of} AND kind IN {kinds}", 3 * trades,
            number=f"{event} + n", order_id=order, at=self.ago("at"),
        )  # fmt: skip
        self.multiply(
            "trading_execution", of, trades, sequence=f"{trade} + n",
            ledger_seq=f"{entry} + n", cash_transaction=f"{cash} + n",
            event=f"{event} + 3 * n", buy_order_id=own,
            sell_order_id=order, at=self.ago("at"),
        )  # fmt: skip
        self.multiply("marketdata_trade", of, trades, sequence=f"{trade} + n")
        self.multiply("marketdata_bookchange", of, 2 * trades, sequence=f"{change} + n")
        self.multiply(
            "issuers_ledgertransaction", f"{of} AND kind = 'TRADE'", trades,
            seq=f"{entry} + n",
        )  # fmt: skip
        for leg in (1, 2):
            self.multiply(
                "issuers_ledgerposting", f"{of} AND leg = {leg}", trades,
                seq=f"{entry} + n",
            )  # fmt: skip
        self.multiply(
            "issuers_tokenprice", of, trades, number=f"{price} + n",
            effective_at=self.ago("effective_at"),
        )  # fmt: skip
        self.multiply(
            "accounts_cashtransaction", "kind = 'TRADE'", trades, id=f"{cash} + n"
        )
        self.multiply(
            "accounts_cashposting", "delta < 0", 2 * trades, number=f"{posting} + n",
            transaction_id=f"{cash} + (n + 1) / 2",
        )  # fmt: skip
        self.multiply(
            "issuers_event", f"{of} AND order_event IS NOT NULL", 3 * trades,
            id="gen_random_uuid()", sequence=f"{told} + n",
            order_event=f"{event} + n", subject_id=order,
        )  # fmt: skip
        for table, (column, each) in HEADS.items():
            self.run(
                f"UPDATE {table} SET {column} = {column} + {each * trades} WHERE {of}"
            )
        self.run(
            "UPDATE marketdata_orderbookhead SET last_sequence = last_sequence"
            f" + {2 * trades}, last_snapshot = last_snapshot + {2 * trades} WHERE {of}",
            "UPDATE issuers_tokenledgerhead SET last_price = last_price"
            f" + {trades} WHERE {of}",
            f"UPDATE accounts_cashhead SET last_number = {posting + 2 * trades}",
            f"UPDATE issuers_eventhead SET last_sequence = {told + 3 * trades}",
            COUNT_EVENTS,
            "SELECT setval(pg_get_serial_sequence('accounts_cashtransaction', 'id'),"
            f" {cash + trades})",
        )

    def last(self, table: str, column: str) -> int:
        return self.one(f"SELECT {column} FROM {table} WHERE {self.of_token}")

    def ago(self, column: str) -> str:
        return f"t.{column} - interval '1 ms' * (3 * {self.trades} - n)"

    def multiply(self, table: str, where: str, rows: int, **values: str) -> None:
        """Write so many rows like those that are there; of each some values are others.

        `values` are SQL, in which `t` is the row that is there, and `n` counts from 1.
        """
        columns = self.rows(
            "SELECT column_name FROM information_schema.columns"
            f" WHERE table_name = '{table}' AND is_generated = 'NEVER'"
        )
        names = [name for (name,) in columns]
        chosen = ", ".join(values.get(name, f"t.{name}") for name in names)
        indexes = self.rows(
            "SELECT i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid)"
            f" FROM pg_index i WHERE i.indrelid = '{table}'::regclass AND NOT EXISTS ("
            "SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)"
        )
        self.run(*(f"DROP INDEX {name}" for name, _ in indexes))
        places = self.one(f"SELECT count(*) FROM {table} WHERE {where}")
        self.run(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {chosen} FROM ("
            f"SELECT *, row_number() OVER () - 1 AS place FROM {table} WHERE {where}) t"
            f" JOIN generate_series(1::bigint, {rows}) n ON t.place = n % {places}"
        )
        self.run(*(definition for _, definition in indexes))
        self.changed.append(table)

    def analyze(self) -> None:
        self.run(*(f"VACUUM ANALYZE {table}" for table in self.changed))

    def one(self, statement: str) -> int:
        [(found,)] = self.rows(statement)
        return int(found)

    def rows(self, statement: str) -> list[Any]:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def run(self, *statements: str) -> None:
        from django.db import connection

        with connection.cursor() as cursor:
            cursor.execute("SET maintenance_work_mem = '256MB'")
            for statement in statements:
                cursor.execute(statement)
