"""Reads the data that the market needs for a request, under locks in order.

The order is that of core/locks.md: books, ledgers, accounts with holders, cash. A dry
run of an order (`holds` is False) reads the same data, and locks nothing.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, NamedTuple
from uuid import UUID

from accounts.cash.writer import lock_heads
from issuers.register.ledger import Entry, Kind
from issuers.register.writer import Writer, ledger_of
from marketdata.trading.errors import NotTradable
from marketdata.trading.models import Order
from marketdata.trading.queues import BUY, SELL, Queues, Resting
from marketdata.trading.sessions import Session
from partnerapi.core.database import fetch


class MissingHolders(Exception):
    """Users who have no ledger account yet, as the first argument."""


@dataclass(slots=True)
class Book:
    """A market under the lock of its book's head, with its last numbers."""

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

    @property
    def session(self) -> Session:
        return Session(self.opens, self.closes, self.weekdays_only)


class Client(NamedTuple):
    """An account that sends orders, with the ids of its units and its cash."""

    account_id: UUID
    user_id: UUID
    partner_id: UUID
    status: str
    ledger_account: int
    cash_account: int


@dataclass(slots=True)
class Cash:
    balance: int
    reserved: int

    @property
    def available(self) -> int:
        return self.balance - self.reserved


def books(token_ids: Collection[UUID], holds: bool = True) -> dict[UUID, Book]:
    """The markets of these tokens. The heads of their books are locked by id.

    Raises:
        NotTradable: one of them is not an internal market.
    """
    statement = LOCK_BOOKS if holds else READ_BOOKS
    rows = fetch(statement, [sorted(token_ids)], tuple)
    found = {row[0]: Book(*row) for row in rows}
    for token_id in token_ids:
        if token_id not in found or found[token_id].source != "OWN":
            raise NotTradable("This token has no internal market.")
    return found


def ledger_writer(token_ids: Collection[UUID], actor: str, holds: bool) -> Writer:
    """A writer of the tokens' ledgers, which are locked by id where it `holds`."""
    if holds:
        return Writer(token_ids, actor)
    writer = Writer([], actor, holds=False)
    rows = fetch(READ_LEDGERS, [list(token_ids)], tuple)
    writer.ledgers = {row[0]: ledger_of(row) for row in rows}
    return writer


def clients(
    account_ids: Iterable[UUID], at: datetime, holds: bool
) -> dict[UUID, Client]:
    """The accounts by id, FOR SHARE, as they are.

    An account that became ACTIVE after `at`, during the wait for its lock, keeps its
    earlier status: its actions now are dated before.

    Raises:
        MissingHolders
    """
    source = "accounts_share(%s)" if holds else "accounts_account"
    where = "" if holds else " WHERE a.id = ANY (%s)"
    wanted = [at, at, sorted(set(account_ids))]
    rows = fetch(CLIENTS.format(source, where), wanted, tuple)
    missing = [row[1] for row in rows if row[4] is None]
    if missing:
        raise MissingHolders(missing)
    return {row[0]: Client(*row) for row in rows}


def load_holders(writer: Writer, token_id: UUID, accounts: Iterable[int]) -> None:
    """Read holders' units and restrictions; the holders are locked FOR SHARE, by id."""
    # The writer expects accounts of entries. Only the accounts matter here.
    writer.load(Entry(token_id, Kind.TRADE, 1, account) for account in accounts)


def cash(accounts: Iterable[int], holds: bool) -> dict[int, Cash]:
    if holds:
        heads = lock_heads(accounts)
        return {n: Cash(head.balance, head.reserved) for n, head in heads.items()}
    rows = fetch(READ_CASH, [list(set(accounts))], tuple)
    return {account: Cash(balance, reserved) for account, balance, reserved in rows}


def open_orders(order_ids: Collection[UUID]) -> dict[UUID, Order]:
    """The OPEN orders among these, by id; the caller holds the book's head."""
    rows = fetch(OPEN_ORDERS, [list(order_ids)], order_of)
    return {order.pk: order for order in rows}


def makers(token_id: UUID, bid: int, ask: int, most: int) -> list[Order]:
    """Sells up to the limit `bid`, buys from `ask` on, `most` of each, best first."""
    return fetch(MAKERS, [token_id, bid, most, token_id, ask, most], order_of)


def queues_of(
    found: Sequence[Order], most: int, wanted: Sequence[int], at: datetime
) -> tuple[Queues, list[Order]]:
    """Queues of the orders in reach of this many units, by side; and these orders.

    `found` has at most `most` orders of each side. Expired orders are not in reach.
    """
    queues = Queues()
    reached: list[Order] = []
    for side in (BUY, SELL):
        own = [order for order in found if order.side == side]
        units, end = 0, None
        for order in own:
            if units >= wanted[side]:
                end = order.limit_price
                break
            if order.is_over(at):
                continue
            queues.add(resting(order))
            reached.append(order)
            units += order.remaining
        else:
            if len(own) == most:
                end = own[-1].limit_price
        queues.ends_at[side] = end
    return queues, reached


def resting(order: Order) -> Resting:
    return Resting(
        order.pk, order.user_id, order.side, order.limit_price, order.remaining
    )


def levels(token_id: UUID, places: Collection[tuple[int, int]]) -> dict[Any, int]:
    """Units of the book's levels by side and price; empty ones are left out."""
    sides, prices = [s for s, _ in places], [p for _, p in places]
    rows = fetch(LEVELS, [sides, prices, token_id], tuple)
    return {(side, price): quantity for side, price, quantity in rows}


def used_ids(pairs: Collection[tuple[UUID, str]]) -> dict[tuple[UUID, str], UUID]:
    """Orders that have these clientOrderIDs, by account and clientOrderID."""
    accounts, ids = [a for a, _ in pairs], [i for _, i in pairs]
    rows = fetch(USED_IDS, [accounts, ids], tuple)
    return {(account, text): order for account, text, order in rows}


def open_counts(token_id: UUID, account_ids: Iterable[UUID], most: int) -> Any:
    """How many open orders of the token each account has, `most` at most."""
    return dict(fetch(OPEN_COUNTS, [token_id, most, list(account_ids)], tuple))


def order_of(row: Sequence[Any]) -> Order:
    return Order.from_db("default", COLUMNS, row)


COLUMNS = [field.attname for field in Order._meta.concrete_fields]
LISTED = ", ".join(COLUMNS)

LOCK_BOOKS = "SELECT * FROM trading_lock(%s)"
READ_BOOKS = """
    SELECT h.token_id, h.source, h.last_sequence, h.last_snapshot, h.last_trade,
        m.phase, m.next_phase, m.next_phase_at, m.session_opens, m.session_closes,
        m.weekdays_only, m.tick_cents, m.lot_units, m.collar_bps, m.reference_price,
        m.last_event, m.last_at
    FROM marketdata_orderbookhead h JOIN trading_market m ON m.token_id = h.token_id
    WHERE h.token_id = ANY (%s)
"""
MAKERS = f"""
    (SELECT {LISTED} FROM trading_order
    WHERE token_id = %s AND side = 1 AND status = 'OPEN' AND limit_price <= %s
    ORDER BY limit_price, priority LIMIT %s)
    UNION ALL
    (SELECT {LISTED} FROM trading_order
    WHERE token_id = %s AND side = 0 AND status = 'OPEN' AND limit_price >= %s
    ORDER BY limit_price DESC, priority LIMIT %s)
"""
OPEN_ORDERS = f"""
    SELECT {LISTED} FROM trading_order
    WHERE id = ANY (%s) AND status = 'OPEN' ORDER BY priority
"""
CLIENTS = """
    SELECT a.id, a.user_id, a.partner_id,
        CASE WHEN a.status = 'ACTIVE' AND a.updated_at > %s THEN coalesce((
            SELECT h.status FROM accounts_accountstatuschange h
            WHERE h.account_id = a.id AND h.created_at <= %s
            ORDER BY h.number DESC LIMIT 1), 'PENDING') ELSE a.status END,
        l.id, c.id
    FROM {} a
    LEFT JOIN issuers_ledgeraccount l ON l.user_id = a.user_id
    JOIN accounts_cashaccount c ON c.account_id = a.id{}
"""
LEVELS = """
    SELECT l.side, l.price_cents, l.quantity
    FROM unnest(%s::smallint[], %s::bigint[]) AS w (side, price)
    JOIN marketdata_booklevel l
        ON l.token_id = %s AND l.side = w.side AND l.price_cents = w.price
"""
USED_IDS = """
    SELECT o.account_id, o.client_order_id, o.id
    FROM unnest(%s::uuid[], %s::text[]) AS w (account, used)
    JOIN trading_order o ON o.account_id = w.account AND o.client_order_id = w.used
"""
OPEN_COUNTS = """
    SELECT w.account, (SELECT count(*) FROM (
        SELECT FROM trading_order o WHERE o.account_id = w.account
            AND o.token_id = %s AND o.status = 'OPEN' LIMIT %s) o)
    FROM unnest(%s::uuid[]) AS w (account)
"""
READ_CASH = """
    SELECT cash_account_id, balance, reserved FROM accounts_cashhead
    WHERE cash_account_id = ANY (%s)
"""
READ_LEDGERS = """
    SELECT h.token_id, t.symbol, t.issuer_id, t.created_at, t.authorized_units,
        h.last_seq, h.last_price, h.supply, h.held, h.holder_count, h.price_cents,
        h.is_open, greatest(h.last_effective_at, h.last_price_at),
        greatest(h.last_effective_at, h.last_price_at, clock_timestamp())
    FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
    WHERE h.token_id = ANY (%s)
"""
