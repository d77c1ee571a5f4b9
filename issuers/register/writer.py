"""Locks tokens' ledgers, checks entries and prices against them, and writes them.

`ledger` uses a Writer, and so do markets, which write what they decide themselves. The
checks word what breaks a rule; the database derives what follows, and judges again.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

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
from issuers.register.kinds import EntryKind as Kind
from issuers.register.models import (
    LedgerAccount,
)
from issuers.register.reasons import ReasonCode
from issuers.register.standing import (
    UNBOUND,
    Side,
    Standing,
    TransferRefused,
    refusals,
    standing_of,
)
from partnerapi.core.database import array_text, array_text_or_null, execute, fetch

HOLDER = LedgerAccount.Kind.HOLDER
TREASURY = LedgerAccount.Kind.TREASURY


@dataclass(frozen=True, slots=True)
class Entry:
    """A movement of units: it makes, moves or destroys them.

    `source` and `target` are ids of ledger accounts; None where units are made or
    destroyed. `code` is that of the reason: partners read it, and not the text. Only
    `write_history` takes an `at`.
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
    code: ReasonCode | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a unit, euro cents; only `write_history` takes an `at`."""

    token_id: UUID
    price_cents: int
    source: str
    at: datetime | None = None


class Recorded(NamedTuple):
    """An entry or a price that was recorded: its number in the ledger, and its time."""

    token_id: UUID
    number: int
    effective_at: datetime


@dataclass(slots=True)
class LockedLedger:
    """A token's ledger under the writer's lock, after the entries so far."""

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
    reserved: dict[int, int] = field(default_factory=dict)
    standings: dict[int, Standing] = field(default_factory=dict)

    @property
    def now(self) -> datetime:
        """The time that was taken under the lock.

        Raises:
            ClockSetBack: it is before that of the last entry or price.
        """
        if self.last_at is not None and self.clock < self.last_at:
            raise ClockSetBack(self.symbol, self.last_at, self.clock)
        return self.clock

    def side(self, account: int | None) -> Side:
        """The constraints on an account, after the entries so far."""
        if account is None:
            return Side()
        return Side(
            self.balances[account],
            self.reserved.get(account, 0),
            self.standings.get(account, UNBOUND),
        )

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
    """The ledgers that this transaction has locked, and what it will write.

    It holds the holders' accounts that it has read, so that no one can restrict them
    meanwhile. Without `holds`, for dry runs, it locks nothing. Without `judges`, the
    rules of tokens and holders do not apply, as in a history from before the platform.
    """

    def __init__(
        self,
        token_ids: Iterable[UUID],
        actor: str,
        holds: bool = True,
        judges: bool = True,
        entries: Sequence[Entry] = (),
    ) -> None:
        self.ledgers: dict[UUID, LockedLedger] = {}
        self.actor = actor
        self.holds, self.judges = holds, judges
        # Kind, issuer and name, by account.
        self.accounts: dict[int, tuple[str, UUID | None, str]] = {}
        self.entries: list[Entry] = []
        self.prices: list[Price] = []
        self.read(token_ids, entries)

    def read(self, token_ids: Iterable[UUID], entries: Iterable[Entry]) -> None:
        """Lock the tokens' ledgers, and read the entries' accounts; new ones only.

        Raises:
            UnknownToken: a token does not exist.
        """
        entries = list(entries)
        pairs = {
            (entry.token_id, account)
            for entry in entries
            for account in (entry.source, entry.target)
            if account is not None
            and (
                entry.token_id not in self.ledgers
                or account not in self.ledgers[entry.token_id].balances
            )
        }
        named = {*token_ids, *(entry.token_id for entry in entries)}
        new = named - self.ledgers.keys()
        wanted = sorted(new | {token_id for token_id, _ in pairs})
        if not wanted:
            return
        arguments = [
            array_text(wanted),
            array_text(token_id for token_id, _ in pairs),
            array_text(account for _, account in pairs),
            self.holds and (self.judges or not pairs),
        ]
        rows = fetch(READ, arguments, tuple)
        if len(rows) < len(wanted):
            missing = set(wanted) - {row[0] for row in rows}
            raise UnknownToken(f"There is no token {', '.join(map(str, missing))}.")
        for *of_ledger, states in rows:
            ledger = self.ledgers.setdefault(of_ledger[0], ledger_of(of_ledger))
            for state in json.loads(states or "[]"):
                self.learn(ledger, *state)

    def learn(
        self,
        ledger: LockedLedger,
        account: int,
        kind: str,
        issuer: str | None,
        name: str,
        balance: int,
        reserved: int,
        bound: list[Any] | None,
    ) -> None:
        ledger.balances[account] = balance
        self.accounts[account] = (kind, UUID(issuer) if issuer else None, name)
        if reserved:
            ledger.reserved[account] = reserved
        if bound is not None and self.judges:
            if bound[4] is not None:
                bound[4] = datetime.fromisoformat(bound[4])
            ledger.standings[account] = standing_of(bound)

    def load(self, entries: Iterable[Entry]) -> None:
        """Read the accounts of entries of ledgers that are locked."""
        self.read((), entries)

    def enter(self, entry: Entry, at: datetime) -> Recorded:
        """Check an entry against the ledger; `write` will write it.

        Raises:
            LedgerError: the rule that it breaks.
        """
        ledger = self.ledgers[entry.token_id]
        amount, source, target = entry.amount, entry.source, entry.target
        if amount <= 0:
            raise AmountNotPositive(ledger.symbol, amount)
        self.check_accounts(entry, ledger)
        supply = ledger.supply + (source is None) * amount - (target is None) * amount
        if source is None:
            ledger.check_supply(supply)
        elif ledger.balances[source] < amount:
            name = self.accounts[source][2]
            raise InsufficientBalance(
                name, ledger.symbol, ledger.balances[source], amount
            )
        if self.judges and (ledger.standings or ledger.reserved):
            self.check_rules(entry, ledger, supply)
        ledger.seq += 1
        for account, delta in ((source, -amount), (target, amount)):
            if account is None:
                continue
            before = ledger.balances[account]
            after = ledger.balances[account] = before + delta
            if self.accounts[account][0] == HOLDER:
                ledger.held += delta
                ledger.holders += (after > 0) - (before > 0)
        ledger.supply, ledger.last_at = supply, at
        self.entries.append(entry)
        return Recorded(ledger.token_id, ledger.seq, at)

    def check_accounts(self, entry: Entry, ledger: LockedLedger) -> None:
        moves = Kind(entry.kind)
        for account, kinds, way in (
            (entry.source, moves.sources, "from"),
            (entry.target, moves.targets, "to"),
        ):
            if account is not None and account not in self.accounts:
                raise AccountNotAllowed(f"There is no ledger account {account}.")
            kind, issuer_id, name = (
                NOBODY if account is None else self.accounts[account]
            )
            if kind not in kinds:
                raise AccountNotAllowed(
                    f"{entry.kind} of {ledger.symbol} cannot go {way} {name}: it goes "
                    f"{way} {' or '.join(PLACES[k] for k in PLACES if k in kinds)}."
                )
            if issuer_id is not None and issuer_id != ledger.issuer_id:
                raise AccountNotAllowed(
                    f"{name} is not the treasury of {ledger.symbol}."
                )
        if entry.source == entry.target:
            raise AccountNotAllowed(
                f"{entry.kind} of {ledger.symbol}: source and target must be different "
                "accounts."
            )

    def check_rules(self, entry: Entry, ledger: LockedLedger, supply: int) -> None:
        source, target = entry.source, entry.target
        gives, takes = ledger.side(source), ledger.side(target)
        after = ledger.holders
        if target is not None and self.accounts[target][0] == HOLDER:
            after += takes.balance == 0
        if source is not None and self.accounts[source][0] == HOLDER:
            after -= gives.balance == entry.amount
        found = refusals(
            entry.kind, entry.amount, gives, takes, supply, ledger.holders, after
        )
        if found:
            raise TransferRefused(ledger.symbol, found)

    def price(self, price: Price, at: datetime) -> Recorded:
        ledger, cents = self.ledgers[price.token_id], price.price_cents
        if cents < 0:
            raise PriceNegative(ledger.symbol, cents)
        # Without supply, a single unit must be worth a number that fits.
        ledger.check_value(max(ledger.supply, 1), cents)
        ledger.last_price += 1
        ledger.price_cents, ledger.last_at = cents, at
        self.prices.append(price)
        return Recorded(ledger.token_id, ledger.last_price, at)

    def write(self, step: int | None = None) -> list[Recorded]:
        """Write what was entered, and return it: the entries, then the prices.

        `step` is that of the delivery whose legacy lines are delivered.
        """
        recorded = written(self.entries, self.prices, self.actor, step)
        self.discard()
        return recorded

    def write_past(self) -> None:
        """Write entries and prices with their own times, of tokens without any."""
        arguments = [
            self.actor, *columns(self.entries), times_of(self.entries),
            *price_columns(self.prices), times_of(self.prices),
        ]  # fmt: skip
        fetch(WRITE_PAST, arguments, tuple)
        self.discard()

    def discard(self) -> None:
        """Forget what was entered; the ledgers keep its effect."""
        self.entries.clear()
        self.prices.clear()


def written(
    entries: Sequence[Entry],
    prices: Sequence[Price],
    actor: str,
    step: int | None = None,
) -> list[Recorded]:
    """Write entries and prices, which the database judges; the entries come first.

    The entries have one reason code, or none. `step` is that of the delivery whose
    legacy lines are delivered.
    """
    recorded = []
    [code] = {entry.code for entry in entries} or {None}
    if code:
        execute(REASON, [code])
    for first in range(0, max(len(entries), len(prices)), MOST_ROWS):
        some = entries[first : first + MOST_ROWS]
        arguments = [
            actor, *columns(some), array_text_or_null(e.reverses for e in some),
            *price_columns(prices[first : first + MOST_ROWS]), step,
        ]  # fmt: skip
        recorded += fetch(WRITE, arguments, tuple)
    if code:
        execute(REASON, [""])
    # Stable: of each kind, those of one call come before those of the next.
    recorded.sort(key=lambda row: row[2])
    return [Recorded(token_id, number, at) for token_id, number, _, at in recorded]


def columns(entries: Sequence[Entry]) -> list[Any]:
    """Tokens, kinds, sources, targets, units, reasons and legacy lines of entries."""
    return [
        array_text(entry.token_id for entry in entries),
        array_text(entry.kind for entry in entries),
        array_text_or_null(entry.source for entry in entries),
        array_text_or_null(entry.target for entry in entries),
        array_text(entry.amount for entry in entries),
        [entry.reason for entry in entries],
        array_text_or_null(entry.legacy_shareholder_id for entry in entries),
    ]


def price_columns(prices: Sequence[Price]) -> list[Any]:
    return [
        array_text(price.token_id for price in prices),
        array_text(price.price_cents for price in prices),
        array_text(price.source for price in prices),
    ]


def times_of(events: Sequence[Entry | Price]) -> list[Any]:
    return [event.at for event in events]


def ledger_of(row: Sequence[Any]) -> LockedLedger:
    # PostgreSQL's numeric arrives as Decimal.
    values: Any = (int(v) if isinstance(v, Decimal) else v for v in row)
    return LockedLedger(*values)


NOBODY = (None, None, "nobody")


PLACES = {HOLDER: "a holder", TREASURY: "the treasury", None: "nobody"}


MOST_ROWS = 5_000
"""Entries and prices of a call of the database."""
REASON = "SELECT set_config('partnerapi.reason', %s, TRUE)"
READ = "SELECT * FROM register_read(%s::uuid[], %s::uuid[], %s::bigint[], %s)"
ENTRIES = (
    "%s::uuid[], %s::text[], %s::bigint[], %s::bigint[], %s::numeric[], %s::text[],"
    " %s::uuid[]"
)
PRICES = "%s::uuid[], %s::bigint[], %s::text[]"
WRITE = f"SELECT * FROM register_write(%s, {ENTRIES}, %s::bigint[], {PRICES}, %s)"
WRITE_PAST = (
    f"SELECT register_history(%s, {ENTRIES}, %s::timestamptz[], {PRICES},"
    " %s::timestamptz[])"
)
