"""What the market adds to the schema: a token's order book, and its trading days."""

from uuid import UUID

import graphene

from accounts.access import Scope, requires
from marketdata.books.current_books import CurrentBook, read_books
from marketdata.books.days import DayFigures, read_last_days, vwap
from marketdata.models import TradingDay as TradingDayModel
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.cost import FOUND, Cost, Field
from partnerapi.graphql.pages import read_pages
from partnerapi.graphql.relay import Connection, connection_field
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

LEVELS = 10
"""Of each side, where `depth` does not say."""
MAX_LEVELS = 50
"""Of each side, the most that `depth` may ask for."""


class OrderBookLevel(graphene.ObjectType):
    """The total of all orders at one price."""

    price = Uint64(required=True, description="Price of a unit, euro cents.")
    quantity = Uint64(required=True, description="Units bid or offered at this price.")


class OrderBook(graphene.ObjectType):
    """The resting orders for a token at one instant."""

    sequence = Uint64(
        required=True,
        description="Number of the book's last change; changes of a token are numbered "
        "from 1, without gaps. 0 before the first change.",
    )
    at = Time(
        required=True,
        description="Time of the book's last change; the registration time of the "
        "token if there is none.",
    )
    bids = Field(
        graphene.List(graphene.NonNull(OrderBookLevel)),
        required=True,
        cost=Cost(most=MAX_LEVELS),
        description="Buy side, highest price first, at most `depth` levels.",
    )
    asks = Field(
        graphene.List(graphene.NonNull(OrderBookLevel)),
        required=True,
        cost=Cost(most=MAX_LEVELS),
        description="Sell side, lowest price first, at most `depth` levels. The best "
        "ask is above the best bid.",
    )


@needs("created_at")
@requires(Scope.MARKETDATA_READ)
def read_order_books(tokens, info, depth=None):
    if depth is None:
        depth = LEVELS
    if not 1 <= depth <= MAX_LEVELS:
        raise BadUserInput(
            f"`depth` is {depth}; pass 1 to {MAX_LEVELS}.",
            argument="depth",
            maximum=MAX_LEVELS,
        )
    books = read_books({token.id for token in tokens}, depth)
    return [as_of_creation(books.get(token.id), token) for token in tokens]


def as_of_creation(book: CurrentBook | None, token):
    """The book; where nothing has moved it yet, it is as old as its token."""
    if book is None or book.at is not None:
        return book
    return book._replace(at=token.created_at)


ORDER_BOOK = Field(
    OrderBook,
    cost=FOUND,
    depth=graphene.Int(
        default_value=LEVELS,
        description=f"The most levels of each side, 1 to {MAX_LEVELS}.",
    ),
    resolver=read_order_books,
    description="Order book of the token, identical to the FIX feed; null on the "
    "primary market, which has none. Any number of tokens can be requested "
    "at once. Needs the scope `marketdata:read`.",
)
"""The field `orderBook` of a token."""


DAYS = OrderedList(
    "days",
    "TradingDay",
    TradingDayModel,
    (OrderKey("marketdata_tradingday.first_trade", "bigint"),),
    unique=True,
    parent="token_id",
    identity="token_id",
)


class TradingDay(graphene.ObjectType):
    """The trades of a token from midnight to midnight, aggregated.

    The day is the calendar day in the market's time zone, Paris unless `/docs/fix`
    states another. Days without trades are omitted. Busted trades do not count; a day
    with only busted trades has `trades` 0 and keeps its prices.
    """

    date = graphene.String(
        required=True, description="The day, as YYYY-MM-DD, in the market's time zone."
    )
    open = Uint64(
        required=True,
        resolver=column("open_cents"),
        description="Price of the first trade, euro cents.",
    )
    high = Uint64(
        required=True,
        resolver=column("high_cents"),
        description="Highest price of a trade, euro cents.",
    )
    low = Uint64(
        required=True,
        resolver=column("low_cents"),
        description="Lowest price of a trade, euro cents.",
    )
    close = Uint64(
        required=True,
        resolver=column("close_cents"),
        description="Price of the last trade, euro cents; the closing price after the "
        "end of the day.",
    )
    volume = Uint64(required=True, description="Units that changed hands.")
    value = Uint64(
        required=True, description="Sum of price times units of all trades, euro cents."
    )
    vwap = Uint64(
        required=True,
        description="Volume-weighted average price: `value` divided by `volume`, "
        "rounded half up to a cent; 0 if all trades were busted.",
    )
    trades = Uint64(required=True, description="Number of trades.")

    @needs("day")
    def resolve_date(days, info):
        return [day.day.isoformat() for day in days]

    @needs("volume")
    def resolve_volume(days, info):
        return [int(day.volume) for day in days]

    @needs("value_cents")
    def resolve_value(days, info):
        return [int(day.value_cents) for day in days]

    @needs("value_cents", "volume")
    def resolve_vwap(days, info):
        return [vwap(int(day.value_cents), int(day.volume)) for day in days]


class TradingDayConnection(Connection):
    class Meta:
        node = TradingDay


def as_row(figures: DayFigures) -> TradingDayModel:
    return TradingDayModel(
        day=figures.day,
        open_cents=figures.open,
        high_cents=figures.high,
        low_cents=figures.low,
        close_cents=figures.close,
        volume=figures.volume,
        value_cents=figures.value,
        trades=figures.trades,
    )


@requires(Scope.MARKETDATA_READ)
def read_day(tokens, info):
    found = read_last_days([UUID(token.id) for token in tokens], 1)
    days = [found.get(UUID(token.id)) for token in tokens]
    return [day and as_row(day[0]) for day in days]


@requires(Scope.MARKETDATA_READ)
def read_days(tokens, info, **page):
    days = TradingDayModel.objects.all()
    return read_pages(DAYS, info, days, [token.id for token in tokens], **page)


DAY = graphene.Field(
    TradingDay,
    resolver=read_day,
    description="Figures of the last day on which the token traded, identical to the "
    "FIX feed; today's figures after the first trade of the day; null "
    "before the first trade. Needs the scope `marketdata:read`.",
)
"""The field `day` of a token."""

TRADING_DAYS = connection_field(
    TradingDayConnection,
    "The days on which the token traded as daily candles, oldest first; the last may "
    "still be in progress. Needs the scope `marketdata:read`.",
    resolver=read_days,
)
"""The field `days` of a token."""
