"""Writes the register; nothing else does.

A writer locks the heads of its tokens, in the order of their ids, and reads the clock
only then: times never run backwards, and whoever reads the register at an instant
waits for the writers that may still enter something before it. How accounts stand is
known under the lock, so a batch of any length is checked here, entry by entry, and
written in a constant number of statements. The database checks it again.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db import connection, transaction

from accounts.models import User, UserHolder
from issuers.models.issuers import Issuer
from issuers.register.errors import (
    LedgerError,
    NotReversible,
    TimeRefused,
    TokenNotEmpty,
    UnknownToken,
)
from issuers.register.models import (
    LedgerAccount,
    LedgerTransaction,
    TokenPrice,
)
from issuers.register.writer import TREASURY, Book, Entry, Kind, Price, Recorded, Writer

logger = logging.getLogger(__name__)

HISTORY_BATCH = 5_000


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
        writer.load(entries)
        check_reversals(writer, entries)
        at = {key: book.now for key, book in writer.books.items()}
        recorded = [writer.enter(entry, at[entry.token_id]) for entry in entries]
        writer.open()
        writer.flush()
    return recorded


def record_each(entries: Sequence[Entry], actor: str) -> list[Recorded | LedgerError]:
    """Enter those of a batch that the rules allow; for each what came of it."""
    if not entries:
        return []
    with transaction.atomic():
        writer = Writer((entry.token_id for entry in entries), actor)
        results = enter_each(writer, entries)
        writer.open()
        writer.flush()
    return results


class DryRun:
    """Tries batches one after another, and writes none of them.

    Each is judged by what those before it would have left. A ledger is read, and locked
    to the end of the transaction, when an entry first names its token; the dry run does
    not see what others write afterwards.
    """

    def __init__(self) -> None:
        self.writer = Writer([], actor="")

    def record_each(self, entries: Sequence[Entry]) -> list[Recorded | LedgerError]:
        """What would come of each."""
        with transaction.atomic():
            self.writer.hold(entry.token_id for entry in entries)
            results = enter_each(self.writer, entries)
        self.writer.discard()
        return results


def enter_each(
    writer: Writer, entries: Sequence[Entry]
) -> list[Recorded | LedgerError]:
    results: list[Recorded | LedgerError] = []
    writer.load(entries)
    for entry in entries:
        try:
            results.append(writer.enter(entry, writer.books[entry.token_id].now))
        except LedgerError as error:
            results.append(error)
    return results


def set_price(token_id: UUID, price_cents: int, source: str, actor: str) -> Recorded:
    """Let a unit cost this many euro cents from the present instant on.

    Nothing is rolled back where the price is refused: a transaction around this one
    goes on, but holds the token's ledger until it ends.

    Raises:
        LedgerError: a negative price, or one at which the supply is worth too much.
    """
    [result] = set_prices([Price(token_id, price_cents, source)], actor)
    if isinstance(result, LedgerError):
        raise result
    return result


def set_prices(prices: Iterable[Price], actor: str) -> list[Recorded | LedgerError]:
    """Record each price that the rules allow; for each, in order, what came of it.

    Prices of one token have one time, the present instant, and the last one holds. A
    refused price is returned, not raised, so that what it comes from (trades) is
    recorded all the same. One call writes any number of prices, of any tokens, in as
    many statements as one; who calls it twice in a transaction may meet a deadlock
    with another writer, unless the tokens come in the order of their ids.

    Raises:
        UnknownToken: one of the tokens does not exist; nothing is recorded then.
    """
    prices = list(prices)
    if not prices:
        return []
    results: list[Recorded | LedgerError] = []
    with transaction.atomic():
        writer = Writer((price.token_id for price in prices), actor)
        for price in prices:
            try:
                results.append(writer.price(price, writer.books[price.token_id].now))
            except LedgerError as error:
                results.append(error)
                if price.source == TokenPrice.Source.TRADE:
                    # Nobody waits for the answer to a trade as for one's own input.
                    logger.error(UNPRICED, error)
        writer.open()
        writer.flush()
    return results


UNPRICED = (
    "A trade's price was refused, and the register keeps the price before it: %s "
    "The trade itself stands. Find out whether its price is right, and have staff "
    "record a price that the register can hold (set_price)."
)


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
        with connection.cursor() as cursor:
            cursor.execute(OPENED_AT_THE_END)
        remaining = iter(events)
        while batch := list(islice(remaining, HISTORY_BATCH)):
            check_known(writer, batch)
            entries = [event for event in batch if isinstance(event, Entry)]
            writer.load(entries)
            for event in batch:
                at = check_time(writer.books[event.token_id], event)
                if isinstance(event, Entry):
                    writer.enter(event, at)
                else:
                    writer.price(event, at)
            writer.flush()
            written += len(batch)
            follow(len(batch))
        writer.open()
    return written


# The database lets nobody commit a history without opening its ledger; whatever the
# transaction around this one has chosen, that is asked at its end.
OPENED_AT_THE_END = "SET CONSTRAINTS register_keep_open DEFERRED"


def check_known(writer: Writer, events: Iterable[Entry | Price]) -> None:
    for event in events:
        if event.token_id not in writer.books:
            raise UnknownToken(
                f"The history holds token {event.token_id}, which it was not to be of."
            )


def check_time(book: Book, event: Entry | Price) -> datetime:
    at, now = event.at, book.clock
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


# Locked, or a profile that is given to another user meanwhile would keep the old one.
OPEN_ACCOUNTS = """
    INSERT INTO issuers_ledgeraccount (kind, holder_id, user_id)
    SELECT 'HOLDER', id, user_id FROM accounts_userholder
    WHERE user_id = ANY (%s) ORDER BY user_id FOR KEY SHARE
    ON CONFLICT DO NOTHING
"""
