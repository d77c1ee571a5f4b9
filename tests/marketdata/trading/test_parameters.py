"""Parameters of markets: from when they hold, what they admit, who may set them."""

from datetime import date, time, timedelta
from random import Random
from typing import Any
from uuid import UUID

import pytest
from django.db import Error, transaction
from django.utils import timezone

from accounts.approvals.four_eyes import NotApproved
from accounts.approvals.models import ApprovalKind
from issuers.models import Token
from issuers.models.events import Event, EventType
from marketdata.trading import market, phases
from marketdata.trading.in_force import OrderStatusReason
from marketdata.trading.models import (
    Market,
    MarketParameters,
    Order,
    OrderEvent,
)
from marketdata.trading.parameters import (
    ParametersRefused,
    announce_due,
    in_force,
    latest,
    parameters_content,
    parameters_of,
    set_parameters,
)
from marketdata.trading.ticks import Ticks
from partnerapi.core.errors import PartnerAPIError
from partnerapi.core.times import to_rfc3339
from tests.approved import WHY, asker, carry_out_requests, file_and_approve
from tests.characters import Ask
from tests.marketdata.trading.test_calls import breaches
from tests.marketdata.trading.test_session_times import around
from tests.marketdata.trading.trading import (
    approved_parameters,
    as_committed,
    buy,
    codes,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    placed,
    purse,
    reopen,
    sell,
    units,
)
from tests.owner import tamper


class Traders:
    def __init__(self, price: int = 1_000) -> None:
        self.token = new_market(price)
        self.buyer, self.seller = new_clients(2)
        give(self.token, {self.seller: 10_000})
        deposit(self.buyer, 100_000_000)


def refusal_of(token: Token, request: market.Request) -> PartnerAPIError:
    [result] = place(token, request)
    assert isinstance(result, PartnerAPIError), result
    return result


def test_ticks_follow_the_price():
    ticks = Ticks(1, [1_000, 10_000], [5, 100])
    found = [ticks.at(price) for price in (1, 999, 1_000, 9_999, 10_000, 10**9)]
    assert found == [1, 1, 5, 5, 100, 100]
    assert [ticks.has(price) for price in (999, 1_001, 1_005, 10_050)] == [
        True, False, True, False,
    ]  # fmt: skip
    assert ticks.is_sound
    assert not Ticks(1, [1_000], []).is_sound
    assert not Ticks(1, [1_000, 1_000], [5, 10]).is_sound
    assert not Ticks(3, [1_000], [5]).is_sound
    assert not Ticks(1, [1_002], [5]).is_sound
    assert not Ticks(0).is_sound


@pytest.mark.django_db
def test_orders_meet_new_parameters_from_the_next_opening_on():
    of = Traders()
    made = approved_parameters(
        of.token, tick_floors=[1_000], tick_steps=[5], lot_units=10
    )
    found = Market.objects.get(token=of.token)
    assert made.valid_from == found.next_phase_at == made.opens_at
    assert (found.lot_units, found.tick_steps) == (1, [])
    assert codes(place(of.token, buy(of.buyer, 1, 1_001))) == ["OPEN"]
    as_committed()
    reopen(of.token)
    found.refresh_from_db()
    assert (found.lot_units, found.tick_steps) == (10, [5])
    tick = refusal_of(of.token, buy(of.buyer, 10, 1_001))
    assert (tick.code, tick.details["tickSize"]) == ("TICK_SIZE", 5)
    lot = refusal_of(of.token, buy(of.buyer, 15, 1_000))
    assert (lot.code, lot.details["lotSize"]) == ("LOT_SIZE", 10)
    assert codes(place(of.token, buy(of.buyer, 10, 999))) == ["OPEN"]
    as_committed()


@pytest.mark.django_db
def test_the_highest_value_and_the_most_units_are_inclusive():
    of = Traders()
    approved_parameters(of.token, most_value=410_000, most_units=500)
    as_committed()
    reopen(of.token)
    assert codes(place(of.token, buy(of.buyer, 410, 1_000))) == ["OPEN"]
    value = refusal_of(of.token, buy(of.buyer, 411, 1_000))
    assert (value.code, value.details["maximum"]) == ("ORDER_VALUE_TOO_LARGE", 410_000)
    assert codes(place(of.token, buy(of.buyer, 500, 800))) == ["OPEN"]
    most = refusal_of(of.token, buy(of.buyer, 501, 800))
    assert (most.code, most.details["maximum"]) == ("ORDER_VALUE_TOO_LARGE", 500)
    as_committed()


@pytest.mark.django_db
def test_the_opening_ends_what_the_parameters_no_longer_admit():
    of = Traders()
    off_tick = placed(of.token, buy(of.buyer, 20, 1_001))
    off_lot = placed(of.token, buy(of.buyer, 15, 995))
    off_band = placed(of.token, sell(of.seller, 20, 1_150))
    filled = placed(of.token, buy(of.buyer, 15, 1_005))
    placed(of.token, sell(of.seller, 5, 1_005))
    stays = placed(of.token, sell(of.seller, 20, 1_050))
    approved_parameters(of.token, tick_cents=5, lot_units=10, collar_bps=1_000)
    as_committed()
    assert Order.objects.filter(token=of.token, status="OPEN").count() == 5
    reopen(of.token)
    as_committed()
    for order in (off_tick, off_lot, off_band):
        order.refresh_from_db()
        assert (order.status, order.status_reason) == (
            "CANCELLED",
            OrderStatusReason.PARAMETERS_CHANGED,
        )
    for order in (filled, stays):
        order.refresh_from_db()
        assert order.status == "OPEN"
    assert units(of.token, of.seller) == (10_000 - 5, 20)
    assert purse(of.buyer)[1] == 10 * 1_005
    # What rests fits, whatever was filled before: another limit keeps its units.
    market.amend(filled.pk, 1, filled.partner.login, limit_price=1_000)
    as_committed()
    told = OrderEvent.objects.filter(token=of.token, reason="PARAMETERS_CHANGED")
    assert told.count() == 3
    assert breaches() == []
    # The reference price moves on; only new parameters end resting orders.
    tamper(
        "UPDATE trading_execution SET price = 2000",
        "UPDATE trading_market SET reference_price = 2000",
    )
    reopen(of.token)
    assert Market.objects.get(token=of.token).reference_price == 2_000
    assert Order.objects.filter(token=of.token, status="OPEN").count() == 2


@pytest.mark.django_db
def test_outside_of_a_session_parameters_hold_at_once():
    of = Traders()
    phases.change_phase(of.token.pk, "CLOSED", asker())
    as_committed()
    tamper(
        "UPDATE trading_marketparameters SET holidays = ARRAY(SELECT (now() AT TIME"
        " ZONE market_time_zone())::date + n FROM generate_series(-2, 1) AS n)"
    )
    made = approved_parameters(of.token, lot_units=7)
    found = Market.objects.get(token=of.token)
    assert made.valid_from == made.created_at
    assert (found.lot_units, found.next_phase_at) == (7, made.opens_at)
    assert made.opens_at == found.session.next_open(made.valid_from)
    assert made.opens_at > made.valid_from + timedelta(days=1)


@pytest.mark.django_db
@pytest.mark.parametrize("closes_first", [True, False])
def test_a_market_that_closes_early_opens_by_the_parameters_to_come(closes_first: bool):
    of = Traders()
    opens, later = around(-1), around(2)
    hours = f"session_opens = '{opens}', session_closes = '{around(4)}'"
    tamper(
        f"UPDATE trading_market SET {hours}",
        f"UPDATE trading_marketparameters SET {hours}",
    )
    if closes_first:
        phases.change_phase(of.token.pk, "CLOSED", asker())
    made = approved_parameters(of.token, session_opens=later, model="FIXING",
        session_closes=around(5), fixings=[around(3)])  # fmt: skip
    if not closes_first:
        phases.change_phase(of.token.pk, "CLOSED", asker())
    as_committed()
    found = Market.objects.get(token=of.token)
    assert made.opens_at > made.valid_from > found.phase_since
    assert (found.next_phase, found.next_phase_at) == ("CALL", made.opens_at)
    assert found.session_opens == later
    assert breaches() == []
    # Until these hold, staff open it by those in force.
    phases.change_phase(of.token.pk, "CONTINUOUS", asker())
    found.refresh_from_db()
    assert (found.session_opens, found.session_ends_at) == (opens, made.valid_from)
    as_committed()


@pytest.mark.django_db
def test_no_one_sets_parameters_alone_or_others_than_were_approved():
    token = new_market()
    wanted = parameters_of(latest(token.pk).terms | {"lot_units": 5})
    content = parameters_content(token, wanted, WHY)
    terms = content["terms"]
    with (
        pytest.raises(Error, match="approval by a second person"),
        transaction.atomic(),
    ):
        set_parameters(token.pk, terms, WHY, asker())
    requests = file_and_approve(ApprovalKind.PARAMETERS, content)
    with (
        pytest.raises(NotApproved, match="approval by a second person"),
        carry_out_requests(requests),
    ):
        set_parameters(token.pk, terms | {"lot_units": 6}, WHY, asker())
    with carry_out_requests(requests):
        made = set_parameters(token.pk, terms, WHY, asker())
    assert (made.created_by, made.approved_by) == (
        asker(), "operations@sandbox.example",
    )  # fmt: skip


@pytest.mark.django_db
def test_a_tick_table_must_fit_together():
    token = new_market()
    wanted = parameters_of(latest(token.pk).terms)
    wanted.tick_floors, wanted.tick_steps = [1_002], [5]
    with pytest.raises(ParametersRefused, match="multiple of the ticks on both sides"):
        parameters_content(token, wanted, WHY)
    content = {
        "token": str(token.pk), "terms": wanted.terms,
        "replaces": latest(token.pk).pk, "reason": WHY,
    }  # fmt: skip
    requests = file_and_approve(ApprovalKind.PARAMETERS, content)
    with (
        pytest.raises(Error, match="a multiple of the ticks on both sides"),
        carry_out_requests(requests),
    ):
        set_parameters(token.pk, wanted.terms, WHY, asker())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "FIXING"}, "needs their times"),
        ({"fixings": [time(11, 30)]}, "a continuous one has none"),
        ({"at_last_minutes": 10}, "trades at last"),
        ({"model": "BOTH", "fixings": [time(11, 30), time(18)]}, "outside of the"),
        ({"model": "FIXING", "fixings": [time(9)]}, "outside of the session"),
        ({"lot_units": 10, "most_units": 9}, "the units of a lot"),
    ],
)
def test_parameters_that_contradict_each_other_are_not_filed(
    changed: dict[str, Any], said: str
):
    token = new_market()
    wanted = parameters_of(latest(token.pk).terms)
    hours = {"session_opens": time(9), "session_closes": time(17, 30)}
    for name, value in (hours | changed).items():
        setattr(wanted, name, value)
    with pytest.raises(ParametersRefused, match=said):
        parameters_content(token, wanted, WHY)


@pytest.mark.django_db
def test_the_row_in_force_at_any_instant_is_the_last_that_has_begun():
    """Against a dictionary of instants, over random decisions."""
    random = Random(39)
    token = new_market()
    begun = [(MarketParameters.objects.get(token=token).valid_from, 1)]
    for lot in range(2, 30):
        made = approved_parameters(token, lot_units=lot)
        if random.random() < 0.6:
            # It began some time ago; those before it too.
            back = timedelta(minutes=random.randint(1, 600))
            tamper(
                "UPDATE trading_marketparameters SET created_at = created_at - "
                f"interval '{back}', valid_from = valid_from - interval '{back}'"
                f" WHERE token_id = '{token.pk}'"
            )
            begun = [(at - back, lot) for at, lot in begun]
            made.refresh_from_db()
        begun.append((made.valid_from, lot))
    instants = [at + timedelta(microseconds=n) for at, _ in begun for n in (-1, 0, 1)]
    for at in instants:
        expected: int | None = None
        best = None
        for since, lot in begun:
            if since <= at and (best is None or since >= best):
                best, expected = since, lot
        found = in_force(at).filter(token=token).first()
        assert (found and found.lot_units) == expected, at


PARAMETERS = """
query ($id: ID!) { token(id: $id) { market {
  tickSize lotSize
  parameters {
    inForce { ...all }
    next { ...all }
  }
} } }
fragment all on MarketParameters {
  validFrom opensAt ticks { fromPrice size } lotSize staticBand dynamicBand
  sessionOpens sessionCloses weekdaysOnly holidays model fixings atLastMinutes
  maxOrderValue maxOrderQuantity
}
"""


@pytest.mark.django_db
def test_partners_read_the_parameters_in_force_and_next(partner: Ask):
    token = new_market(2_000)
    id_ = {"id": f"Token|{token.pk}"}
    as_committed()
    told = partner(PARAMETERS, id_).data["token"]["market"]
    assert (told["tickSize"], told["lotSize"], told["parameters"]["next"]) == (
        1,
        1,
        None,
    )
    made = approved_parameters(
        token, tick_floors=[1_000, 5_000], tick_steps=[5, 50], lot_units=10,
        holidays=[date(2027, 12, 24)], most_value=1_000_000, most_units=5_000,
        session_opens=time(9), session_closes=time(17, 30), weekdays_only=True,
        dynamic_band_bps=750,
    )  # fmt: skip
    as_committed()
    told = partner(PARAMETERS, id_).data["token"]["market"]
    assert told["parameters"]["inForce"]["lotSize"] == told["lotSize"] == 1
    assert told["parameters"]["next"] == {
        "validFrom": to_rfc3339(made.valid_from),
        "opensAt": to_rfc3339(made.opens_at),
        "ticks": [
            {"fromPrice": 0, "size": 1},
            {"fromPrice": 1_000, "size": 5},
            {"fromPrice": 5_000, "size": 50},
        ],
        "lotSize": 10,
        "staticBand": 2_000,
        "dynamicBand": 750,
        "sessionOpens": "09:00",
        "sessionCloses": "17:30",
        "weekdaysOnly": True,
        "holidays": ["2027-12-24"],
        "model": "CONTINUOUS",
        "fixings": [],
        "atLastMinutes": 0,
        "maxOrderValue": 1_000_000,
        "maxOrderQuantity": 5_000,
    }


def events_of(partner_id: UUID, type_: EventType) -> list[UUID | None]:
    told = Event.objects.filter(partner=partner_id, type=type_).order_by("sequence")
    return [*told.values_list("subject_id", flat=True)]


@pytest.mark.django_db
def test_partners_learn_the_evening_before_which_orders_end():
    of = Traders()
    stays = [placed(of.token, buy(of.buyer, units, 1_000)) for units in (15, 20)]
    ends_soon = placed(of.token, sell(of.seller, 3, 1_100))
    approved_parameters(of.token, lot_units=10)
    as_committed()
    # Another decision of the same day takes its place: its parameters are announced.
    approved_parameters(of.token, lot_units=5)
    as_committed()
    partner = ends_soon.partner_id
    assert partner == stays[0].partner_id
    assert events_of(partner, EventType.MARKET_PARAMETERS_CHANGED) == [of.token.pk] * 2
    ending = EventType.ORDER_ENDS_AT_OPENING
    tamper(
        "UPDATE trading_marketparameters SET opens_at = clock_timestamp() + interval"
        " '12 hours 1 minute', valid_from = clock_timestamp() + interval '12 hours'"
        " WHERE announced_at IS NULL"
    )
    announce_due(timezone.now() + timedelta(minutes=2))
    as_committed()
    assert events_of(partner, ending) == []
    tamper(
        "UPDATE trading_marketparameters SET opens_at = opens_at - interval"
        " '2 minutes', valid_from = valid_from - interval '2 minutes'"
        " WHERE announced_at IS NULL"
    )
    for _ in range(2):
        announce_due(timezone.now())
        as_committed()
        assert events_of(partner, ending) == [ends_soon.pk]
    [told] = Event.objects.filter(type=ending)
    assert (told.price, told.quantity, told.remaining, told.reason) == (
        1_100, 3, 3, "PARAMETERS_CHANGED",
    )  # fmt: skip
    assert not MarketParameters.objects.filter(announced_at=None).exists()
