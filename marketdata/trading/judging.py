"""The conditions of an order: its form, the market's rules, cover, and compliance.

`placing` places or amends an order that meets them.
"""

from datetime import timedelta

from issuers.compliance.judge import Refusal, Side, refusals
from issuers.register.ledger import Kind
from marketdata.books.collar import collar
from marketdata.books.log import MAX
from marketdata.trading.errors import (
    AccountNotActive,
    DuplicateClientOrderID,
    InsufficientFunds,
    InsufficientUnits,
    LotSize,
    OnlyAuctionPrice,
    OnlyRestingOrders,
    OpenValueExceeded,
    OrderRateExceeded,
    OrdersBlocked,
    OrderValueTooLarge,
    OutsideBand,
    PriceOutsideCollar,
    TickSize,
    TooManyOpenOrders,
    TransferRefused,
    WouldTrade,
)
from marketdata.trading.in_force import Ending, Stop, TimeInForce
from marketdata.trading.locked import Book, Client
from marketdata.trading.models import Order, Phase
from marketdata.trading.queues import BUY, SELL, Match, Resting
from marketdata.trading.round import Request, Round
from partnerapi.core.errors import BadUserInput

LONGEST = timedelta(days=90)
"""After so long a resting order expires."""
MOST_OPEN = 1_000
"""Open orders of an account and a token."""
RESERVED = "UNITS_RESERVED"


def check_active(client: Client) -> None:
    if client.status != "ACTIVE":
        raise AccountNotActive(f"The account is {client.status}.", status=client.status)
    if client.is_blocked:
        raise OrdersBlocked(
            "Orders of the account are blocked until they are released."
        )


def check_shape(of: Round, request: Request) -> None:
    if not request.quantity >= 1 or not request.limit_price >= 1:
        raise BadUserInput("The quantity and the limit must be 1 or more.")
    check_limit(of, request.quantity, request.limit_price)
    in_force = TimeInForce(request.time_in_force)
    if of.book.phase == Phase.CALL and not in_force.rests:
        raise OnlyRestingOrders(
            f"The market is in a CALL, where nothing trades at once: {in_force} orders "
            "cannot rest until its auction."
        )
    if (in_force.ending is Ending.CHOSEN) != (request.expires_at is not None):
        raise BadUserInput("GTD requires expiresAt; other orders must not have it.")
    if request.expires_at is not None and not (
        of.at < request.expires_at <= of.at + LONGEST
    ):
        raise BadUserInput(
            f"expiresAt must be in the future and within {LONGEST.days} days."
        )
    if in_force.rests:
        check_level(of, request.side, request.limit_price, request.quantity)
        if of.open_counts[request.account_id] >= MOST_OPEN:
            raise TooManyOpenOrders(
                f"The account has {MOST_OPEN:,} open orders of this token.",
                maximum=MOST_OPEN,
            )


def check_limit(of: Round, quantity: int, limit_price: int, filled: int = 0) -> None:
    book = of.book
    check_size(book, quantity, limit_price)
    tick = book.ticks.at(limit_price)
    if limit_price % tick:
        raise TickSize(
            f"The limit {limit_price} is not a multiple of {tick} cents.",
            tickSize=tick,
        )
    # Units that filled under earlier parameters need not fit the lot.
    if (quantity - filled) % book.lot:
        raise LotSize(
            f"The quantity {quantity - filled} is not a multiple of {book.lot} units.",
            lotSize=book.lot,
        )
    if book.phase == Phase.AT_LAST and limit_price != book.reference:
        raise OnlyAuctionPrice(
            f"The market trades at the price of its auction, {book.reference} cents: "
            f"the limit {limit_price} is another.",
            price=book.reference,
        )
    floor, cap = collar(book.reference or 0, book.collar_bps)
    if not floor <= limit_price <= cap:
        raise PriceOutsideCollar(
            f"The limit {limit_price} is not within {floor} to {cap} cents.",
            floor=floor,
            cap=cap,
        )


def check_size(book: Book, quantity: int, limit_price: int) -> None:
    if quantity * limit_price > MAX:
        raise too_large()
    if book.most_value is not None and quantity * limit_price > book.most_value:
        raise OrderValueTooLarge(
            f"An order of this market is worth at most {book.most_value} cents at its "
            "limit.",
            maximum=book.most_value,
        )
    if book.most_units is not None and quantity > book.most_units:
        raise OrderValueTooLarge(
            f"An order of this market has at most {book.most_units} units.",
            maximum=book.most_units,
        )


def check_level(of: Round, side: int, price: int, units: int) -> None:
    if of.levels.get((side, price), 0) + units > MAX:
        raise too_large()


def check_rate(of: Round, client: Client) -> None:
    if not (taken := of.taken.get(client.partner_id)):
        return
    most = taken.limits.orders_per_second
    if most is not None and taken.orders >= most:
        raise OrderRateExceeded(
            f"Your orders of a second are limited to {most}.", maximum=most
        )


def check_open_value(of: Round, client: Client, value: int) -> None:
    """Check what would be open with an order of this value, euro cents."""
    if not (taken := of.taken.get(client.partner_id)):
        return
    most = taken.limits.open_value
    if most is not None and taken.open_value + value > most:
        raise OpenValueExceeded(
            f"Your open orders are worth {taken.open_value} cents and the order "
            f"{value}; {most} may be open.",
            maximum=most,
            open=taken.open_value,
            required=value,
        )


def check_once(of: Round, request: Request) -> None:
    if request.client_order_id is None:
        return
    used = of.used_ids.get((request.account_id, request.client_order_id))
    if used is not None:
        raise DuplicateClientOrderID(
            f"The account already has an order {request.client_order_id}.",
            orderID=used,
        )


def check_rests(of: Round, order: Order, match: Match) -> None:
    """Check that a post-only order rests as it is, and meets no order of its user."""
    if match.fills or match.stop is not None or match.is_outside:
        best = next(of.queues.best_first(1 - order.side)).price
        raise WouldTrade(
            f"The order is post-only and would trade at once; the other side's best "
            f"price is {best} cents.",
            bestPrice=best,
        )


def check_inside(of: Round, match: Match) -> None:
    """Check that a FOK order does not need fills outside the bands."""
    if match.is_outside and match.stop is Stop.FILL_OR_KILL:
        floor, cap = of.book.band
        raise OutsideBand(
            f"The order would trade outside {floor} to {cap} cents, and FOK trades in "
            "full or not at all.",
            floor=floor,
            cap=cap,
        )


def check_movement(of: Round, order: Order, units: int) -> None:
    """Check that rules allow the movement, and that its cover is available."""
    account = order.ledger_account_id
    own = of.ledger.side(account)
    if order.side == BUY:
        found = find_refusals(of, units, Side(), own, 0)
        needed = order.limit_price * units
        if fees := of.fees.get(order.pk):
            needed += fees.held(needed)
        available = of.cash[order.cash_account_id].available
        if not found and needed > available:
            raise InsufficientFunds(
                f"The order may cost {needed} cents; {available} are available.",
                available=available,
                required=needed,
            )
    else:
        free = own.balance - own.reserved - own.standing.locked
        found = [
            refusal
            for refusal in find_refusals(of, units, own, Side(), 0)
            if refusal.code != RESERVED
        ]
        if not found and units > free:
            available = max(free, 0)
            raise InsufficientUnits(
                f"The order sells {units} units; {available} are available.",
                available=available,
                required=units,
            )
    if found:
        raise TransferRefused.by(found)


def find_refusals(
    of: Round, units: int, gives: Side, takes: Side, further: int
) -> list[Refusal]:
    """Why units may not move from one holder to another; `further`: holders since."""
    ledger = of.ledger
    if not ledger.standings and not gives.reserved:
        return []
    holders = ledger.holders + further
    after = holders + (takes.balance == 0) - (gives.balance == units)
    return refusals(Kind.TRADE, units, gives, takes, ledger.supply, holders, after)


class Movements:
    """Which fills rules allow, each after those that were allowed before."""

    def __init__(self, of: Round) -> None:
        self.round = of
        self.moved: dict[int, int] = {}
        self.further = 0

    def allow(self, seller: int, buyer: int, quantity: int) -> bool:
        """Whether rules let one holder sell units to another; ledger accounts."""
        gives, takes = self.side(seller), self.side(buyer)
        if find_refusals(self.round, quantity, gives, takes, self.further):
            return False
        self.further += (takes.balance == 0) - (gives.balance == quantity)
        for account, delta in ((seller, -quantity), (buyer, quantity)):
            self.moved[account] = self.moved.get(account, 0) + delta
        return True

    def side(self, account: int) -> Side:
        """An account's units after the fills so far; the matched ones are not held."""
        own = self.round.ledger.side(account)
        return Side(own.balance + self.moved.get(account, 0), 0, own.standing)


class Eligible:
    """Whether rules let resting orders have the fills that one order brings them."""

    def __init__(self, of: Round, taker: Order) -> None:
        self.round, self.taker = of, taker
        self.movements = Movements(of)

    def __call__(self, maker: Resting, quantity: int) -> bool:
        if not self.round.ledger.standings:
            return True
        order = self.round.orders[maker.order]  # type: ignore[index]
        accounts = (order.ledger_account_id, self.taker.ledger_account_id)
        seller, buyer = accounts if maker.side == SELL else reversed(accounts)
        return self.movements.allow(seller, buyer, quantity)


def too_large() -> OrderValueTooLarge:
    return OrderValueTooLarge(
        f"An order's value, and the units at one limit, must be at most {MAX}.",
        maximum=MAX,
    )
