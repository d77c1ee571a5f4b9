"""Drop copies: each event of a partner's orders once, in order, over any gap."""

from collections.abc import Callable, Iterator

import pytest

from accounts.access import Scope
from accounts.keys.models import ApiKey
from marketdata.fix.acceptor.reports import Place, read_reports
from marketdata.fix.client.client import Client, Refused
from marketdata.fix.client.initiator import LoggedOut, LogonRefused
from marketdata.fix.client.program import reports
from marketdata.fix.protocol.wire import Message
from marketdata.trading import market as markets
from marketdata.trading.busts import bust
from partnerapi.sandbox.data.approvals import approved_key
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.trader import COMP_ID, Trader
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    new_clients,
    place,
    placed,
    sell,
)
from tests.owner import break_table, tamper
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def client(trader: Trader, start_acceptor: Callable[..., Acceptor]) -> Iterator[Client]:
    acceptor = start_acceptor()
    with acceptor.client(sender=COMP_ID, key=trader.key) as client:
        yield client


def take(client: Client, count: int) -> list[Message]:
    """The next reports."""
    found: list[Message] = []
    while len(found) < count:
        message = client.receive(PATIENCE_SECONDS)
        assert message, f"{len(found)} reports of {count} came"
        assert message.type == "8", message
        found.append(message)
    return found


def ids(found: list[Message]) -> list[int]:
    return [int(one.get(17)) for one in found]


def test_each_event_of_an_order_is_reported(trader: Trader, client: Client):
    token, login = trader.token, trader.partner.login
    before = trader.events()
    rests = placed(token, sell(trader.seller, 10, 101, client_order_id="one"))
    markets.amend(rests.pk, rests.version, login, quantity=8)
    takes = placed(token, buy(trader.buyer, 3, 105, time_in_force="IOC"))
    markets.cancel_each(token.pk, [rests.pk], "BY_PARTNER", login)
    killed = placed(token, buy(trader.buyer, 5, 100, time_in_force="FOK"))
    bust(token.pk, 1, "A mistake", "staff@example.com", "other@example.com")
    told = take(client, 10)
    assert before == []
    assert ids(told) == trader.events()
    assert [(m.get(150), m.get(39), m.get(151), m.get(14)) for m in told] == [
        ("0", "0", "10", "0"),
        ("5", "0", "8", "0"),
        ("0", "0", "3", "0"),
        ("F", "1", "5", "3"),
        ("F", "2", "0", "3"),
        ("4", "4", "0", "3"),
        ("0", "0", "5", "0"),
        ("4", "4", "0", "0"),
        ("H", "2", "0", "0"),
        ("H", "4", "0", "0"),
    ]
    of = {m.get(17): m for m in told}
    assert [m.get(37).removeprefix("Order|") for m in told[3:5]] == [
        str(rests.pk), str(takes.pk)
    ]  # fmt: skip
    assert told[0].get(11) == "one"
    assert [m.get(851) for m in told[3:5]] == ["1", "2"]
    assert [(m.get(32), m.get(31), m.get(527)) for m in told[3:5]] == [
        ("3", "1.01", "1")
    ] * 2
    assert told[5].get(58) == "You cancelled it."
    assert told[7].get(37) == f"Order|{killed.pk}"
    for busted in told[8:]:
        trade = of[busted.get(19)]
        assert (trade.get(150), trade.get(37)) == ("F", busted.get(37))
    assert all(m.get(97) == "" for m in told)


def test_a_correction_is_reported_as_a_bust_and_a_trade(trader: Trader, client: Client):
    placed(trader.token, sell(trader.seller, 3, 101))
    placed(trader.token, buy(trader.buyer, 3, 105))
    by = ("A mistake", "staff@example.com", "other@example.com")
    bust(trader.token.pk, 1, *by, price=104)
    told = take(client, 8)[2:]
    assert [(m.get(150), m.get(527), m.get(31), m.get(14), m.get(6)) for m in told] == [
        *[("F", "1", "1.01", "3", "1.010000")] * 2,
        *[("H", "1", "1.01", "0", "0")] * 2,
        *[("F", "2", "1.04", "3", "1.040000")] * 2,
    ]
    assert [m.get(39) for m in told] == ["2"] * 6
    assert [m.get(851) for m in told[4:]] == ["2", "1"]


def test_what_came_before_is_sent_where_it_is_requested(
    trader: Trader, start_acceptor: Callable[..., Acceptor]
):
    trader.trade()
    trader.trade()
    events = trader.events()
    acceptor = start_acceptor()
    with acceptor.client(sender=COMP_ID, key=trader.key) as client:
        trader.trade()
        events = trader.events()
        assert ids(take(client, 4)) == events[8:]
        client.request_reports(0)
        told = take(client, 12)
        assert ids(told) == events
        # All of them may have been sent before, for what the acceptor knows.
        assert {m.get(97) for m in told[8:]} == {"Y"}
        client.request_reports(events[5])
        assert ids(take(client, 6)) == events[6:]
        trader.trade()
        told = take(client, 4)
        assert ids(told) == trader.events(events[-1])
        assert {m.get(97) for m in told} == {""}


@pytest.mark.parametrize(
    ("fields", "result", "text"),
    [
        ([(569, 0), (263, 1), (17, 0)], "8", "TradeRequestType(569) must be 1"),
        ([(569, 1), (263, 0), (17, 0)], "99", "SubscriptionRequestType(263) must be 1"),
        ([(569, 1), (263, 1)], "99", "ExecID(17) must be that of the last report"),
        ([(569, 1), (263, 1), (17, "x")], "99", "ExecID(17) must be that of the last"),
        ([(569, 1), (263, 1), (17, 10**9)], "99", "higher than that of your last"),
    ],
)
def test_another_request_is_refused(trader, client, fields, result, text):
    client.send("AD", (568, "R1"), *fields)
    refused = client.receive(PATIENCE_SECONDS)
    assert [refused.get(tag) for tag in (35, 568, 749, 750)] == [
        "AQ", "R1", result, "2"
    ]  # fmt: skip
    assert text in refused.get(58)
    trader.trade()
    assert ids(take(client, 4)) == trader.events()


@pytest.mark.parametrize("request_id", ["x" * 37, "é"])
def test_a_request_needs_a_short_printable_id(trader, client, request_id):
    client.send("AD", (568, request_id), (569, 1), (263, 1), (17, 0))
    refused = client.receive(PATIENCE_SECONDS)
    assert [refused.get(tag) for tag in (35, 372, 380)] == ["j", "AD", "0"]
    assert refused.get(58).startswith("TradeRequestID(568) must be 1 to 36 printable")
    trader.trade()
    assert ids(take(client, 4)) == trader.events()


def test_what_is_no_longer_kept_can_not_be_requested(trader: Trader, client: Client):
    trader.trade()
    first = trader.events()[0]
    take(client, 4)
    tamper(
        f"UPDATE issuers_eventhead SET pruned_sequence = {first} "
        f"WHERE partner_id = '{trader.partner.pk}'"
    )
    with pytest.raises(Refused, match=f"Events up to {first} are no longer kept"):
        client.request_reports(0)
    client.request_reports(first)
    assert ids(take(client, 3)) == trader.events(first)


def test_a_gap_is_filled_with_marked_reports(trader: Trader, client: Client):
    trader.trade()
    told = take(client, 4)
    # As if the third message and what follows had been lost.
    client.send("2", (7, told[2].sequence), (16, 0))
    again = take(client, 2)
    assert client.gaps == 1
    assert ids(again) == ids(told)[2:]
    assert {m.get(97) for m in again} == {"Y"}
    assert [m.fields[8:-1] for m in again] == [m.fields[7:-1] for m in told[2:]]
    trader.trade()
    assert [m.get(97) for m in take(client, 4)] == [""] * 4


def test_many_reports_wait_for_their_reader(trader: Trader, client: Client):
    for _ in range(3):
        place(
            trader.token,
            *(sell(trader.seller, 1, 100) for _ in range(60)),
            *(buy(trader.buyer, 1, 100) for _ in range(60)),
        )
    events = trader.events()
    assert len(events) == 3 * 240
    assert ids(take(client, len(events))) == events
    client.request_reports(0)
    assert ids(take(client, len(events))) == events


def test_each_kind_of_comp_id_answers_its_own_requests(trader, client):
    client.send("V", (262, "B"), (263, 1), (264, 0), (265, 1), (267, 1), (269, 0),
                (146, 1), (55, trader.token.symbol))  # fmt: skip
    client.send("D", (11, "x"), (55, "X"), (54, 1), (60, "20261120-09:08:07"), (40, 2))
    for type_ in ("V", "D"):
        refused = client.receive(PATIENCE_SECONDS)
        assert [refused.get(tag) for tag in (35, 372, 380)] == ["j", type_, "3"]
        assert refused.get(58).startswith("drop copy: ")


def test_market_data_has_no_reports(market: Market, acceptor: Acceptor):
    with acceptor.client() as client:
        client.send("AD", (568, "R"), (569, 1), (263, 1), (17, 0))
        refused = client.receive(PATIENCE_SECONDS)
        assert [refused.get(tag) for tag in (35, 372, 379)] == ["j", "AD", "R"]
        assert refused.get(58).startswith("read-only market data session")


def test_a_drop_copy_needs_the_scope_of_orders(
    trader: Trader, start_acceptor: Callable[..., Acceptor]
):
    acceptor = start_acceptor()
    wrong = approved_key(trader.partner, [Scope.MARKETDATA_READ])[1]
    with pytest.raises(LogonRefused, match="lacks the scope trading:read"):
        acceptor.client(sender=COMP_ID, key=wrong).logon()
    with acceptor.client(sender=COMP_ID, key=trader.key) as client:
        reading = [Scope.TRADING_READ.value]
        ApiKey.objects.get(partner=trader.partner, scopes=reading).narrow(scopes=[])
        with pytest.raises(LoggedOut, match="lacks the scope trading:read"):
            client.receive(PATIENCE_SECONDS)


def test_the_program_shows_each_report_once(trader: Trader, client: Client):
    trader.trade()
    followed = reports(client, 0)
    told = [next(followed) for _ in range(4)]
    assert ids(told) == trader.events()
    client.send("2", (7, told[1].sequence), (16, 0))
    trader.trade()
    told = [next(followed) for _ in range(4)]
    assert ids(told) == trader.events()[4:]


def test_another_partners_events_are_not_reported(trader: Trader, client: Client):
    stranger = new_clients(1)[0]
    deposit(stranger, 10_000)
    place(trader.token, buy(stranger, 1, 99))
    trader.trade()
    assert ids(take(client, 4)) == trader.events()


def test_each_place_of_a_partner_has_its_own_reports(trader: Trader):
    trader.trade()
    events = trader.events()
    partner_id = str(trader.partner.pk)
    read = read_reports([Place(partner_id, at) for at in (events[1], 0, events[-1])])
    found = [[one.sequence for one in batch.reports] for batch in read if batch]
    assert found == [events[2:], events, []]
    assert [batch.end for batch in read if batch] == [events[-1]] * 3


def test_an_event_without_its_order_is_not_left_out(trader: Trader, client: Client):
    trader.trade()
    order_id = take(client, 4)[0].get(37).removeprefix("Order|")
    tamper(f"DELETE FROM trading_order WHERE id = '{order_id}'")
    trader.trade()
    assert ids(take(client, 4)) == trader.events()[4:]
    with pytest.raises(LoggedOut, match="Internal error"):
        client.request_reports(0)


def test_a_copy_that_fell_behind_what_is_kept_ends(trader: Trader, client: Client):
    trader.trade()
    told = take(client, 4)
    pruned = trader.events()[1]
    tamper(
        f"UPDATE issuers_eventhead SET pruned_sequence = {pruned} "
        f"WHERE partner_id = '{trader.partner.pk}'"
    )
    trader.trade()
    assert ids(take(client, 4)) == trader.events()[4:]
    client.send("2", (7, told[0].sequence), (16, 0))
    with pytest.raises(LoggedOut, match=f"Events up to {pruned} are no longer kept"):
        client.receive(PATIENCE_SECONDS)


def test_a_failure_of_the_reading_ends_the_acceptor(
    trader: Trader, start_acceptor: Callable[..., Acceptor]
):
    acceptor = start_acceptor()
    with acceptor.client(sender=COMP_ID, key=trader.key) as client:
        break_table("issuers_eventhead")
        try:
            assert client.receive(PATIENCE_SECONDS).type == "B"
            with pytest.raises(LoggedOut):
                client.receive(PATIENCE_SECONDS)
            assert acceptor.process.wait(PATIENCE_SECONDS) == 1
        finally:
            tamper(
                "DROP VIEW issuers_eventhead",
                "ALTER TABLE whole RENAME TO issuers_eventhead",
            )
    logged = acceptor.log.read_text()
    assert "Drop copies can no longer be read" in logged
    assert "Exception in thread" not in logged
