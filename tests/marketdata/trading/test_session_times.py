"""Orders and trades are judged by their time, whether or not the clock has run."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from issuers.models import Token
from marketdata.trading import locked, market, phases
from marketdata.trading.errors import MarketClosed
from marketdata.trading.models import Execution, Market, Order, OrderEvent
from marketdata.trading.phases import PhaseRefused
from marketdata.trading.sessions import Session, parse
from marketdata.trading.verification import verify
from partnerapi.core.times import to_rfc3339
from tests.approved import asker
from tests.characters import Ask, World
from tests.issuers.register import new_issuer
from tests.marketdata.trading.test_market import Two, two
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    codes,
    deposit,
    new_clients,
    place,
    placed,
    sell,
    units,
)
from tests.owner import as_owner, tamper

__all__ = ["two"]

PAST = """
    UPDATE trading_marketparameters SET
        session_opens = (clock_timestamp() AT TIME ZONE market_time_zone()
            - interval '1 hour')::time,
        session_closes = (clock_timestamp() AT TIME ZONE market_time_zone())::time;
    UPDATE trading_market m SET next_phase_at = clock_timestamp(),
        session_opens = p.session_opens, session_closes = p.session_closes
    FROM trading_marketparameters p WHERE p.token_id = m.token_id
"""
ALL_DAY = """
    UPDATE trading_marketparameters SET session_opens = session_closes;
    UPDATE trading_market SET session_opens = session_closes
"""
DUE = "UPDATE trading_market SET next_phase_at = clock_timestamp()"
LAST_CLOSED = "A market is CONTINUOUS in its session"


def run(sql: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def refuses(attempt: Callable[[], object]) -> None:
    def commit() -> None:
        attempt()
        as_committed()

    refusal = pytest.raises(DatabaseError, match="while the market|judged in")
    with refusal, transaction.atomic():
        commit()


def attempts(of: Two, order: Order) -> list[Callable[[], object]]:
    token = of.token
    return [
        lambda: place(token, buy(of.buyer, 10, 100)),
        lambda: place(token, buy(of.buyer, 1, 95), sell(of.seller, 1, 110)),
        lambda: place(token, buy(of.buyer, 1, 100, time_in_force="IOC")),
        lambda: market.amend(order.pk, 1, order.partner.login, quantity=5),
        lambda: market.amend(order.pk, 1, order.partner.login, limit_price=99),
    ]


def test_a_market_past_its_session_takes_nothing_and_lets_cancel(two: Two):
    order = placed(two.token, sell(two.seller, 10, 100))
    as_committed()
    tamper(PAST)
    for attempt in attempts(two, order):
        with pytest.raises(MarketClosed) as closed:
            attempt()
        assert closed.value.details["phase"] == "CLOSED"
        assert closed.value.details["nextPhaseAt"] is not None
    with pytest.raises(MarketClosed):
        market.check(two.token.pk, buy(two.buyer, 10, 100))
    assert units(two.token, two.seller) == (50, 10)
    market.cancel_each(two.token.pk, [order.pk], "BY_PARTNER", order.partner.login)
    as_committed()
    assert units(two.token, two.seller) == (50, 0)
    assert phases.move_due() == 1


MARKET = """
query ($id: ID!) {
  token(id: $id) { market { phase phaseSince nextPhase nextPhaseAt } }
}
"""


def test_what_is_shown_of_a_market_is_what_orders_meet(
    two: Two, world: World, partner: Ask
):
    """No worker has closed it yet."""

    def told() -> dict[str, Any]:
        found = partner(MARKET, {"id": f"Token|{two.token.pk}"}).data
        market: dict[str, Any] = found["token"]["market"]
        return market

    as_committed()
    before = told()
    assert (before["phase"], before["nextPhase"]) == ("CONTINUOUS", "CLOSED")
    tamper(PAST)
    past = told()
    with pytest.raises(MarketClosed) as closed:
        place(two.token, buy(two.buyer, 1, 100))
    assert past["phase"] == closed.value.details["phase"] == "CLOSED"
    times = before["phaseSince"], past["phaseSince"], past["nextPhaseAt"]
    assert sorted(map(datetime.fromisoformat, times)) == [
        datetime.fromisoformat(each) for each in times
    ]
    assert past["nextPhase"] == "CONTINUOUS"
    assert phases.move_due() == 1
    moved = told()
    assert (moved["phase"], moved["nextPhase"]) == ("CLOSED", "CONTINUOUS")
    tamper(DUE, ALL_DAY)
    due = told()
    assert (due["phase"], due["nextPhase"]) == ("CONTINUOUS", "CLOSED")
    assert codes(place(two.token, buy(two.buyer, 1, 100))) == ["OPEN"]
    as_committed()
    moved = told()
    assert (moved["phase"], moved["nextPhase"]) == ("CONTINUOUS", "CLOSED")
    assert moved["nextPhaseAt"] == due["nextPhaseAt"]


def phases_of(token: Token) -> list[str | None]:
    log = OrderEvent.objects.filter(token=token, kind="PHASE_CHANGED")
    return [*log.order_by("number").values_list("phase", flat=True)]


def test_an_order_is_judged_by_its_time_before_the_clock_has_opened(two: Two):
    day = placed(two.token, sell(two.seller, 5, 100, time_in_force="DAY"))
    order = placed(two.token, sell(two.seller, 10, 100))
    as_committed()
    before = phases_of(two.token)
    tamper(
        DUE,
        "UPDATE trading_order SET expires_at = clock_timestamp()"
        f" WHERE id = '{day.pk}'",
    )
    check = market.check(two.token.pk, buy(two.buyer, 10, 100))
    assert (check.refused, check.would_fill_quantity) == (None, 10)
    assert phases_of(two.token) == before
    # The clock was away for the close and the opening: the order makes up for both.
    assert codes(place(two.token, buy(two.buyer, 6, 100))) == ["FILLED"]
    as_committed()
    assert phases_of(two.token) == [*before, "CLOSED", "CONTINUOUS"]
    day.refresh_from_db()
    assert (day.status, day.status_reason) == ("EXPIRED", "END_OF_SESSION")
    tamper("UPDATE trading_market SET phase = 'CLOSED', next_phase = 'CONTINUOUS'", DUE)
    market.amend(order.pk, 1, order.partner.login, quantity=8)
    as_committed()
    assert phases_of(two.token) == [*before, "CLOSED", "CONTINUOUS", "CONTINUOUS"]
    assert [f.rule for f in verify() if f.breaches] == []


@pytest.mark.parametrize("is_dated_back", [False, True])
def test_the_database_takes_nothing_past_the_session_either(
    two: Two, monkeypatch: pytest.MonkeyPatch, is_dated_back: bool
):
    order = placed(two.token, sell(two.seller, 10, 100))
    as_committed()
    monkeypatch.setattr(market, "check_phase", lambda book, at: None)
    read = locked.read

    def read_before(*asked, **how):
        seen = read(*asked, **how)
        return replace(seen, at=seen.at - timedelta(1)) if is_dated_back else seen

    monkeypatch.setattr(locked, "read", read_before)
    tamper(PAST)
    for attempt in attempts(two, order):
        refuses(attempt)
    assert not Execution.objects.exists()
    kept = Order.objects.get()
    assert (kept.quantity, kept.limit_price, kept.version) == (10, 100, 1)
    assert units(two.token, two.seller) == (50, 10)


def test_the_database_trades_no_order_whose_time_is_over(
    two: Two, monkeypatch: pytest.MonkeyPatch
):
    order = placed(two.token, sell(two.seller, 10, 100))
    as_committed()
    tamper(f"UPDATE trading_order SET expires_at = now() WHERE id = '{order.pk}'")
    monkeypatch.setattr(Order, "is_over", lambda order, at: False)
    with pytest.raises(DatabaseError, match="have not expired"), transaction.atomic():
        place(two.token, buy(two.buyer, 10, 100))


def of_session(session: Session) -> Token:
    token = Token.objects.create(
        issuer=new_issuer(),
        name="Hours",
        symbol=f"H{Token.objects.count()}",
        market_type=Token.MarketType.SECONDARY_MARKET,
    )
    phases.open_market(token.pk, session, asker(), reference_price=100)
    return token


def around(hours: float) -> time:
    """A time of day that many hours from now, where the market is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (clock_timestamp() AT TIME ZONE market_time_zone()"
            " + make_interval(mins => %s))::time(0)",
            [int(hours * 60)],
        )
        [(found,)] = cursor.fetchall()
    return found


CHANGE = "SELECT trading_change_phase(%s, 'CONTINUOUS', %s, %s, NULL, '', %s)"


def test_a_market_is_continuous_in_its_session_only(db: None):
    token = of_session(Session(around(2), around(4), weekdays_only=False))
    with pytest.raises(PhaseRefused, match="only in its session"):
        phases.change_phase(token.pk, "CONTINUOUS", asker())
    later = timezone.now() + timedelta(hours=1)
    with pytest.raises(DatabaseError, match=LAST_CLOSED), transaction.atomic():
        run(CHANGE, token.pk, "CLOSED", later, asker())
    assert Market.objects.get(token=token).phase == "CLOSED"


@pytest.mark.parametrize(("opens", "closes"), [(-2, 2), (-20, 3), (1, 1)])
def test_what_staff_close_early_stays_closed_until_the_next_session(
    db: None, opens: float, closes: float
):
    token = of_session(Session(around(opens), around(closes), weekdays_only=False))
    run(CHANGE, token.pk, None, None, asker())
    phases.change_phase(token.pk, "CLOSED", asker())
    found = Market.objects.get(token=token)
    begins = found.session.next_open(found.phase_since)
    assert (found.next_phase, found.next_phase_at) == ("CONTINUOUS", begins)
    before = phases_of(token)
    assert phases.move_due() == 0
    [client] = new_clients(1)
    deposit(client, 1_000)
    as_committed()
    with pytest.raises(MarketClosed) as closed:
        place(token, buy(client, 1, 100))
    assert closed.value.details["nextPhaseAt"] == to_rfc3339(begins)
    assert phases_of(token) == before
    phases.change_phase(token.pk, "CONTINUOUS", asker())
    assert codes(place(token, buy(client, 1, 100))) == ["OPEN"]


@pytest.mark.parametrize(
    ("opens", "closes"), [(-2, 2), (-4, 20), (-0.5, 0.5), (-20, 3), (0, 0)]
)
def test_the_end_of_a_session_is_the_database_s_to_say(
    db: None, opens: float, closes: float
):
    session = Session(around(opens), around(closes), weekdays_only=False)
    token = of_session(session)
    run(CHANGE, token.pk, None, timezone.now() + timedelta(days=1_000), asker())
    found = Market.objects.get(token=token)
    assert (found.phase, found.next_phase) == ("CONTINUOUS", "CLOSED")
    assert found.next_phase_at == session.next_close(found.phase_since)


def test_a_session_on_weekdays_begins_and_ends_as_python_says(db: None):
    session = Session(time(9), time(17, 30), weekdays_only=True)
    token = of_session(session)
    now: datetime = timezone.now()
    if session.is_open(now):
        phases.change_phase(token.pk, "CONTINUOUS", asker())
        found = Market.objects.get(token=token)
        assert found.next_phase_at == session.next_close(found.phase_since)
    else:
        with pytest.raises(DatabaseError, match=LAST_CLOSED):
            run(CHANGE, token.pk, None, None, asker())


@pytest.mark.parametrize("year", [2026, 2027, 2028])
@pytest.mark.parametrize(
    "wanted", ["00:00", "01:30", "02:00", "02:30", "03:00", "22:00"]
)
def test_where_the_clocks_change_python_and_the_database_name_one_instant(
    db: None, year: int, wanted: str
):
    session = Session(time.fromisoformat(wanted), time(12), weekdays_only=False)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT day::date, (day::date + %s::time) AT TIME ZONE market_time_zone()"
            " FROM generate_series(%s::date, %s::date, '1 day') AS day",
            [wanted, f"{year}-01-01", f"{year}-12-31"],
        )
        instants = cursor.fetchall()
    assert len(instants) >= 365
    for day, instant in instants:
        # From a time of the day before on, whatever zone it is written in.
        before = instant - timedelta(hours=20)
        # Times in different zones never equal one that the clocks skip or pass twice.
        assert session.next_open(before).timestamp() == instant.timestamp(), day
        assert session.next_open(instant).timestamp() == instant.timestamp(), day
        assert session.is_open(instant), day


SESSION = "SELECT * FROM trading_session(%s, %s, %s, %s, %s)"


def test_python_and_the_database_know_the_same_sessions(db: None):
    """Random hours, holidays and instants, on days when the clocks change, too."""
    random = Random(17)
    found = []
    for _ in range(300):
        first = random.choice(
            [date(2026, 10, 23), date(2027, 3, 26), date(2026, 12, 20)]
        )
        days = {first + timedelta(days=random.randrange(9)) for _ in range(3)}
        opens, closes = (
            time(random.randrange(24), random.choice([0, 30])) for _ in "oc"
        )
        session = Session(opens, closes, random.random() < 0.5, frozenset(days))
        at = datetime.combine(first, time(), UTC) + timedelta(
            minutes=random.choice([1, 30]) * random.randrange(300)
        )
        arguments = [opens, closes, session.weekdays_only, sorted(days), at]
        with as_owner(), connection.cursor() as cursor:
            cursor.execute(SESSION, arguments)
            [(opening, closing, is_open)] = cursor.fetchall()
        seen = session.next_open(at), session.next_close(at)
        instants = [instant.timestamp() for instant in seen]
        assert instants == [opening.timestamp(), closing.timestamp()], arguments
        assert session.is_open(at) == is_open, arguments
        assert session.last_open(at) <= at
        found.append((is_open, at.date() in days))
    assert len({*found}) == 4


def test_a_session_follows_as_many_holidays_as_there_may_be(db: None):
    first = date(2027, 1, 4)
    weekdays = (first + timedelta(weeks=n // 5, days=n % 5) for n in range(366))
    days = [*weekdays]
    session = Session(time(9), time(17), True, frozenset(days))
    at = datetime(2027, 1, 3, tzinfo=UTC)
    arguments = [time(9), time(17), True, days, at]
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(SESSION, arguments)
        [(opening, closing, is_open)] = cursor.fetchall()
    assert opening == session.next_open(at)
    assert closing == session.next_close(at)
    assert (opening.date(), is_open) == (days[-1] + timedelta(days=1), False)


@pytest.mark.parametrize("session", ["22:00-02:00", "22:00-22:00", "09:00-09:00"])
def test_no_session_of_weekdays_lasts_over_the_weekend(session: str):
    with pytest.raises(ValueError, match="opens and closes on one day"):
        parse(session, weekdays_only=True)
    assert parse(session, weekdays_only=False)
