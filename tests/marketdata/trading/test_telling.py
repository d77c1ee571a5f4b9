"""Reports of trades: a register once, regardless of the number of its trades."""

from accounts.keys.models import Partner
from issuers.models import Event, EventType
from marketdata.trading.models import OrderEvent
from marketdata.trading.telling import Fill, tell_registers
from partnerapi.sandbox.data.approvals import approved_grant
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    sell,
)


def test_a_register_that_trades_moved_is_told_once(one_person: None):
    token = new_market()
    watcher = Partner.objects.create(login="watcher", name="Watcher")
    approved_grant(watcher, token.issuer)
    buyer, seller = new_clients(2)
    deposit(buyer, 100_000)
    give(token, {seller: 100})
    as_committed()
    told = Event.objects.filter(partner=watcher, type="REGISTER_CHANGED")
    before = told.count()
    for _ in range(3):
        place(token, sell(seller, 5, 100), buy(buyer, 5, 100))
        as_committed()
    # A trader does not wait for partners who may see the register.
    assert told.count() == before
    assert (tell_registers(), tell_registers()) == (1, 0)
    as_committed()
    token.ledger_head.refresh_from_db()
    last = told.order_by("sequence").last()
    assert last is not None
    assert told.count() == before + 1
    assert last.ledger_sequence == token.ledger_head.last_seq


def test_every_event_of_an_order_is_told_to_its_partner_once(one_person: None):
    token = new_market()
    buyer, seller = (new_clients(1)[0] for _ in range(2))
    deposit(buyer, 100_000)
    give(token, {seller: 100})
    place(token, sell(seller, 5, 99), sell(seller, 5, 100), buy(buyer, 8, 101))
    as_committed()
    log = OrderEvent.objects.filter(token=token, order__isnull=False)
    told = Event.objects.filter(token_id=token.pk, order_event__isnull=False)
    told = told.exclude(type=EventType.MARKET_PHASE_CHANGED)
    assert sorted(told.values_list("order_event", "partner")) == sorted(
        log.values_list("number", "order__partner")
    )
    # Each execution has two sides, and each side its own id.
    fills = Fill.objects.filter(token=token)
    assert fills.count() == 4
    assert len(set(fills.values_list("id", flat=True))) == 4
    assert sum(fill.quantity for fill in fills.filter(account=buyer)) == 8
