"""Markets, orders and executions as staff see them."""

import re
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import carry_out, decide
from accounts.approvals.models import ApprovalRequest
from accounts.people.models import User
from issuers.compliance import restrictions
from issuers.models import Token
from marketdata.trading import uncrossing
from marketdata.trading.models import Market, Order
from marketdata.trading.phases import change_phase
from partnerapi.sandbox.data.approvals import DECIDER, colleague
from partnerapi.staff.approvals.kinds import KINDS
from partnerapi.staff.market import market as market_page
from partnerapi.staff.market.auction import time_to_go
from tests.approved import asker
from tests.marketdata.trading.test_calls import OVER, call, end_call
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    placed,
    sell,
)
from tests.owner import appoint, tamper


class Traded:
    """A trade of 5 units at 1.00 €, which left 5 more for sale."""

    def __init__(self) -> None:
        self.token: Token = new_market()
        self.buyer, self.seller = new_clients(2)
        deposit(self.buyer, 10_000)
        give(self.token, {self.seller: 50})
        self.sold: Order = placed(
            self.token, sell(self.seller, 10, 100, client_order_id="S-1")
        )
        self.bought: Order = placed(self.token, buy(self.buyer, 5, 100))
        as_committed()

    @property
    def page(self) -> str:
        return f"/admin/token/{self.token.pk}/market/"

    @property
    def execution(self) -> str:
        return f"/admin/token/{self.token.pk}/trade/1/"


@pytest.fixture
def traded(db: None) -> Traded:
    return Traded()


def of_role(role: str, email: str = "role@staff.example") -> Client:
    user = User.objects.create_user(
        email, type="INDIVIDUAL", first_name=role, is_staff=True
    )
    user.groups.add(Group.objects.get(name=role))
    appoint(user)
    client = Client()
    client.force_login(user)
    return client


def statements(staff: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert staff.get(path).status_code == 200
    return len(captured)


def carried_out(path: str) -> None:
    """What the page of a request shows is approved by someone else, and done."""
    request = ApprovalRequest.objects.get(pk=path.split("/")[-3])
    decide(request, colleague(DECIDER), is_approved=True)
    request.refresh_from_db()
    carry_out(request, KINDS[request.kind])


def test_a_market_shows_its_phase_its_prices_and_its_trades(traded: Traded, staff):
    page = staff.get(traded.page).content.decode()
    for said in (
        'continuous">Continuous</strong>',
        "Closed, ",
        "all day, ending 22:00",
        "€1.00; limits from €0.80 to €1.20",
        "no bids",
        "5 at €1.00",
        f'href="{traded.execution}"',
        f'href="/admin/token/{traded.token.pk}/book/"',
    ):
        assert said in page
    wall = staff.get("/admin/books/")
    assert f'<a href="{traded.page}">{traded.token.symbol}</a>' in wall.text
    [card] = wall.context["markets"]
    assert (card.last, card.bid, card.ask) == ("€1.00", "—", "€1.00")
    assert card.change == "0.00 %"
    assert (card.volume, card.value, card.alerts) == (5, "€5.00", ["No bids"])
    assert traded.page in staff.get(traded.page.replace("market", "book")).text


def test_one_halts_a_market_and_two_reopen_it(traded: Traded, staff):
    market = traded.token.market
    empty = staff.post(traded.page, {"reason": " "})
    assert empty.status_code == 400
    assert "Enter why the market is halted." in empty.content.decode()
    assert staff.post(traded.page, {"reason": "News"}).status_code == 302
    market.refresh_from_db()
    assert (market.phase, market.halt_reason) == ("HALTED", "News")
    assert LogEntry.objects.get().change_message == "CONTINUOUS → HALTED."
    tiles = {tile.title: tile.found for tile in staff.get("/admin/").context["tiles"]}
    halted = tiles["Halted markets"]
    assert halted.count == staff.get(halted.link).context["cl"].result_count == 1
    again = staff.post(traded.page, {"reason": "News"})
    assert again.status_code == 400
    assert "cannot become HALTED" in again.content.decode()
    answer = staff.get(traded.page)
    assert 'halted">Halted</strong>: News' in answer.content.decode()
    asked = staff.post(
        answer.context["ask_reopening"],
        {"token": traded.token.symbol, "phase": "CALL", "reason": "Out"},
    )
    assert asked.status_code == 302
    assert asked["Location"] in staff.get(traded.page).content.decode()
    carried_out(asked["Location"])
    market.refresh_from_db()
    assert market.phase == "CALL"
    refused = staff.post(
        "/admin/ask/reopen/",
        {"token": traded.token.symbol, "phase": "CLOSED", "reason": "Out"},
    )
    assert "no halted market" in refused.content.decode()


def test_who_only_reads_markets_halts_none(traded: Traded):
    support = of_role("Support")
    answer = support.get(traded.page)
    assert "but not halt it" in answer.content.decode()
    assert support.post(traded.page, {"reason": "News"}).status_code == 403
    traded.token.market.refresh_from_db()
    assert traded.token.market.phase == "CONTINUOUS"


def test_an_order_shows_what_happened_to_it(traded: Traded, staff, monkeypatch):
    path = f"/admin/order/{traded.sold.pk}/"
    answer = staff.get(path)
    kinds = [event.kind for event, _ in answer.context["events"]]
    assert kinds == ["ORDER_TRADED", "ORDER_ACCEPTED"]
    page = answer.content.decode()
    assert "<code>S-1</code>" in page
    assert "5 for €5.00; 5 remain" in page
    assert page.count(f'href="{traded.execution}"') == 2
    monkeypatch.setattr("partnerapi.staff.market.order.EVENTS_OF_A_PAGE", 1)
    older = staff.get(path).context["older"]
    [(first, _)] = staff.get(path, {"before": older}).context["events"]
    assert first.kind == "ORDER_ACCEPTED"


def test_a_trade_shows_how_it_was_settled_and_is_busted_by_two(traded: Traded, staff):
    answer = staff.get(traded.execution)
    page = answer.content.decode()
    assert f"?seq={answer.context['entry'].seq}#entry-" in page
    for order in (traded.bought, traded.sold):
        assert f'href="/admin/order/{order.pk}/"' in page
    assert answer.context["payment"].amount == 500
    asked = staff.post(
        answer.context["ask_bust"],
        {"token": traded.token.symbol, "trade": 1, "reason": "Mistyped"},
    )
    assert asked.status_code == 302
    assert asked["Location"] in staff.get(traded.execution).content.decode()
    carried_out(asked["Location"])
    as_committed()
    page = staff.get(traded.execution).content.decode()
    assert 'busted">Busted</strong>' in page
    assert DECIDER in page
    assert 'busted">busted</strong>' in staff.get(traded.page).content.decode()
    unknown = staff.post(
        "/admin/ask/bust/",
        {"token": traded.token.symbol, "trade": 9, "reason": "Mistyped"},
    )
    assert "has no trade 9" in unknown.content.decode()
    assert staff.get(traded.execution.replace("/1/", f"/{2**70}/")).status_code == 404


def test_a_form_says_which_rule_forbids_a_correction(traded: Traded, staff):
    placed(traded.token, buy(traded.buyer, 5, 101))
    terms = restrictions.Terms("FREEZE", "A court", traded.token)
    restrictions.restrict(traded.buyer.user, terms, asker())
    as_committed()
    fields = {"token": traded.token.symbol, "trade": 2, "reason": "Mistyped"}
    answer = staff.post("/admin/ask/bust/", fields | {"price": "1.01"})
    assert "The receiver is frozen." in answer.content.decode()


def test_more_trades_take_no_more_statements(traded: Traded, staff, monkeypatch):
    paths = [traded.page, f"/admin/order/{traded.sold.pk}/"]
    # The first one also asks what is known from then on.
    statements(staff, traded.page)
    before = [statements(staff, path) for path in paths]
    place(traded.token, *(buy(traded.buyer, 1, 100) for _ in range(4)))
    as_committed()
    assert [statements(staff, path) for path in paths] == before
    assert max(*before, statements(staff, traded.execution)) <= 19
    monkeypatch.setattr(market_page, "TRADES_OF_A_PAGE", 2)
    older = staff.get(traded.page).context["older"]
    found = staff.get(traded.page, {"before": older}).context["executions"]
    assert [execution.sequence for execution, *_ in found] == [3, 2]


def test_orders_are_listed_by_identifiers(traded: Traded, staff):
    def found(text: str) -> set[object]:
        answer = staff.get("/admin/trading/order/", {"q": text})
        return {order.pk for order in answer.context["cl"].result_list}

    seller: Account = traded.seller
    assert found(f"Order|{traded.sold.pk}") == found("S-1") == {traded.sold.pk}
    for text in (seller.pk, seller.user_id):
        assert found(str(text)) == {traded.sold.pk}
    User.objects.filter(pk=seller.user_id).update(email="sue@example.com")
    assert found("Sue@example.com") == {traded.sold.pk}
    assert found("S-2") == set()


def test_all_markets_are_halted_at_once(traded: Traded, staff):
    other = new_market()
    assert staff.post("/admin/books/", {"reason": " "}).status_code == 400
    said = {"reason": "Power cut"}
    assert of_role("Support").post("/admin/books/", said).status_code == 403
    answer = staff.post("/admin/books/", said, follow=True)
    assert "2 markets halted" in answer.text
    for token in (traded.token, other):
        token.market.refresh_from_db()
        assert (token.market.phase, token.market.halt_reason) == ("HALTED", "Power cut")
    assert LogEntry.objects.count() == 2
    [first, second] = staff.get("/admin/books/rows/").context["markets"]
    assert first.alerts == second.alerts == ["Halted: Power cut"]
    assert "0 markets halted" in staff.post("/admin/books/", said, follow=True).text


def test_the_line_of_a_day_has_its_scale(traded: Traded, staff):
    tamper(
        "INSERT INTO issuers_tokenprice (token_id, number, price_cents, source,"
        f" effective_at, recorded_by) SELECT '{traded.token.pk}', max(number) + 1,"
        " 1234, 'MANUAL', clock_timestamp() - interval '1 hour', 'me'"
        " FROM issuers_tokenprice"
    )
    answer = staff.get("/admin/books/rows/")
    [card] = answer.context["markets"]
    assert card.low != card.high
    scale = f"<span>{card.high}</span><span>{card.low}</span>"
    assert f'<p class="scale" aria-hidden="true">{scale}</p>' in answer.text
    now = answer.context["at"]
    ends = f"<span>{now:%H:%M} yesterday</span><span>{now:%H:%M} UTC</span>"
    assert f'<p class="times" aria-hidden="true">{ends}</p>' in answer.text


def test_more_markets_take_no_more_statements(traded: Traded, staff):
    before = statements(staff, "/admin/books/")
    for _ in range(3):
        new_market()
    assert statements(staff, "/admin/books/") == before <= 20


def test_an_order_is_looked_up_by_an_index(db: None):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = Order.objects.filter(client_order_id="S-1").explain()
    assert "order_by_client_order_id" in plan


def test_a_call_and_its_auction_stand_on_the_page(traded: Traded, staff: Client):
    call(traded.token)
    placed(traded.token, buy(traded.buyer, 2, 100))
    uncrossing.indicate(traded.token.pk)
    during = row_of_auction(staff, traded)
    assert during == ["Call", "€1.00", "2", "3 to sell"]
    end_call(traded.token)
    assert row_of_auction(staff, traded) == ["Traded", "€1.00", "2", "3 to sell"]


def row_of_auction(staff: Client, traded: Traded) -> list[str]:
    page = staff.get(traded.page).content.decode()
    [_, after] = page.split('id="auctions"')
    return re.findall(r"<td[^>]*>([^<]*)</td>", after.split("</table>")[0])


def page_of(traded: Traded, market: Market) -> str:
    return f"/admin/token/{traded.token.pk}/auction/{market.last_phase_event}/"


def test_an_auction_has_a_page_with_its_book(traded: Traded, staff: Client):
    call(traded.token)
    market = Market.objects.get(token=traded.token)
    placed(traded.token, buy(traded.buyer, 2, 102))
    placed(traded.token, buy(traded.buyer, 4, 99))
    page = page_of(traded, market)
    shown = staff.get(page)
    assert shown.context["price"] == "none"
    uncrossing.indicate(traded.token.pk)
    assert f'href="{page}"' in staff.get(traded.page).text
    assert f'href="{page}"' in staff.get("/admin/books/rows/").text
    shown = staff.get(page)
    assert f'data-poll="{page}figures/"' in shown.text
    given = shown.context
    facts = [given[name] for name in ("state", "price", "quantity", "imbalance")]
    assert facts == ["Call", "€1.00", 2, "3 to sell"]
    assert re.fullmatch("4 min [0-9]+ s, and up to a minute more", given["time_to_go"])
    assert "ends_at" in given["auction"].get_deferred_fields()
    rows = [
        (row.limit, row.buys, row.sells, row.bid, row.offered, row.volume, row.is_price)
        for row in given["levels"]
    ]
    assert rows == [
        ("€1.02", 2, 0, 2, 5, 2, False),
        ("€1.00", 0, 5, 2, 5, 2, True),
        ("€0.99", 4, 0, 6, 0, 0, False),
    ]
    assert "Bid and offered at each limit" in shown.text
    part = staff.get(page + "figures/")
    assert "€1.02" in part.text
    assert "<html" not in part.text


def test_the_page_of_an_auction_shows_its_result(
    traded: Traded, staff: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(uncrossing, "FILLS", 1)
    give(traded.token, {traded.buyer: 3})
    call(traded.token)
    market = Market.objects.get(token=traded.token)
    for quantity in (2, 1):
        placed(traded.token, buy(traded.buyer, quantity, 102))
    own = placed(traded.token, sell(traded.buyer, 1, 99))
    page = page_of(traded, market)
    tamper(OVER)
    assert uncrossing.end(traded.token.pk)
    assert uncrossing.end(traded.token.pk)
    assert "1 of 2 fills" in staff.get(page).text
    assert not uncrossing.end(traded.token.pk)
    shown = staff.get(page)
    assert "data-poll" not in shown.text
    given = shown.context
    facts = [given[name] for name in ("state", "price", "quantity", "imbalance")]
    assert facts == ["Traded", "€1.00", 3, "2 to sell"]
    assert [row[0].sequence for row in given["executions"]] == [2, 3]
    [(event, limit)] = given["removed"]
    assert (event.order_id, limit, event.reason) == (own.pk, "€0.99", "SELF_TRADE")
    assert given["ended"].phase == "CONTINUOUS"
    assert statements(staff, page) <= 20


def test_a_call_that_was_halted_or_traded_nothing_has_a_page(
    traded: Traded, staff: Client
):
    call(traded.token)
    halted = page_of(traded, Market.objects.get(token=traded.token))
    change_phase(traded.token.pk, "HALTED", asker(), "News")
    assert "News" in (shown := staff.get(halted)).text
    assert shown.context["state"] == "Halted"
    other = new_market()
    call(other)
    empty = f"/admin/token/{other.pk}/auction/"
    empty += f"{Market.objects.get(token=other).last_phase_event}/"
    assert "No orders rest in this call." in staff.get(empty).text
    end_call(other)
    assert staff.get(empty).context["state"] == "No trade"
    assert staff.get(empty.replace("/auction/", "/auction/1")).status_code == 404
    assert staff.get(f"/admin/token/{other.pk}/auction/{2**70}/").status_code == 404


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (-3, "less than a minute"),
        (20, "20 s, and up to a minute more"),
        (90, "1 min 30 s, and up to a minute more"),
        (3_600, "1 hour, and up to a minute more"),
        (9_000, "2 hours 30 min, and up to a minute more"),
    ],
)
def test_the_time_to_go_is_that_until_the_announced_end(left: int, said: str):
    assert time_to_go(timedelta(seconds=left)) == said
