"""Writes the register, all but trades, which markets write; nothing else does.

A writer locks the heads of its tokens, in the order of their ids, and the database
reads the clock only then. So times never run backwards, and a reader of an instant
waits for the writers that may still enter something before it. A batch is written in
one statement: the database judges it, and derives what follows. What it refuses is
checked here, entry by entry, by balances that are read under the lock, so that the
rule which is broken is named.
"""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import islice
from uuid import UUID

from django.db import DataError, IntegrityError, transaction

from accounts.people.models import User, UserHolder
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
)
from issuers.register.reasons import ReasonCode
from issuers.register.writer import (
    Entry,
    Kind,
    LockedLedger,
    Price,
    Recorded,
    Writer,
    written,
)
from partnerapi.core.database import execute
from partnerapi.core.progress import Advance

logger = logging.getLogger(__name__)

HISTORY_BATCH = 5_000


def record(entries: Iterable[Entry], actor: str) -> list[Recorded]:
    """Enter a batch in its order, all of it or nothing, at the present instant.

    `actor` is who does it: a login or an e-mail address. Entries of one token have one
    time. An enclosing transaction keeps the tokens' ledgers locked until it ends.

    Raises:
        LedgerError: a rule that an entry breaks; the first one.
    """
    entries = list(entries)
    if not entries:
        return []
    if recorded := at_once(entries, actor):
        return recorded
    with transaction.atomic():
        writer = Writer((), actor, entries=entries)
        check_reversals(writer, entries)
        at = {key: locked.now for key, locked in writer.ledgers.items()}
        for entry in entries:
            writer.enter(entry, at[entry.token_id])
        return writer.write()


def at_once(
    entries: Sequence[Entry], actor: str, step: int | None = None
) -> list[Recorded]:
    """Enter a batch that the database allows, without reading the ledgers before.

    It answers nothing where a rule is broken, which only a Writer can name; and where
    an account gives and receives, because the database compares reserved units with
    what such an account has in the end.
    """
    gives = {(entry.token_id, entry.source) for entry in entries}
    takes = {(entry.token_id, entry.target) for entry in entries}
    if len(entries) > 1 and gives & takes:
        return []
    try:
        with transaction.atomic():
            return written(entries, (), actor, step)
    except (IntegrityError, DataError):
        return []


def record_each(
    entries: Sequence[Entry], actor: str, step: int | None = None
) -> list[Recorded | LedgerError]:
    """Enter those of a batch that the rules allow; the result, or refusal, of each.

    `step` is that of the delivery whose legacy lines they deliver.
    """
    if not entries:
        return []
    if allowed := at_once(entries, actor, step):
        return [*allowed]
    with transaction.atomic():
        writer = Writer((), actor, entries=entries)
        results = enter_each(writer, entries)
        recorded = iter(writer.write(step))
    return [
        result if isinstance(result, LedgerError) else next(recorded)
        for result in results
    ]


class DryRun:
    """Tries batches one after another; it writes and locks nothing.

    Each is judged by what those before it would have left. A ledger is read when an
    entry first names its token; the dry run does not see what others write afterwards.
    """

    def __init__(self) -> None:
        self.writer = Writer((), actor="", holds=False)

    def record(self, entry: Entry) -> Recorded:
        """The result that the entry would have.

        Raises:
            LedgerError: a rule that it breaks.
        """
        self.writer.read((), [entry])
        check_reversals(self.writer, [entry])
        at = self.writer.ledgers[entry.token_id].now
        recorded = self.writer.enter(entry, at)
        self.writer.discard()
        return recorded

    def record_each(self, entries: Sequence[Entry]) -> list[Recorded | LedgerError]:
        """The result that each entry would have."""
        self.writer.read((), entries)
        results = enter_each(self.writer, entries)
        self.writer.discard()
        return results

    def set_price(self, price: Price) -> Recorded:
        """The result that the price would have.

        Raises:
            LedgerError: a rule that it breaks.
        """
        self.writer.read([price.token_id], ())
        recorded = self.writer.price(price, self.writer.ledgers[price.token_id].now)
        self.writer.discard()
        return recorded


def enter_each(
    writer: Writer, entries: Sequence[Entry]
) -> list[Recorded | LedgerError]:
    results: list[Recorded | LedgerError] = []
    for entry in entries:
        try:
            results.append(writer.enter(entry, writer.ledgers[entry.token_id].now))
        except LedgerError as error:
            results.append(error)
    return results


def set_price(token_id: UUID, price_cents: int, source: str, actor: str) -> Recorded:
    """Set the price of a unit, in euro cents, from the present instant on.

    A refusal rolls nothing back: an enclosing transaction can go on, but keeps the
    token's ledger locked until it ends.

    Raises:
        LedgerError: a negative price, or one at which the supply is worth too much.
    """
    [result] = set_prices([Price(token_id, price_cents, source)], actor)
    if isinstance(result, LedgerError):
        raise result
    return result


def set_prices(prices: Iterable[Price], actor: str) -> list[Recorded | LedgerError]:
    """Record each price that the rules allow; the result, or refusal, of each in order.

    Prices of one token have one time, the present instant, and the last one holds. One
    call writes any number of prices, of any tokens, in as many statements as one price.
    A refusal rolls nothing back. Two calls in one transaction may meet a deadlock with
    another writer, unless the tokens come in the order of their ids.

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
                results.append(writer.price(price, writer.ledgers[price.token_id].now))
            except LedgerError as error:
                results.append(error)
        recorded = iter(writer.write())
    return [
        result if isinstance(result, LedgerError) else next(recorded)
        for result in results
    ]


UNPRICED = (
    "The price of a trade was refused, and the register keeps the previous price: %s "
    "The trade itself is valid. Check its price, and have staff record a price that "
    "the register can hold (ledger set-price)."
)


def write_history(
    token_ids: Iterable[UUID],
    events: Iterable[Entry | Price],
    actor: str,
    advance: Advance = lambda done: None,
) -> int:
    """Write the history of tokens from before the platform; return how many events.

    The tokens must be empty: no entry, no price, never opened. Each of the `events` is
    of one of them and has a time `at`: not before the token's creation, not before its
    last event, not in the future. They are read once, in batches, so they may be a
    generator; accounts come from `holder_accounts` and `treasury`. All is one
    transaction, after which the tokens are open and the clock gives their times.
    `advance` receives the number of events of each batch.

    Raises:
        LedgerError: a rule that an event breaks; nothing is written then.
    """
    written = 0
    with transaction.atomic():
        writer = Writer(token_ids, actor, judges=False)
        for locked in writer.ledgers.values():
            if locked.is_open or locked.seq or locked.last_price:
                raise TokenNotEmpty(locked.symbol)
            locked.last_at = locked.created_at
        remaining = iter(events)
        while batch := list(islice(remaining, HISTORY_BATCH)):
            check_known(writer, batch)
            entries = [event for event in batch if isinstance(event, Entry)]
            writer.load(entries)
            for event in batch:
                at = check_time(writer.ledgers[event.token_id], event)
                if isinstance(event, Entry):
                    writer.enter(event, at)
                else:
                    writer.price(event, at)
            writer.write_past()
            written += len(batch)
            advance(len(batch))
    return written


def check_known(writer: Writer, events: Iterable[Entry | Price]) -> None:
    for event in events:
        if event.token_id not in writer.ledgers:
            raise UnknownToken(
                f"The history has an event of token {event.token_id}, but does not "
                "list this token."
            )


def check_time(locked: LockedLedger, event: Entry | Price) -> datetime:
    at, now = event.at, locked.clock
    if at is None or at > now:
        raise TimeRefused(
            f"An event of {locked.symbol} has the time {at}, which is after now, {now}."
        )
    if locked.last_at is not None and at < locked.last_at:
        raise TimeRefused(
            f"An event of {locked.symbol} at {at} comes after one, or the token's "
            f"creation, at {locked.last_at}; sort them by time."
        )
    return at


def check_reversals(writer: Writer, entries: Iterable[Entry]) -> None:
    """Check that each reversal undoes a whole entry, once, and no other reversal."""
    for entry in entries:
        if entry.kind != Kind.REVERSAL:
            continue
        symbol = writer.ledgers[entry.token_id].symbol
        undone = LedgerTransaction.objects.filter(
            token=entry.token_id, seq=entry.reverses or 0
        ).first()
        if undone is None or undone.kind == Kind.REVERSAL:
            raise NotReversible(f"{symbol} has no reversible entry {entry.reverses}.")
        if undone.kind == Kind.TRADE:
            raise NotReversible(
                f"Entry {entry.reverses} of {symbol} belongs to a trade: only market "
                "bust reverses it, together with its payment."
            )
        if LedgerTransaction.objects.filter(
            token=entry.token_id, reverses=entry.reverses
        ).exists():
            raise NotReversible(
                f"Entry {entry.reverses} of {symbol} has already been reversed."
            )
        mirrored = (undone.target_id, undone.source_id, undone.amount)
        if (entry.source, entry.target, entry.amount) != mirrored:
            raise NotReversible(
                f"A reversal of entry {entry.reverses} of {symbol} must move back all "
                "of its units; `reversal_of` builds it."
            )


def reversal_of(
    undone: LedgerTransaction, reason: str, code: ReasonCode | None = None
) -> Entry:
    return Entry(
        undone.token_id,
        Kind.REVERSAL,
        int(undone.amount),
        source=undone.target_id,
        target=undone.source_id,
        reason=reason,
        code=code,
        reverses=undone.seq,
    )


def treasury(issuer: Issuer) -> int:
    """The ledger account of the issuer's treasury; the first call opens it."""
    found = LedgerAccount.objects.filter(issuer=issuer).values_list("id", flat=True)
    if (account := found.first()) is None:
        execute(OPEN_ACCOUNTS, [[], [issuer.pk]])
        account = found.get()
    return account


def holder_accounts(user_ids: Iterable[UUID]) -> dict[UUID, int]:
    """The ledger accounts of users, by user; opens missing ones, with profiles."""
    wanted = sorted(set(user_ids))
    found = dict(
        LedgerAccount.objects.filter(user__in=wanted).values_list("user_id", "id")
    )
    missing = [user_id for user_id in wanted if user_id not in found]
    if missing:
        with transaction.atomic():
            profiled = UserHolder.objects.filter(user__in=missing)
            unknown = set(missing) - set(profiled.values_list("user_id", flat=True))
            UserHolder.objects.bulk_create(
                [
                    UserHolder(user=user, name=str(user))
                    for user in User.objects.filter(pk__in=unknown).order_by("pk")
                ],
                ignore_conflicts=True,
            )
            execute(OPEN_ACCOUNTS, [missing, []])
        found |= LedgerAccount.objects.filter(user__in=missing).values_list(
            "user_id", "id"
        )
    return found


OPEN_ACCOUNTS = "SELECT register_open_accounts(%s::uuid[], %s::uuid[])"
