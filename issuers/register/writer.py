"""The books that a writer of the register holds: locked heads, checked entries.

Only `ledger` uses a Writer; what it enters here is written by `flush`, in a constant
number of statements.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from issuers.models.tokens import MAX_UNITS, MAX_VALUE
from issuers.register.errors import (
    AccountNotAllowed,
    AmountNotPositive,
    AuthorizedUnitsExceeded,
    ClockSetBack,
    InsufficientBalance,
    PriceNegative,
    SupplyOverflow,
    UnknownToken,
    ValueOverflow,
)
from issuers.register.models import (
    LedgerAccount,
    LedgerTransaction,
)

Kind = LedgerTransaction.Kind


HOLDER, TREASURY = LedgerAccount.Kind.HOLDER, LedgerAccount.Kind.TREASURY


ALLOWED: dict[str, tuple[set[str | None], set[str | None]]] = {
    Kind.MINT: ({None}, {TREASURY, HOLDER}),
    Kind.ALLOCATE: ({TREASURY}, {HOLDER}),
    Kind.TRANSFER: ({HOLDER}, {HOLDER}),
    Kind.RETURN: ({HOLDER}, {TREASURY}),
    Kind.BURN: ({TREASURY, HOLDER}, {None}),
    Kind.FORCED_TRANSFER: ({HOLDER}, {HOLDER}),
    Kind.LEGACY_DELIVERY: ({TREASURY, None}, {HOLDER}),
    Kind.REVERSAL: ({TREASURY, HOLDER, None}, {TREASURY, HOLDER, None}),
}
"""From which kinds of accounts to which a kind of entry may move units."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Units to be made, moved or destroyed.

    `source` and `target` are ids of ledger accounts; None where units are made or
    destroyed. `at` is for `write_history` only.
    """

    token_id: UUID
    kind: str
    amount: int
    source: int | None = None
    target: int | None = None
    reason: str = ""
    legacy_shareholder_id: UUID | None = None
    reverses: int | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """A price to be recorded, in euro cents; `at` is for `write_history` only."""

    token_id: UUID
    price_cents: int
    source: str
    at: datetime | None = None


class Recorded(NamedTuple):
    """Where an entry or a price came to stand: its number and the time it has."""

    token_id: UUID
    number: int
    effective_at: datetime


@dataclass(slots=True)
class Book:
    """A token as its writer sees it under the lock; follows each entry."""

    token_id: UUID
    symbol: str
    issuer_id: UUID
    created_at: datetime
    authorized_units: int | None
    seq: int
    last_price: int
    supply: int
    held: int
    holders: int
    price_cents: int | None
    is_open: bool
    last_at: datetime | None
    clock: datetime
    balances: dict[int, int] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        """The time that was taken under the lock.

        Raises:
            ClockSetBack: it is before that of the last entry or price.
        """
        if self.last_at is not None and self.clock < self.last_at:
            raise ClockSetBack(self.symbol, self.last_at, self.clock)
        return self.clock

    def check_supply(self, supply: int) -> None:
        if supply > MAX_UNITS:
            raise SupplyOverflow(self.symbol, supply, MAX_UNITS)
        if self.authorized_units is not None and supply > self.authorized_units:
            raise AuthorizedUnitsExceeded(self.symbol, supply, self.authorized_units)
        self.check_value(supply, self.price_cents or 0)

    def check_value(self, supply: int, price_cents: int) -> None:
        if supply * price_cents > MAX_VALUE:
            raise ValueOverflow(self.symbol, supply, price_cents)


class Writer:
    """The tokens whose heads this transaction has locked, and what it is to write."""

    def __init__(self, token_ids: Iterable[UUID], actor: str) -> None:
        self.books: dict[UUID, Book] = {}
        self.hold(token_ids)
        self.actor = actor
        # Kind, issuer and name of each account that was met.
        self.accounts: dict[int, tuple[str, UUID | None, str]] = {}
        self.transactions: list[Sequence[Any]] = []
        self.prices: list[Sequence[Any]] = []

    def hold(self, token_ids: Iterable[UUID]) -> None:
        """Lock the heads of those tokens that are not among the books yet."""
        if new := set(token_ids) - self.books.keys():
            self.books |= {book.token_id: book for book in lock_books(new)}

    def load(self, entries: Iterable[Entry]) -> None:
        """Learn how the entries' accounts stand."""
        pairs = {
            (entry.token_id, account)
            for entry in entries
            for account in (entry.source, entry.target)
            if account is not None
            and account not in self.books[entry.token_id].balances
        }
        tokens, accounts = [t for t, _ in pairs], [a for _, a in pairs]
        with connection.cursor() as cursor:
            cursor.execute(STANDING, [tokens, accounts])
            rows = cursor.fetchall()
        for token_id, account, kind, issuer_id, name, balance in rows:
            if kind is not None:
                self.books[token_id].balances[account] = int(balance)
                self.accounts[account] = (kind, issuer_id, name)

    def enter(self, entry: Entry, at: datetime) -> Recorded:
        """Check an entry against the books, and have it written by `flush`.

        Raises:
            LedgerError: the rule that it breaks.
        """
        book = self.books[entry.token_id]
        amount, source, target = entry.amount, entry.source, entry.target
        if amount <= 0:
            raise AmountNotPositive(book.symbol, amount)
        self.check_accounts(entry, book)
        supply = book.supply + (source is None) * amount - (target is None) * amount
        if source is None:
            book.check_supply(supply)
        elif book.balances[source] < amount:
            name = self.accounts[source][2]
            raise InsufficientBalance(name, book.symbol, book.balances[source], amount)
        book.seq += 1
        for account, delta in ((source, -amount), (target, amount)):
            if account is None:
                continue
            before = book.balances[account]
            after = book.balances[account] = before + delta
            if self.accounts[account][0] == HOLDER:
                book.held += delta
                book.holders += (after > 0) - (before > 0)
        book.supply, book.last_at = supply, at
        self.transactions.append(
            (
                book.token_id, book.seq, entry.kind, source, target, amount, at,
                supply, book.held, book.holders, self.actor, entry.reason,
                entry.legacy_shareholder_id, entry.reverses,
            )
        )  # fmt: skip
        return Recorded(book.token_id, book.seq, at)

    def check_accounts(self, entry: Entry, book: Book) -> None:
        for account, kinds, way in zip(
            (entry.source, entry.target), ALLOWED[entry.kind], ("from", "to"),
            strict=True,
        ):  # fmt: skip
            if account is not None and account not in self.accounts:
                raise AccountNotAllowed(f"There is no ledger account {account}.")
            kind, issuer_id, name = (
                NOBODY if account is None else self.accounts[account]
            )
            if kind not in kinds:
                raise AccountNotAllowed(
                    f"{entry.kind} of {book.symbol} can not go {way} {name}: it goes "
                    f"{way} {' or '.join(PLACES[k] for k in PLACES if k in kinds)}."
                )
            if issuer_id is not None and issuer_id != book.issuer_id:
                raise AccountNotAllowed(f"{name} is not the treasury of {book.symbol}.")
        if entry.source == entry.target:
            raise AccountNotAllowed(
                f"{entry.kind} of {book.symbol}: name two different accounts."
            )

    def price(self, price: Price, at: datetime) -> Recorded:
        book, cents = self.books[price.token_id], price.price_cents
        if cents < 0:
            raise PriceNegative(book.symbol, cents)
        # A unit, too, has to be worth a number that fits.
        book.check_value(max(book.supply, 1), cents)
        book.last_price += 1
        book.price_cents, book.last_at = cents, at
        self.prices.append(
            (book.token_id, book.last_price, cents, price.source, at, self.actor)
        )
        return Recorded(book.token_id, book.last_price, at)

    def flush(self) -> None:
        for table, columns, rows in (
            ("issuers_ledgertransaction", TRANSACTION_COLUMNS, self.transactions),
            ("issuers_tokenprice", PRICE_COLUMNS, self.prices),
        ):
            if rows:
                copy(table, columns, rows)
                rows.clear()

    def discard(self) -> None:
        """Have nothing written of what was entered; the books go on from there."""
        self.transactions.clear()
        self.prices.clear()

    def open(self) -> None:
        """From now on the times of ledgers with entries or prices are the clock's."""
        closed = [
            book.token_id
            for book in self.books.values()
            if not book.is_open and (book.seq or book.last_price)
        ]
        if closed:
            with connection.cursor() as cursor:
                cursor.execute(OPEN, [closed])


def lock_books(token_ids: Iterable[UUID]) -> list[Book]:
    """Lock the heads of tokens, in the order of their ids.

    Raises:
        UnknownToken: one of them does not exist.
    """
    wanted = sorted(token_ids)
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [wanted])
        books = [book_of(row) for row in cursor]
    if len(books) < len(wanted):
        missing = set(wanted) - {book.token_id for book in books}
        raise UnknownToken(f"There is no token {', '.join(map(str, missing))}.")
    return books


def book_of(row: Sequence[Any]) -> Book:
    # PostgreSQL's numeric arrives as Decimal.
    values: Any = (int(v) if isinstance(v, Decimal) else v for v in row)
    return Book(*values)


def copy(table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
    statement = f"COPY {table} ({columns}) FROM STDIN"
    with connection.cursor() as cursor, cursor.copy(statement) as target:
        for row in rows:
            target.write_row(row)


NOBODY = (None, None, "nobody")


PLACES = {HOLDER: "a holder", TREASURY: "the treasury", None: "nobody"}


TRANSACTION_COLUMNS = (
    "token_id, seq, kind, source_id, target_id, amount, effective_at, supply_after,"
    " held_after, holders_after, actor, reason, legacy_shareholder_id, reverses"
)


PRICE_COLUMNS = "token_id, number, price_cents, source, effective_at, recorded_by"


LOCK = "SELECT * FROM register_hold(%s)"
OPEN = "SELECT register_open(%s)"


# Each account is looked up: where statistics are older than a large import, the planner
# would compare each with all.
STANDING = """
    SELECT w.token_id, w.account_id, a.kind, a.issuer_id,
        coalesce(holder.name, 'the treasury of ' || issuer.trading_name, ''),
        coalesce(b.balance, 0)
    FROM unnest(%s::uuid[], %s::bigint[]) AS w (token_id, account_id)
    LEFT JOIN LATERAL (
        SELECT * FROM issuers_ledgeraccount WHERE id = w.account_id LIMIT 1
    ) a ON TRUE
    LEFT JOIN LATERAL (
        SELECT trading_name FROM issuers_issuer WHERE id = a.issuer_id LIMIT 1
    ) issuer ON TRUE
    LEFT JOIN LATERAL (
        SELECT name FROM accounts_userholder WHERE id = a.holder_id LIMIT 1
    ) holder ON TRUE
    LEFT JOIN LATERAL (
        SELECT balance FROM issuers_holderbalance
        WHERE token_id = w.token_id AND account_id = w.account_id LIMIT 1
    ) b ON TRUE
"""
