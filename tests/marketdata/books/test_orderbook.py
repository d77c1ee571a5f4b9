"""The order book against a dictionary, and case by case."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketdata.books.orderbook import (
    ASK,
    BID,
    CHANGE,
    DELETE,
    NEW,
    Change,
    CrossedBook,
    ImpossibleChange,
    Ladder,
    Level,
    OrderBook,
    Update,
    difference,
)

BOOK = (
    Change(BID, 100, 5),
    Change(BID, 99, 7),
    Change(BID, 97, 1),
    Change(ASK, 102, 2),
    Change(ASK, 103, 9),
)

# Narrow ranges, so that levels come, change, go and cross often.
one_change = st.tuples(
    st.sampled_from([BID, ASK]), st.integers(1, 12), st.integers(0, 3)
)
messages = st.lists(one_change, max_size=6)


class Model:
    """The oracle: a dictionary of (side, price), scanned at every question."""

    def __init__(self):
        self.levels = {}

    def apply(self, message):
        levels = dict(self.levels)
        for side, price, quantity in message:
            if quantity:
                levels[side, price] = quantity
            elif (side, price) in levels:
                del levels[side, price]
            else:
                return ImpossibleChange
        bids = [price for side, price in levels if side == BID]
        asks = [price for side, price in levels if side == ASK]
        if any(bid >= ask for bid in bids for ask in asks):
            return CrossedBook
        self.levels = levels
        return None

    def side(self, wanted):
        found = [(p, q) for (side, p), q in self.levels.items() if side == wanted]
        return sorted(found, reverse=wanted == BID)


def ladder_of(message) -> Ladder:
    """The ladder that a message leaves if it is possible."""
    book = OrderBook()
    for change in message:
        try:
            book.apply([change])
        except (ImpossibleChange, CrossedBook):
            continue
    return book.ladder()


@given(st.lists(messages, max_size=30))
def test_is_what_a_dictionary_says(history):
    book, model = OrderBook(), Model()
    for message in history:
        refused = model.apply(message)
        if refused:
            before = deepcopy(book.ladder())
            with pytest.raises(refused):
                book.apply(message)
            assert book.ladder() == before
        else:
            book.apply(message)
        bids, asks = model.side(BID), model.side(ASK)
        assert book.ladder() == (tuple(bids), tuple(asks))
        assert book.ladder(2) == (tuple(bids[:2]), tuple(asks[:2]))
        assert book.best(BID) == (bids[0] if bids else None)
        assert book.best(ASK) == (asks[0] if asks else None)
        for price in range(13):
            assert book.quantity(BID, price) == model.levels.get((BID, price), 0)
            assert book.quantity(ASK, price) == model.levels.get((ASK, price), 0)


@given(messages, messages, st.integers(0, 4))
def test_a_difference_turns_the_one_ladder_into_the_other(one, other, depth):
    before = OrderBook((BID, *level) for level in ladder_of(one).bids)
    before.apply((ASK, *level) for level in ladder_of(one).asks)
    after = OrderBook((BID, *level) for level in ladder_of(other).bids)
    after.apply((ASK, *level) for level in ladder_of(other).asks)
    shown = before.ladder(depth)
    held = {(side, price): q for side in (BID, ASK) for price, q in shown[side]}
    updates = difference(shown, after.ladder(depth))
    for action, side, price, quantity in updates:
        assert ((side, price) in held) == (action != NEW)
        if action == DELETE:
            assert quantity == 0
            del held[side, price]
        else:
            assert held.get((side, price)) != quantity
            held[side, price] = quantity
        for of in (BID, ASK):
            levels = [price for side, price in held if side == of]
            most = max(len(shown[of]), len(after.ladder(depth)[of]))
            assert len(levels) <= most
    wanted = after.ladder(depth)
    assert held == {(side, p): q for side in (BID, ASK) for p, q in wanted[side]}
    assert updates == sorted(updates, key=lambda update: update.action != DELETE)


def test_an_empty_book_has_no_best():
    book = OrderBook()
    assert book.best(BID) is None
    assert book.best(ASK) is None
    assert book.ladder() == Ladder((), ())
    assert book.quantity(BID, 100) == 0


def test_shows_its_best_levels_first():
    book = OrderBook(BOOK)
    assert book.best(BID) == Level(100, 5)
    assert book.best(ASK) == Level(102, 2)
    assert book.ladder() == Ladder(
        (Level(100, 5), Level(99, 7), Level(97, 1)), (Level(102, 2), Level(103, 9))
    )
    assert book.ladder(1) == Ladder((Level(100, 5),), (Level(102, 2),))
    assert book.quantity(BID, 99) == 7
    assert book.quantity(ASK, 99) == 0


def test_books_of_the_same_levels_are_equal():
    assert OrderBook(BOOK) == OrderBook(reversed(BOOK))
    assert OrderBook(BOOK) != OrderBook(BOOK[1:])
    assert OrderBook() != ()


def test_may_be_crossed_within_a_message():
    book = OrderBook(BOOK)
    book.apply([(BID, 102, 4), (ASK, 102, 0)])
    assert book.ladder(1) == Ladder((Level(102, 4),), (Level(103, 9),))


def test_a_message_may_say_a_level_twice():
    book = OrderBook(BOOK)
    book.apply([(BID, 98, 1), (BID, 98, 0), (BID, 100, 6), (BID, 100, 8)])
    assert book == OrderBook([*BOOK[1:], (BID, 100, 8)])


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        (
            (2, 100, 5),
            "Change of side 2, price 100, quantity 5: the side must be 0 (bid) or 1 "
            "(ask).",
        ),
        (
            (-1, 100, 5),
            "Change of side -1, price 100, quantity 5: the side must be 0 (bid) or "
            "1 (ask).",
        ),
        (
            (BID, 100, -1),
            "Change of side 0, price 100, quantity -1: the quantity must be an "
            "integer, 0 or more.",
        ),
        (
            (BID, 100, 1.5),
            "Change of side 0, price 100, quantity 1.5: the quantity must be an "
            "integer, 0 or more.",
        ),
        (
            (BID, 98.5, 1),
            "Change of side 0, price 98.5, quantity 1: the price must be an integer.",
        ),
        (
            (BID, "98", 1),
            "Change of side 0, price '98', quantity 1: the price must be an integer.",
        ),
        (
            (ASK, 100, 0),
            "Change of side 1, price 100, quantity 0: there is no level at this price "
            "to remove.",
        ),
    ],
)
def test_refuses_what_is_impossible_and_stays_as_it_was(change, refusal):
    book = OrderBook(BOOK)
    with pytest.raises(ImpossibleChange) as refused:
        book.apply([(BID, 100, 0), (BID, 101, 3), (ASK, 102, 8), change])
    assert str(refused.value) == refusal
    assert book == OrderBook(BOOK)
    assert book.ladder() == OrderBook(BOOK).ladder()


@pytest.mark.parametrize("broken", [(BID, 100), (BID, 98, 1, 1), (BID, [], 1), 5])
def test_stays_as_it_was_when_a_change_is_no_change(broken):
    book = OrderBook(BOOK)
    with pytest.raises((TypeError, ValueError)):
        book.apply([(BID, 100, 0), (BID, 98, 3), broken])
    assert book.ladder() == OrderBook(BOOK).ladder()


@pytest.mark.parametrize("price", [102, 104])
def test_refuses_to_be_crossed_after_a_message(price):
    book = OrderBook(BOOK)
    with pytest.raises(CrossedBook) as refused:
        book.apply([(BID, 100, 0), (BID, price, 4)])
    assert str(refused.value) == (
        f"After the message the best bid {price} is not below the best ask 102."
    )
    assert book.ladder() == OrderBook(BOOK).ladder()


def test_a_difference_deletes_first():
    before = OrderBook(BOOK).ladder()
    book = OrderBook(BOOK)
    book.apply([(BID, 101, 3), (BID, 99, 0), (ASK, 102, 0), (ASK, 103, 1)])
    assert difference(before, book.ladder()) == [
        Update(DELETE, BID, 99, 0),
        Update(DELETE, ASK, 102, 0),
        Update(NEW, BID, 101, 3),
        Update(CHANGE, ASK, 103, 1),
    ]
    assert difference(before, before) == []
