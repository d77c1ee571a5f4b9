"""Reads the data that the market needs for a request, under locks in order.

The order is that of core/locks.md: books, ledgers, accounts with holders, cash. A dry
run of an order (`holds` is False) reads the same data by the same function, and locks
nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from operator import itemgetter
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db.models import DateTimeField

from issuers.register.ledger import Entry, Kind
from issuers.register.standing import standing_of
from issuers.register.writer import HOLDER, LockedLedger, Writer
from marketdata.books.collar import collar
from marketdata.books.log import MAX
from marketdata.trading.errors import NotTradable
from marketdata.trading.fees import OrderFees, Terms
from marketdata.trading.models import Order, row_of
from marketdata.trading.queues import BUY, SELL, Queues, Resting
from marketdata.trading.sessions import Session
from marketdata.trading.ticks import Ticks
from partnerapi.core.database import array_text, fetch
from partnerapi.core.errors import NotNow
from partnerapi.core.locks import lock


class MissingHolders(Exception):
    """Users who have no ledger account yet, as the first argument."""


@dataclass(slots=True)
class Book:
    """A market under the lock of its book's head, with its last numbers.

    `last_price` and `is_over` are read for orders only. `is_over`: it is in a call that
    no longer takes orders.
    """

    token_id: UUID
    source: str
    sequence: int
    snapshot: int
    trade: int
    phase: str
    next_phase: str | None
    next_phase_at: datetime | None
    opens: time
    closes: time
    weekdays_only: bool
    tick: int
    lot: int
    collar_bps: int
    reference: int | None
    event: int
    last_at: datetime
    holidays: frozenset[date]
    tick_floors: list[int]
    tick_steps: list[int]
    most_value: int | None
    most_units: int | None
    dynamic_band_bps: int
    model: str
    last_price: int | None = None
    is_over: bool = False

    @classmethod
    def of(cls, token_id: UUID, fields: Sequence[Any], more: Sequence[Any]) -> "Book":
        """`more` are parameters from JSON; the last, the fixings, are not kept."""
        holidays, *others, _ = more
        values: list[Any] = [*fields, frozenset(map(date.fromisoformat, holidays))]
        return cls(token_id, *values, *others)

    @property
    def band(self) -> tuple[int, int]:
        """The lowest and the highest price at which an order may trade, cents."""
        reference = self.reference or 0
        lowest, highest = collar(self.last_price or reference, self.dynamic_band_bps)
        floor, cap = collar(reference, self.collar_bps)
        return max(lowest, floor), min(highest, cap)

    @property
    def session(self) -> Session:
        return Session(self.opens, self.closes, self.weekdays_only, self.holidays)

    @property
    def ticks(self) -> Ticks:
        return Ticks(self.tick, self.tick_floors, self.tick_steps)


class Client(NamedTuple):
    """An account that sends orders, with the ids of its units and its cash."""

    account_id: UUID
    user_id: UUID
    partner_id: UUID
    status: str
    ledger_account: int
    cash_account: int
    is_blocked: bool


@dataclass(slots=True)
class Cash:
    balance: int = 0
    reserved: int = 0

    @property
    def available(self) -> int:
        return self.balance - self.reserved


@dataclass(slots=True)
class Seen:
    """What the requests of a call can reach in a market; `gone` have expired.

    `own` are the orders that the caller named, `tariffs` those of partners.
    """

    book: Book
    writer: Writer
    at: datetime
    clients: dict[UUID, Client] = field(default_factory=dict)
    cash: dict[int, Cash] = field(default_factory=lambda: defaultdict(Cash))
    queues: Queues = field(default_factory=Queues)
    reached: list[Order] = field(default_factory=list)
    gone: list[Order] = field(default_factory=list)
    own: list[Order] = field(default_factory=list)
    levels: dict[tuple[int, int], int] = field(default_factory=dict)
    used_ids: dict[tuple[UUID, str], UUID] = field(default_factory=dict)
    open_counts: dict[UUID, int] = field(default_factory=dict)
    tariffs: dict[UUID, Terms] = field(default_factory=dict)
    fees: dict[UUID, OrderFees] = field(default_factory=dict)


class Asked(Protocol):
    """What is read of a request."""

    @property
    def account_id(self) -> UUID: ...
    @property
    def side(self) -> int: ...
    @property
    def quantity(self) -> int: ...
    @property
    def limit_price(self) -> int: ...
    @property
    def client_order_id(self) -> str | None: ...


def read(
    token_id: UUID,
    requests: Sequence[Asked],
    most: int,
    reach: int,
    most_open: int,
    own: Sequence[UUID] = (),
    holds: bool = True,
) -> Seen:
    """Read what the requests can reach, in one statement, locked where it `holds`.

    At most `most` resting orders of each side are read, up to `reach` times the units
    of the requests: allow for orders that may not trade.

    Raises:
        NotTradable: the token is no internal market. MissingHolders
    """
    wanted = [0, 0]
    for request in requests:
        wanted[1 - request.side] += request.quantity * reach
    # A limit beyond what the database holds is refused once the market is known.
    limits = [min(r.limit_price, MAX) for r in requests]
    bids = [p for r, p in zip(requests, limits, strict=True) if r.side == BUY]
    asks = [p for r, p in zip(requests, limits, strict=True) if r.side == SELL]
    arguments = [
        token_id,
        array_text(r.account_id for r in requests),
        array_text(r.side for r in requests),
        array_text(limits),
        [r.client_order_id for r in requests],
        max(bids, default=0),
        min(asks, default=2**62),
        most,
        *wanted,
        array_text(own),
        most_open,
        holds,
    ]
    # It waits for the book: the write that follows is what the caller is billed for.
    found = (lock if holds else fetch)(READ, arguments, itemgetter(0))[0]
    if found is None:
        raise NotTradable("This token has no internal market.")
    if "settling" in found:
        raise NotNow.for_seconds(found["settling"])
    if "missing" in found:
        raise MissingHolders([UUID(user) for user in found["missing"]])
    return seen(token_id, found)


def seen(token_id: UUID, found: dict[str, Any]) -> Seen:
    head: list[Any] = found["head"]
    for place in (15, 18, 28):
        head[place] = datetime.fromisoformat(head[place])
    for place in (6, 27):
        head[place] = instant(head[place])
    for place in (7, 8):
        head[place] = time.fromisoformat(head[place])
    head[17] = UUID(head[17])
    of_book: Any = head[:16]
    of_ledger: Any = head[16:]
    book = Book.of(token_id, of_book, found["parameters"])
    book.last_price, book.is_over = found["last_price"], found["is_over"]
    ledger = LockedLedger(token_id, *of_ledger)
    writer = Writer([], "")
    writer.ledgers[token_id] = ledger
    for of_account, balance, reserved in found["units"] or ():
        # As of the client: one without an account in the ledger has account 0.
        account = of_account or 0
        ledger.balances[account] = balance
        writer.accounts[account] = (HOLDER, None, "")
        if reserved:
            ledger.reserved[account] = reserved
    for account, *bound in found["standings"] or ():
        bound[4] = instant(bound[4])
        ledger.standings[account] = standing_of(bound)
    all_seen = Seen(book, writer, max(ledger.now, book.last_at))
    blocked = found["blocked"] or ()
    for row in found["clients"]:
        account_id, user_id, partner_id, *rest = row
        is_blocked = account_id in blocked
        ids = UUID(account_id), UUID(user_id), UUID(partner_id)
        client = Client._make((*ids, *rest, is_blocked))
        all_seen.clients[client.account_id] = client
    all_seen.own = [order_of(row) for row in found["own"]]
    for row in found["makers"]:
        order = order_of(row)
        if order.is_over(all_seen.at):
            all_seen.gone.append(order)
        else:
            all_seen.queues.add(resting(order))
            all_seen.reached.append(order)
    for side, end in found["ends"].items():
        all_seen.queues.ends_at[int(side)] = end
    all_seen.cash = {a: Cash(*rest) for a, *rest in found["cash"] or ()}
    all_seen.levels = {(s, p): units for s, p, units in found["levels"] or ()}
    all_seen.used_ids = {
        (UUID(account), text): UUID(order)
        for account, text, order in found["used"] or ()
    }
    all_seen.open_counts = {UUID(a): count for a, count in found["open"] or ()}
    if found["fees"]:
        read_fees(all_seen, **found["fees"])
    return all_seen


def read_fees(
    all_seen: Seen, tariffs: list[list[Any]] | None, orders: list[list[Any]] | None
) -> None:
    """The tariffs that partners' orders get, and the fees of orders that have one."""
    for partner, *tariff in tariffs or ():
        all_seen.tariffs[UUID(partner)] = Terms(*tariff)
    for order, maker, taker, minimum, maximum, vat, *so_far in orders or ():
        kept = Terms(maker, taker, minimum, maximum, vat)
        all_seen.fees[UUID(order)] = OrderFees(kept, *so_far)


def books(token_ids: Collection[UUID]) -> dict[UUID, Book]:
    """The markets of these tokens. The heads of their books are locked by id.

    Raises:
        NotTradable: one of them is not an internal market.
    """
    rows = lock(LOCK_BOOKS, [sorted(token_ids)])
    own = [row for row in rows if row[1] == "OWN"]
    if len(own) < len(set(token_ids)):
        raise NotTradable("This token has no internal market.")
    return {id_: Book.of(id_, fields, more) for id_, *fields, more in own}


def load_holders(writer: Writer, token_id: UUID, accounts: Iterable[int]) -> None:
    """Read holders' units and restrictions; the holders are locked FOR SHARE, by id."""
    # The writer expects accounts of entries. Only the accounts matter here.
    writer.load(Entry(token_id, Kind.TRADE, 1, account) for account in accounts)


def resting(order: Order) -> Resting:
    return Resting(
        order.pk, order.user_id, order.side, order.limit_price, order.remaining
    )


def order_of(row: list[Any]) -> Order:
    """An order of a row of JSON."""
    for place in UUIDS:
        row[place] = UUID(row[place])
    for place in INSTANTS:
        row[place] = instant(row[place])
    return row_of(Order, dict(zip(COLUMNS, row, strict=True)))


def instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


COLUMNS = [column.attname for column in Order._meta.concrete_fields]
UUIDS = [
    place
    for place, column in enumerate(Order._meta.concrete_fields)
    if column.attname in ("id", "token_id", "account_id", "user_id", "partner_id")
]
INSTANTS = [
    place
    for place, column in enumerate(Order._meta.concrete_fields)
    if isinstance(column, DateTimeField)
]
LOCK_BOOKS = "SELECT * FROM trading_lock_markets(%s)"
READ = """
    SELECT trading_read(%s, %s::uuid[], %s::smallint[], %s::bigint[], %s::text[], %s,
        %s, %s, %s, %s, %s::uuid[], %s, %s)
"""
