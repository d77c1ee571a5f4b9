"""Why the ledger refuses an entry. Staff and operators read these, partners never."""

from datetime import datetime


class LedgerError(Exception):
    """The register refuses; `code` says which rule, the message what to do."""

    code: str


class UnknownToken(LedgerError):
    """The token does not exist."""

    code = "UNKNOWN_TOKEN"


class AmountNotPositive(LedgerError):
    """An entry moves less than one unit."""

    code = "AMOUNT_NOT_POSITIVE"

    def __init__(self, symbol: str, amount: int) -> None:
        super().__init__(
            f"{amount} units of {symbol}: an entry must move at least 1 unit."
        )


class AccountNotAllowed(LedgerError):
    """This kind of entry is not possible between these kinds of accounts."""

    code = "ACCOUNT_NOT_ALLOWED"


class InsufficientBalance(LedgerError):
    """An account has fewer units than the entry needs; `missing` is the difference."""

    code = "INSUFFICIENT_BALANCE"

    def __init__(self, name: str, symbol: str, balance: int, amount: int) -> None:
        self.missing = amount - balance
        super().__init__(
            f"{name} has {balance} units of {symbol}, {self.missing} fewer than the "
            f"{amount} that the entry needs."
        )


class SupplyOverflow(LedgerError):
    """A token would have more than 2⁶⁴−1 units."""

    code = "SUPPLY_OVERFLOW"

    def __init__(self, symbol: str, supply: int, maximum: int) -> None:
        super().__init__(
            f"{symbol} would have {supply} units, {supply - maximum} more than 2⁶⁴−1, "
            "the limit for a token."
        )


class AuthorizedUnitsExceeded(LedgerError):
    """A token would have more units than are authorized."""

    code = "AUTHORIZED_UNITS_EXCEEDED"

    def __init__(self, symbol: str, supply: int, authorized: int) -> None:
        super().__init__(
            f"{symbol} would have {supply} units, {supply - authorized} more than the "
            f"{authorized} that are authorized; authorize more first."
        )


class ValueOverflow(LedgerError):
    """A token's supply times its price would be more than 2⁶³−1 cents."""

    code = "VALUE_OVERFLOW"

    def __init__(self, symbol: str, supply: int, price_cents: int) -> None:
        super().__init__(
            f"{supply} units of {symbol} at {price_cents} cents are worth more than "
            "2⁶³−1 cents, the limit for a token."
        )


class PriceNegative(LedgerError):
    """A price is below zero."""

    code = "PRICE_NEGATIVE"

    def __init__(self, symbol: str, price_cents: int) -> None:
        super().__init__(
            f"{price_cents} cents for {symbol}: a price must be at least 0 cents."
        )


class NotReversible(LedgerError):
    """The entry does not exist, is a reversal itself, or was reversed before."""

    code = "NOT_REVERSIBLE"


class TokenNotEmpty(LedgerError):
    """A history goes only into a token without entries and prices, never opened."""

    code = "TOKEN_NOT_EMPTY"

    def __init__(self, symbol: str) -> None:
        super().__init__(
            f"{symbol} already has entries or prices with current times. A history can "
            "only be entered into a new token."
        )


class TimeRefused(LedgerError):
    """A time in a history is missing, out of order, or in the future."""

    code = "TIME_REFUSED"


class ClockSetBack(LedgerError):
    """The database's clock is before the last entry or price of a token."""

    code = "CLOCK_SET_BACK"

    def __init__(self, symbol: str, last_at: datetime, clock: datetime) -> None:
        super().__init__(
            f"The database's clock says {clock}, and {symbol} was written to at "
            f"{last_at}: correct the clock."
        )
