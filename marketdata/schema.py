"""What the market adds to the schema: a token's order book."""

import graphene

from accounts.access import Scope, requires
from marketdata.books.current_books import CurrentBook, read_books
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.cost import Cost, Field
from partnerapi.graphql.resolvers import needs
from partnerapi.graphql.scalars import Time, Uint64

LEVELS = 10
"""Of each side, where `depth` does not say."""
MAX_LEVELS = 50
"""Of each side, the most that `depth` may ask for."""


class OrderBookLevel(graphene.ObjectType):
    """What all orders at one price add up to."""

    price = Uint64(required=True, description="Price of a unit, euro cents.")
    quantity = Uint64(required=True, description="Units wanted or offered at it.")


class OrderBook(graphene.ObjectType):
    """The orders that rest for a token, as they were at one instant."""

    sequence = Uint64(
        required=True,
        description="Number of the book's last change: changes of a token are numbered "
        "from 1, without gaps. 0: there has not been one.",
    )
    at = Time(
        required=True,
        description="When the market of the token last moved; before its first "
        "movement, when the token was registered.",
    )
    bids = Field(
        graphene.List(graphene.NonNull(OrderBookLevel)),
        required=True,
        # `depth` of the book multiplies it.
        cost=Cost(items=1),
        description="What buyers pay, the highest price first, at most `depth` levels.",
    )
    asks = Field(
        graphene.List(graphene.NonNull(OrderBookLevel)),
        required=True,
        # `depth` of the book multiplies it.
        cost=Cost(items=1),
        description="What sellers take, the lowest price first, at most `depth` "
        "levels. The first is above the first of `bids`.",
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
    cost=Cost(times="depth", most=MAX_LEVELS),
    depth=graphene.Int(
        default_value=LEVELS,
        description=f"The most levels of each side, 1 to {MAX_LEVELS}.",
    ),
    resolver=read_order_books,
    description="Order book of the token, the same as on the FIX feed; null on the "
    "primary market, where there is none. Any number of tokens may be asked at once. "
    "Needs the scope `marketdata:read`.",
)
"""The field `orderBook` of a token."""
