"""Locks tokens' ledgers, checks entries and prices against them, and writes them.

`ledger` uses a Writer, and so do markets, which write a whole round. Its `flush`
writes any number of entries in a constant number of statements.
"""

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
from issuers.register.standing import (
    UNBOUND,
    Side,
    Standing,
    TransferRefused,
    refusals,
    standing_of,
)
from partnerapi.core.database import copy, execute, fetch

HOLDER = LedgerAccount.Kind.HOLDER
TREASURY = LedgerAccount.Kind.TREASURY


@dataclass(frozen=True, slots=True)
class Entry:
    """A movement of units: it makes, moves or destroys them.

    `source` and `target` are ids of ledger accounts; None where units are made or
    destroyed. Only `write_history` takes an `at`.
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
    """The ledgers that this transaction has locked, and the rows that it will write.

    It holds the holders' accounts that it has loaded, so that no one can restrict them
    meanwhile. Without `holds`, for dry runs, it does not. Without `judges`, the rules
    of tokens and holders do not apply, as in a history from before the platform.
    """

    def __init__(
        self,
        token_ids: Iterable[UUID],
        actor: str,
        holds: bool = True,
        judges: bool = True,
    ) -> None:
        self.ledgers: dict[UUID, LockedLedger] = {}
        self.lock(token_ids)
        self.actor = actor
        self.holds, self.judges = holds and judges, judges
        # Kind, issuer and name, by account.
        self.accounts: dict[int, tuple[str, UUID | None, str]] = {}
        self.transactions: list[Sequence[Any]] = []
        self.prices: list[Sequence[Any]] = []

    def lock(self, token_ids: Iterable[UUID]) -> None:
        """Lock those ledgers that are not locked yet."""
        if new := set(token_ids) - self.ledgers.keys():
            self.ledgers |= {ledger.token_id: ledger for ledger in lock_ledgers(new)}

    def load(self, entries: Iterable[Entry]) -> None:
        """Read the balances of the entries' accounts, and their constraints."""
        pairs = {
            (entry.token_id, account)
            for entry in entries
            for account in (entry.source, entry.target)
            if account is not None
            and account not in self.ledgers[entry.token_id].balances
        }
        tokens, accounts = [t for t, _ in pairs], [a for _, a in pairs]
        rows = fetch(STATES, [tokens, accounts, self.holds], tuple)
        for token_id, account, kind, issuer_id, name, balance, reserved, *bound in rows:
            if kind is None:
                continue
            ledger = self.ledgers[token_id]
            ledger.balances[account] = int(balance)
            self.accounts[account] = (kind, issuer_id, name)
            if reserved:
                ledger.reserved[account] = int(reserved)
            if bound[0] is not None:
                ledger.standings[account] = standing_of(bound)

    def enter(self, entry: Entry, at: datetime) -> Recorded:
        """Check an entry against the ledger; `flush` will write it.

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
        self.transactions.append(
            (
                ledger.token_id, ledger.seq, entry.kind, source, target, amount, at,
                supply, ledger.held, ledger.holders, self.actor, entry.reason,
                entry.legacy_shareholder_id, entry.reverses,
            )
        )  # fmt: skip
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
        self.prices.append(
            (ledger.token_id, ledger.last_price, cents, price.source, at, self.actor)
        )
        return Recorded(ledger.token_id, ledger.last_price, at)

    def flush(self) -> None:
        for table, columns, rows in (
            ("issuers_ledgertransaction", TRANSACTION_COLUMNS, self.transactions),
            ("issuers_tokenprice", PRICE_COLUMNS, self.prices),
        ):
            if rows:
                copy(table, columns, rows)
                rows.clear()

    def discard(self) -> None:
        """Forget the rows to write; the ledgers keep the effect of the entries."""
        self.transactions.clear()
        self.prices.clear()

    def open(self) -> None:
        """Give ledgers with entries or prices the clock's time from now on."""
        closed = [
            ledger.token_id
            for ledger in self.ledgers.values()
            if not ledger.is_open and (ledger.seq or ledger.last_price)
        ]
        if closed:
            execute(OPEN, [closed])


def lock_ledgers(token_ids: Iterable[UUID]) -> list[LockedLedger]:
    """Lock the ledgers of tokens, in the order of their ids.

    Raises:
        UnknownToken: one of them does not exist.
    """
    wanted = sorted(token_ids)
    ledgers = fetch(LOCK, [wanted], ledger_of)
    if len(ledgers) < len(wanted):
        missing = set(wanted) - {ledger.token_id for ledger in ledgers}
        raise UnknownToken(f"There is no token {', '.join(map(str, missing))}.")
    return ledgers


def ledger_of(row: Sequence[Any]) -> LockedLedger:
    # PostgreSQL's numeric arrives as Decimal.
    values: Any = (int(v) if isinstance(v, Decimal) else v for v in row)
    return LockedLedger(*values)


NOBODY = (None, None, "nobody")


PLACES = {HOLDER: "a holder", TREASURY: "the treasury", None: "nobody"}


TRANSACTION_COLUMNS = (
    "token_id", "seq", "kind", "source_id", "target_id", "amount", "effective_at",
    "supply_after", "held_after", "holders_after", "actor", "reason",
    "legacy_shareholder_id", "reverses",
)  # fmt: skip


PRICE_COLUMNS = (
    "token_id", "number", "price_cents", "source", "effective_at", "recorded_by",
)  # fmt: skip


LOCK = "SELECT * FROM register_hold(%s)"
OPEN = "SELECT register_open(%s)"


STATES = "SELECT * FROM register_states(%s::uuid[], %s::bigint[], %s)"
