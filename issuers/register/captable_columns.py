"""The tokens of a capitalization table, and its holders as columns.

A register may have a million holders, and a million objects take longer to make than
to read. So a holder's row, and each column, is made on first use.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from operator import mul
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class TokenSummary:
    """A token as of entry `seq`: the units that holders held, and all units.

    `last_seq` and `last_holder_count` are the ledger's own at the time of reading.
    """

    token_id: str
    price: int
    held: int
    supply: int
    holder_count: int
    seq: int
    last_seq: int = field(compare=False)
    last_holder_count: int = field(compare=False)

    @property
    def held_value(self) -> int:
        return self.held * self.price

    @property
    def supply_value(self) -> int:
        return self.supply * self.price


class TokenBalance(NamedTuple):
    """A holder's units of a token; price and value in euro cents."""

    token_id: str
    balance: int
    price: int
    value: int


class Holder(NamedTuple):
    """A user's holdings of an issuer's tokens at `date`; value in euro cents."""

    user_id: str
    total_value: int
    percentage: float
    token_balances: Sequence[TokenBalance]
    date: str


@dataclass(frozen=True)
class Holding:
    """All units held of one token, and the places of their holders in the table."""

    token: TokenSummary
    places: Sequence[int]
    units: Sequence[int]

    @property
    def values(self) -> Iterator[int]:
        return map(mul, self.units, repeat(self.token.price))

    @property
    def balances(self) -> Iterator[TokenBalance]:
        token, price = repeat(self.token.token_id), repeat(self.token.price)
        columns = zip(token, self.units, price, self.values, strict=False)
        return map(TokenBalance._make, columns)


@dataclass(frozen=True)
class Holders:
    """The holders by value descending, then by user's id; each a Holder.

    `holdings` are in the order of the tokens' creation; `date` is the table's.
    """

    user_ids: Sequence[str]
    holdings: Sequence[Holding]
    date: str = ""

    def __len__(self) -> int:
        return len(self.user_ids)

    def __iter__(self) -> Iterator[Holder]:
        columns = (self.total_values, self.percentages, self.token_balances)
        dates = [self.date] * len(self)
        return map(Holder._make, zip(self.user_ids, *columns, dates, strict=True))

    @cached_property
    def total_values(self) -> list[int]:
        return self.sum_per_holder(holding.values for holding in self.holdings)

    @cached_property
    def percentages(self) -> list[float]:
        """Shares of the value; without any value, of the units."""
        weights = self.total_values
        whole = sum(weights)
        if not whole:
            weights = self.sum_per_holder(holding.units for holding in self.holdings)
            whole = sum(weights)
        return [weight / whole for weight in weights]

    @property
    def token_balances(self) -> Iterable[Sequence[TokenBalance]]:
        if len(self.holdings) == 1:
            return zip(self.holdings[0].balances, strict=True)
        rows: list[list[TokenBalance]] = [[] for _ in self.user_ids]
        for holding in self.holdings:
            for place, balance in zip(holding.places, holding.balances, strict=True):
                rows[place].append(balance)
        return rows

    def sum_per_holder(self, columns: Iterable[Iterable[int]]) -> list[int]:
        """The sum, for each holder, of the holdings' columns."""
        sums = [0] * len(self.user_ids)
        for holding, column in zip(self.holdings, columns, strict=True):
            for place, number in zip(holding.places, column, strict=True):
                sums[place] += number
        return sums
