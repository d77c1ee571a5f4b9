"""Writes the register; nothing else does.

A writer locks the heads of its tokens, in the order of their ids, and reads the clock
only then: times never run backwards, and whoever reads the register at an instant
waits for the writers that may still enter something before it. How accounts stand is
known under the lock, so a batch of any length is checked here, entry by entry, and
written in a constant number of statements. The database checks it again.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from accounts.models import User, UserHolder
from issuers.ledger_errors import (
    AccountNotAllowed,
    AmountNotPositive,
    AuthorizedUnitsExceeded,
    InsufficientBalance,
    LedgerError,
    NotReversible,
    PriceNegative,
    SupplyOverflow,
    TimeRefused,
    TokenNotEmpty,
    UnknownToken,
    ValueOverflow,
)
from issuers.models.companies import Issuer
from issuers.models.register import (
    LedgerAccount,
    LedgerTransaction,
    TokenLedgerHead,
)
from issuers.models.shares import MAX_UNITS, MAX_VALUE

Kind = LedgerTransaction.Kind
HOLDER, TREASURY = LedgerAccount.Kind.HOLDER, LedgerAccount.Kind.TREASURY
HISTORY_BATCH = 5_000

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
    chain_reference: str | None = None
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
    balances: dict[int, int] = field(default_factory=dict)

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
        self.books = {book.token_id: book for book in lock_books(set(token_ids))}
        self.actor = actor
        # Kind, issuer and name of each account that was met.
        self.accounts: dict[int, tuple[str, UUID | None, str]] = {}
        self.transactions: list[Sequence[Any]] = []
        self.postings: list[Sequence[Any]] = []
        self.prices: list[Sequence[Any]] = []

    def load(self, entries: Iterable[Entry]) -> datetime:
        """Learn how the entries' accounts stand; the time, read under the locks."""
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
        for _, token_id, account, kind, issuer_id, name, balance in rows:
            if kind is not None:
                self.books[token_id].balances[account] = int(balance)
                self.accounts[account] = (kind, issuer_id, name)
        return rows[0][0]

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
        for leg, account, delta in ((1, source, -amount), (2, target, amount)):
            if account is None:
                continue
            before = book.balances[account]
            after = book.balances[account] = before + delta
            if self.accounts[account][0] == HOLDER:
                book.held += delta
                book.holders += (after > 0) - (before > 0)
            self.postings.append((book.token_id, book.seq, leg, account, delta, after))
        book.supply, book.last_at = supply, at
        self.transactions.append(
            (
                book.token_id, book.seq, entry.kind, source, target, amount, at,
                supply, book.held, book.holders, self.actor, entry.reason,
                entry.chain_reference, entry.legacy_shareholder_id, entry.reverses,
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
            ("issuers_ledgerposting", POSTING_COLUMNS, self.postings),
            ("issuers_tokenprice", PRICE_COLUMNS, self.prices),
        ):
            if rows:
                copy(table, columns, rows)
                rows.clear()

    def open(self) -> None:
        """From now on the times of these ledgers are the clock's."""
        closed = [book.token_id for book in self.books.values() if not book.is_open]
        if closed:
            TokenLedgerHead.objects.filter(token__in=closed).update(is_open=True)


def record(entries: Iterable[Entry], actor: str) -> list[Recorded]:
    """Enter a batch in its order, all of it or nothing, at the present instant.

    `actor` is who does it: a login or an e-mail address. Entries of one token have
    one time. A transaction around this one holds the tokens' ledgers until it ends.

    Raises:
        LedgerError: the rule that the first refused entry breaks.
    """
    entries = list(entries)
    if not entries:
        return []
    with transaction.atomic():
        writer = Writer((entry.token_id for entry in entries), actor)
        now = writer.load(entries)
        check_reversals(writer, entries)
        writer.open()
        at = {key: max(now, b.last_at or now) for key, b in writer.books.items()}
        recorded = [writer.enter(entry, at[entry.token_id]) for entry in entries]
        writer.flush()
    return recorded


def record_each(entries: Sequence[Entry], actor: str) -> list[Recorded | LedgerError]:
    """Enter those of a batch that the rules allow; for each what came of it."""
    if not entries:
        return []
    results: list[Recorded | LedgerError] = []
    with transaction.atomic():
        writer = Writer((entry.token_id for entry in entries), actor)
        now = writer.load(entries)
        writer.open()
        at = {key: max(now, b.last_at or now) for key, b in writer.books.items()}
        for entry in entries:
            try:
                results.append(writer.enter(entry, at[entry.token_id]))
            except LedgerError as error:
                results.append(error)
        writer.flush()
    return results


def set_price(token_id: UUID, price_cents: int, source: str, actor: str) -> Recorded:
    """Let a unit cost this many euro cents from the present instant on.

    Raises:
        LedgerError: a negative price, or one at which the supply is worth too much.
    """
    with transaction.atomic():
        writer = Writer([token_id], actor)
        now = writer.load([])
        writer.open()
        last_at = writer.books[token_id].last_at
        recorded = writer.price(
            Price(token_id, price_cents, source), max(now, last_at or now)
        )
        writer.flush()
    return recorded


def write_history(
    token_ids: Iterable[UUID],
    events: Iterable[Entry | Price],
    actor: str,
    follow: Callable[[int], object] = lambda done: None,
) -> int:
    """Write what happened before a token came here; how many events there were.

    The tokens must be empty: no entry, no price, never opened. `events` are theirs
    alone, each with its time `at`: not before the token's creation nor before the
    event ahead of it of the same token, and not in the future. They are read
    once, in batches, so they may be a generator; accounts come from
    `holder_accounts` and `treasury`. All is one transaction, after which the tokens
    are open and their times the clock's. `follow` is told how many events each
    batch had.

    Raises:
        LedgerError: what the first refused event breaks; nothing is written then.
    """
    written = 0
    with transaction.atomic():
        writer = Writer(token_ids, actor)
        for book in writer.books.values():
            if book.is_open or book.seq or book.last_price:
                raise TokenNotEmpty(book.symbol)
            book.last_at = book.created_at
        remaining = iter(events)
        while batch := list(islice(remaining, HISTORY_BATCH)):
            check_known(writer, batch)
            entries = [event for event in batch if isinstance(event, Entry)]
            now = writer.load(entries)
            for event in batch:
                at = check_time(writer.books[event.token_id], event, now)
                if isinstance(event, Entry):
                    writer.enter(event, at)
                else:
                    writer.price(event, at)
            writer.flush()
            written += len(batch)
            follow(len(batch))
        writer.open()
    return written


def check_known(writer: Writer, events: Iterable[Entry | Price]) -> None:
    for event in events:
        if event.token_id not in writer.books:
            raise UnknownToken(
                f"The history holds token {event.token_id}, which it was not to be of."
            )


def check_time(book: Book, event: Entry | Price, now: datetime) -> datetime:
    at = event.at
    if at is None or at > now:
        raise TimeRefused(f"An event of {book.symbol} has the time {at}; now is {now}.")
    if book.last_at is not None and at < book.last_at:
        raise TimeRefused(
            f"An event of {book.symbol} at {at} comes after one, or the token's "
            f"creation, at {book.last_at}; sort them by time."
        )
    return at


def check_reversals(writer: Writer, entries: Iterable[Entry]) -> None:
    """Let a reversal only undo, whole and once, an entry that is none itself."""
    for entry in entries:
        if entry.kind != Kind.REVERSAL:
            continue
        symbol = writer.books[entry.token_id].symbol
        undone = LedgerTransaction.objects.filter(
            token=entry.token_id, seq=entry.reverses or 0
        ).first()
        if undone is None or undone.kind == Kind.REVERSAL:
            raise NotReversible(
                f"{symbol} has no entry {entry.reverses} that could be reversed."
            )
        if LedgerTransaction.objects.filter(
            token=entry.token_id, reverses=entry.reverses
        ).exists():
            raise NotReversible(
                f"Entry {entry.reverses} of {symbol} was reversed before."
            )
        mirrored = (undone.target_id, undone.source_id, undone.amount)
        if (entry.source, entry.target, entry.amount) != mirrored:
            raise NotReversible(
                f"A reversal of entry {entry.reverses} of {symbol} moves its units "
                "back, all of them; `reversal_of` makes it."
            )


def reversal_of(undone: LedgerTransaction, reason: str) -> Entry:
    return Entry(
        undone.token_id,
        Kind.REVERSAL,
        int(undone.amount),
        source=undone.target_id,
        target=undone.source_id,
        reason=reason,
        reverses=undone.seq,
    )


def treasury(issuer: Issuer) -> int:
    """The ledger account of the issuer's treasury; made when it is first asked for."""
    account, _ = LedgerAccount.objects.get_or_create(
        issuer=issuer, defaults={"kind": TREASURY}
    )
    return account.pk


def holder_accounts(user_ids: Iterable[UUID]) -> dict[UUID, int]:
    """The ledger accounts of users, by the user; made, with profiles, where missing."""
    wanted = sorted(set(user_ids))
    found = dict(
        LedgerAccount.objects.filter(user__in=wanted).values_list("user_id", "id")
    )
    missing = [user_id for user_id in wanted if user_id not in found]
    if missing:
        with transaction.atomic(), connection.cursor() as cursor:
            profiled = UserHolder.objects.filter(user__in=missing)
            unknown = set(missing) - set(profiled.values_list("user_id", flat=True))
            UserHolder.objects.bulk_create(
                [
                    UserHolder(user=user, name=str(user))
                    for user in User.objects.filter(pk__in=unknown).order_by("pk")
                ],
                ignore_conflicts=True,
            )
            cursor.execute(OPEN_ACCOUNTS, [missing])
        found |= LedgerAccount.objects.filter(user__in=missing).values_list(
            "user_id", "id"
        )
    return found


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
    " held_after, holders_after, actor, reason, chain_reference,"
    " legacy_shareholder_id, reverses"
)
POSTING_COLUMNS = "token_id, seq, leg, account_id, delta, balance_after"
PRICE_COLUMNS = "token_id, number, price_cents, source, effective_at, recorded_by"
LOCK = """
    SELECT h.token_id, t.symbol, t.issuer_id, t.created_at, t.authorized_units,
        h.last_seq, h.last_price, h.supply, h.held, h.holder_count, h.price_cents,
        h.is_open, greatest(h.last_effective_at, h.last_price_at)
    FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
    WHERE h.token_id = ANY (%s) ORDER BY h.token_id FOR UPDATE OF h
"""
# One row at least, for the clock; later than LOCK's, which may have waited.
STANDING = """
    SELECT clock.now, w.token_id, w.account_id, a.kind, a.issuer_id,
        coalesce(holder.name, 'the treasury of ' || issuer.trading_name, ''),
        coalesce(b.balance, 0)
    FROM (SELECT clock_timestamp() AS now) clock
    LEFT JOIN unnest(%s::uuid[], %s::bigint[]) AS w (token_id, account_id) ON TRUE
    LEFT JOIN issuers_ledgeraccount a ON a.id = w.account_id
    LEFT JOIN issuers_issuer issuer ON issuer.id = a.issuer_id
    LEFT JOIN accounts_userholder holder ON holder.id = a.holder_id
    LEFT JOIN issuers_holderbalance b
        ON b.token_id = w.token_id AND b.account_id = w.account_id
"""
OPEN_ACCOUNTS = """
    INSERT INTO issuers_ledgeraccount (kind, holder_id, user_id)
    SELECT 'HOLDER', id, user_id FROM accounts_userholder
    WHERE user_id = ANY (%s) ORDER BY user_id
    ON CONFLICT DO NOTHING
"""
