"""Order books and FIX sessions as staff watch them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from issuers.models import Token
from issuers.register import ledger
from marketdata.books.log import Deal, Message, record
from marketdata.books.orderbook import ASK, BID, Change
from marketdata.models import FixSession
from partnerapi.staff.market import books, wall
from tests.api.test_order_books import ACTOR, levels, traded
from tests.characters import World


@pytest.fixture
def token(world: World) -> Token:
    return traded(world.listed, "TRD")


def shown(rows: list[books.Row]) -> list[tuple[str, int]]:
    return [(row.price.removeprefix("€"), row.quantity) for row in rows]


def test_the_ladder_is_the_book(token: Token, staff):
    record(token.pk, [levels(1000, 12)], ACTOR)
    record(token.pk, [Message([Change(BID, 1000, 5)], [Deal(1001, 3)])], ACTOR)
    answer = staff.get(f"/admin/token/{token.pk}/book/")
    ladder = answer.context["ladder"]
    assert shown(ladder.bids[:2]) == [("10.00", 5), ("9.99", 2)]
    assert shown(ladder.asks[-2:]) == [("10.02", 2), ("10.01", 1)]
    assert len(ladder.bids) == len(ladder.asks) == books.DEPTH
    assert ladder.spread == "€0.01"
    assert [(price, units) for _, price, units in ladder.trades] == [("€10.01", 3)]
    assert ladder.bids[0].percent == "50.00"
    assert answer.context["line"].low == "€10.01"


def test_a_poll_answers_what_is_new(token: Token, staff):
    path = f"/admin/token/{token.pk}/book/ladder/"
    record(token.pk, [levels(1000, 2)], ACTOR)
    first = staff.get(path)
    same = staff.get(path, headers={"If-None-Match": first["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    record(token.pk, [Message([Change(ASK, 1001, 9)])], ACTOR)
    with CaptureQueriesContext(connection) as captured:
        new = staff.get(path, headers={"If-None-Match": first["ETag"]})
    assert new.status_code == 200
    assert "<html" not in new.content.decode()
    # The session, its user, the token, the book, its trades.
    assert len(captured) <= 5


def test_each_state_of_a_book_is_said(token: Token, world: World, staff, monkeypatch):
    def page(of: Token) -> str:
        return staff.get(f"/admin/token/{of.pk}/book/").content.decode()

    assert "is on the primary market" in page(world.public_token)
    path = f"/admin/token/{world.public_token.pk}/book/ladder/"
    assert staff.get(path).status_code == 204
    empty = page(token)
    assert "No bids." in empty
    assert "No asks." in empty
    assert "no change yet" in empty
    assert "No price in the last 24 hours." in empty
    record(token.pk, [Message([Change(ASK, 1001, 9)])], ACTOR)
    assert "No bids." in page(token)
    assert "one side only" in page(token)
    assert "not changed" not in page(token)
    monkeypatch.setattr(books, "QUIET_SECONDS", 0)
    assert "not changed" in page(token)


def test_the_list_of_books_takes_as_many_statements_for_more(
    world: World, staff, monkeypatch
):
    def read(path: str = "/admin/books/"):
        with CaptureQueriesContext(connection) as captured:
            context = staff.get(path).context
        return len(captured), [book.token.symbol for book in context["fed"]]

    first = traded(world.listed, "TRD0")
    record(first.pk, [levels(1000, 2)], ACTOR)
    one, _ = read()
    for number in range(1, 4):
        traded(world.listed, f"TRD{number}")
    assert read() == (one, ["TRD0", "TRD1", "TRD2", "TRD3"])
    monkeypatch.setattr(wall, "BOOKS_OF_A_PAGE", 2)
    assert staff.get("/admin/books/").context["following"] == "TRD1"
    assert read("/admin/books/?after=TRD1")[1] == ["TRD2", "TRD3"]


def test_a_days_line_holds_the_newest_prices(token: Token, monkeypatch):
    for cents in (100, 300, 200):
        ledger.set_price(token.pk, cents, "MANUAL", ACTOR)
    at = timezone.now()
    line = books.day_line(token, at)
    points = [tuple(map(float, point.split(","))) for point in line.points.split()]
    assert [y for _, y in points] == [116, 4, 60, 60]
    assert points[-1][0] == books.WIDTH
    assert line.is_whole
    monkeypatch.setattr(books, "MOST_PRICES", 2)
    assert not books.day_line(token, at).is_whole
    assert books.day_line(token, at).low == "€2.00"
    assert books.day_line(token, at + timedelta(days=2)) is None


def test_sessions_say_how_they_are(world: World, staff):
    FixSession.objects.bind(world.partner, 4)
    now = timezone.now()
    for number, (enabled, since, heard) in enumerate(
        [
            (True, now, now),
            (True, now - timedelta(hours=1), now - timedelta(minutes=9)),
            (True, None, now),
            (False, None, None),
        ],
        1,
    ):
        FixSession.objects.filter(comp_id=f"PARTNER{number:03}").update(
            enabled=enabled, connected_since=since, last_heartbeat_at=heard
        )
    rows = staff.get("/admin/marketdata/fixsession/").context["cl"].result_list
    page = staff.get("/admin/marketdata/fixsession/").content.decode()
    assert len(rows) == 4
    found = [page.index(f'">{word}</strong>') for word in (
        "connected", "silent", "not connected", "switched off"
    )]  # fmt: skip
    assert found == sorted(found)
