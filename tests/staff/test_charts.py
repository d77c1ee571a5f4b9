"""What charts draw: each number against SQL at random dates, and how it is drawn."""

import random
from datetime import date, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.people.models import User
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from marketdata.books.days import day_of
from partnerapi.core.database import execute, rows_of
from partnerapi.core.money import euros
from partnerapi.core.times import to_rfc3339
from partnerapi.gateway.counts import WRITE
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.staff.charts import (
    HEIGHT,
    WIDTH,
    Bar,
    Part,
    Series,
    flags_of,
    over_time,
    scale_of,
    share_bar,
    short,
    spark,
    units,
)
from tests.api.test_capitalization_table import register
from tests.characters import START, World
from tests.issuers.register import people
from tests.owner import tamper
from tests.sampling import sample
from tests.staff.test_delivery import new_lines, new_token
from tests.staff.test_markets import Traded, statements

__all__ = ["register"]
DATES = 20


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([0, 7], ["0", "2", "4", "6", "8"]),
        ([69_450, 69_650], ["€694.50", "€695", "€695.50", "€696", "€696.50"]),
        ([0, 6_773_253], ["0", "2M", "4M", "6M", "8M"]),
    ],
)
def test_an_axis_has_round_ticks(values: list[int], ticks: list[str]):
    number = euros if ticks[0][0] == "€" else units
    scale = scale_of(values, from_zero=number is units)
    assert [text for _, text in scale.ticks(number)][-len(ticks) :] == ticks
    assert scale.y(scale.low) == HEIGHT
    assert all(scale.low <= value <= scale.high for value in values)


@pytest.mark.parametrize(
    ("value", "text"),
    [(999, "999"), (25_000, "25k"), (4_737_890_473, "4.74bn"), (-1_500_000, "−1.5M")],
)
def test_ticks_are_short(value: int, text: str):
    assert short(value, units) == text
    assert short(100 * value, euros) == text.replace("−", "").join(
        ["−€" if value < 0 else "€", ""]
    )


def test_a_place_in_the_drawing_says_the_value():
    values = [random.Random(7).randrange(1, 10**6) for _ in range(DATES)]
    labels = [str(n) for n in range(DATES)]
    chart = over_time(
        "x", "X", labels, [], [Series("L", "l", values)], [Series("C", "c", values)]
    )
    scale = scale_of(values, from_zero=True)
    [(_, points)] = chart.lines
    drawn = [float(point.split(",")[1]) for point in points.split()[::2]]
    tall = [height for *_, height in chart.columns]
    for value, y, height in zip(values, drawn, tall, strict=True):
        assert y == pytest.approx(scale.y(value), abs=0.01)
        assert height == pytest.approx(HEIGHT - scale.y(value), abs=0.02)
    assert [row[1][0] for row in chart.rows][::-1] == [f"{value:,}" for value in values]


def test_the_parts_of_a_bar_are_the_whole():
    parts = [Part("A", 3), Part("B", 0), Part("C", 1), Part("Rest", 4, "", True)]
    bar = share_bar("x", "X", parts)
    assert [(each.part.name, each.share) for each in bar.parts] == [
        ("A", "37.50 %"), ("C", "12.50 %"), ("Rest", "50.00 %"),
    ]  # fmt: skip
    assert sum(each.width for each in bar.parts) == WIDTH
    assert share_bar("x", "X", [Part("A", 0)]).parts == []


def test_a_line_without_change_is_level():
    assert {point.split(",")[1] for point in spark([5, 5, 5]).split()} == {"14.0"}
    assert len(spark([5]).split()) == 2
    assert spark([]) == ""


def moved_back(token: Token, days: int) -> None:
    """Date everything in the token's register some days earlier."""
    for table in ("issuers_ledgertransaction", "issuers_tokenprice"):
        tamper(
            f"UPDATE {table} SET effective_at = effective_at - interval '{days} days'"
            f" WHERE token_id = '{token.pk}'"
        )


def test_prices_volumes_and_supplies_are_those_of_sql(traded: Traded, staff: Client):
    token = traded.token
    for cents, age in ((500, 40), (700, 9), (650, 3)):
        moved_back(token, age)
        ledger.set_price(token.pk, cents, "MANUAL", "ana@example.com")
    context = staff.get(f"/admin/token/{token.pk}/").context
    price, volume = context["charts"]
    days = {row[0][0]: row[1][0] for row in price.rows}
    traded_units = {row[0][0]: row[1][0] for row in volume.rows}
    supply = {row[0][0]: (row[1][0], row[2][0]) for row in context["supply"].rows}
    for day in sample(sorted(days), DATES, "days of prices"):
        [(cents,)] = rows_of(PRICE, [token.pk, day])
        [(quantity,)] = rows_of(VOLUME, [token.pk, day])
        assert days[day] == euros(cents), day
        assert traded_units[day] == f"{quantity:,}", day
    for day in sample(sorted(supply), DATES, "days of supplies"):
        [(units_made, units_held)] = rows_of(SUPPLY, [token.pk, day])
        assert supply[day] == (f"{units_made:,}", f"{units_held:,}"), day
    assert len({*days.values()}) == 4


PRICE = """
    SELECT (array_agg(price_cents ORDER BY effective_at DESC, number DESC))[1]
    FROM issuers_tokenprice WHERE token_id = %s
    AND (effective_at AT TIME ZONE market_time_zone())::date <= %s::date
"""
VOLUME = """
    SELECT coalesce(sum(t.quantity), 0) FROM marketdata_trade t
    WHERE t.token_id = %s AND (t.at AT TIME ZONE market_time_zone())::date = %s::date
    AND NOT EXISTS (SELECT FROM trading_bust b
        WHERE b.token_id = t.token_id AND b.sequence = t.sequence)
"""
SUPPLY = """
    SELECT sum(CASE WHEN source_id IS NULL THEN amount
            WHEN target_id IS NULL THEN -amount ELSE 0 END),
        sum(CASE WHEN t.kind = 'HOLDER' THEN amount ELSE 0 END
            - CASE WHEN s.kind = 'HOLDER' THEN amount ELSE 0 END)
    FROM issuers_ledgertransaction e
    LEFT JOIN issuers_ledgeraccount s ON s.id = e.source_id
    LEFT JOIN issuers_ledgeraccount t ON t.id = e.target_id
    WHERE token_id = %s
    AND (effective_at AT TIME ZONE market_time_zone())::date <= %s::date
"""


def test_owners_are_those_of_the_register(world: World, staff: Client):
    token, own = world.public_token, ledger.treasury(world.listed)
    users = people(14)
    accounts = ledger.holder_accounts([user.pk for user in users])
    entries = [Entry(token.pk, "MINT", 10_000, None, own)]
    for number, account in enumerate(accounts.values(), 1):
        entries.append(Entry(token.pk, "ALLOCATE", 10 * number, own, account))
    ledger.record(entries, "ana@example.com")
    page = f"/admin/token/{token.pk}/"
    bar = staff.get(page).context["owners"]
    assert [each.value for each in bar.parts] == [
        *(f"{10 * number}" for number in range(14, 4, -1)), "100", "8,950",
    ]  # fmt: skip
    assert bar.parts[-2].part.name == "4 other holders"
    assert bar.total == "10,000"
    before = statements(staff, page)
    more = ledger.holder_accounts([user.pk for user in people(30)])
    ledger.record(
        [Entry(token.pk, "ALLOCATE", 1, own, account) for account in more.values()],
        "ana@example.com",
    )
    assert statements(staff, page) == before <= 20


def test_shares_of_the_table_are_those_of_sql_at_any_instant(
    world: World, register: list[User], staff: Client
):
    page = f"/admin/issuer/{world.listed.pk}/captable/"
    hours = range(12 * 24)
    for hour in sample(hours, DATES, "instants of the table"):
        at = START + timedelta(hours=hour)
        context = staff.get(page, {"at": to_rfc3339(at)}).context
        wanted = {"issuer": world.listed.pk, "at": at}
        by_class, *by_holder = context["bars"]
        classes = [row for row in rows_of(CLASSES, wanted) if row[1]]
        assert sorted(shares(by_class)) == sorted(
            (symbol, *as_share(value, classes)) for symbol, value in classes
        ), at
        holders = [row for row in rows_of(HOLDERS, wanted) if row[1]]
        assert [sorted(shares(bar)) for bar in by_holder] == [
            sorted((name, *as_share(value, holders)) for name, value in holders)
        ] * len(by_holder), at
        assert bool(by_holder) == bool(holders), at


def shares(bar: Bar) -> list[tuple[str, str, str]]:
    return [(each.part.name.split()[0], each.value, each.share) for each in bar.parts]


def as_share(value: int, of: list[tuple[str, int]]) -> tuple[str, str]:
    total = sum(each for _, each in of)
    return euros(int(value)), f"{100 * int(value) / int(total):.2f} %"


VALUES = """
    SELECT t.symbol, a.user_id, sum(p.delta) * coalesce((
            SELECT x.price_cents FROM issuers_tokenprice x
            WHERE x.token_id = t.id AND x.effective_at <= %(at)s
            ORDER BY x.effective_at DESC, x.number DESC LIMIT 1), 0) AS value
    FROM issuers_token t
    JOIN issuers_ledgertransaction e ON e.token_id = t.id AND e.effective_at <= %(at)s
    JOIN issuers_ledgerposting p ON p.token_id = t.id AND p.seq = e.seq
    JOIN issuers_ledgeraccount a ON a.id = p.account_id AND a.user_id IS NOT NULL
    WHERE t.issuer_id = %(issuer)s GROUP BY t.id, a.user_id
"""
CLASSES = f"SELECT symbol, sum(value) FROM ({VALUES}) v GROUP BY symbol"
HOLDERS = f"""
    SELECT split_part(h.name, ' ', 1), sum(value) FROM ({VALUES}) v
    JOIN accounts_userholder h ON h.user_id = v.user_id GROUP BY h.user_id, h.name
"""


def test_classes_of_an_issuer_are_worth_what_sql_says(
    world: World, register: list[User], staff: Client
):
    bar = staff.get(f"/admin/issuer/{world.listed.pk}/").context["bar"]
    rows = rows_of(SUPPLIED, [world.listed.pk])
    assert sorted(shares(bar)) == sorted(
        (symbol, *as_share(value, rows)) for symbol, value in rows
    )
    assert len(rows) > 1


SUPPLIED = """
    SELECT t.symbol, sum(CASE WHEN e.source_id IS NULL THEN e.amount
            WHEN e.target_id IS NULL THEN -e.amount ELSE 0 END) * (
        SELECT x.price_cents FROM issuers_tokenprice x WHERE x.token_id = t.id
        ORDER BY x.number DESC LIMIT 1)
    FROM issuers_token t JOIN issuers_ledgertransaction e ON e.token_id = t.id
    WHERE t.issuer_id = %s GROUP BY t.id HAVING sum(CASE WHEN e.source_id IS NULL
        THEN e.amount WHEN e.target_id IS NULL THEN -e.amount ELSE 0 END) > 0
"""


def test_the_line_on_the_wall_is_the_days_prices(traded: Traded, staff: Client):
    token, chosen = traded.token, random.Random(11)
    for cents in chosen.sample(range(90, 110), DATES):
        tamper(
            "UPDATE issuers_tokenprice SET effective_at = effective_at"
            f" - interval '{chosen.randrange(20, 100)} minutes'"
            f" WHERE token_id = '{token.pk}'"
        )
        ledger.set_price(token.pk, cents, "MANUAL", "ana@example.com")
    context = staff.get("/admin/books/").context
    [card] = [each for each in context["markets"] if each.token == token]
    steps = [context["at"] - timedelta(minutes=30 * n) for n in range(48, -1, -1)]
    prices = [rows_of(LAST_PRICE, [token.pk, at]) for at in steps]
    known = [cents for found in prices for (cents,) in found]
    assert card.line == spark(known)
    assert (card.low, card.high) == (euros(min(known)), euros(max(known)))
    assert card.last == euros(known[-1])
    assert len({*known}) > DATES // 2


LAST_PRICE = """
    SELECT price_cents FROM issuers_tokenprice
    WHERE token_id = %s AND effective_at <= %s
    ORDER BY effective_at DESC, number DESC LIMIT 1
"""


def test_requests_by_hour_are_those_counted(world: World, staff: Client):
    key, _ = approved_key(world.partner, ["issuers:read"])
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    chosen = random.Random(3)
    noted = []
    for back in chosen.sample(range(60), 30):
        at = hour - timedelta(hours=back)
        for code in ("OK", "RATE_LIMITED", "FORBIDDEN"):
            noted.append((key.pk, at, code, chosen.randrange(1, 5000)))
    execute(WRITE, [[*column] for column in zip(*noted, strict=True)])
    for page in (f"/admin/partner/{world.partner.pk}/", f"/admin/key/{key.pk}/"):
        chart = staff.get(page).context["chart"]
        assert len(chart.rows) == 48
        for label, answered, failed in (
            [text for text, _ in row] for row in sample(chart.rows, DATES, "hours")
        ):
            [(good, bad)] = rows_of(REQUESTS, [label])
            assert (answered, failed) == (f"{good:,}", f"{bad:,}"), label


REQUESTS = """
    SELECT coalesce(sum(number) FILTER (WHERE code = 'OK'), 0),
        coalesce(sum(number) FILTER (WHERE code <> 'OK'), 0)
    FROM partnerapi_requestcount WHERE hour = (%s || '+00')::timestamptz
"""


def test_cash_by_day_is_that_of_the_statements(staff: Client):
    today, chosen = timezone.now(), random.Random(5)
    said = {}
    for number, back in enumerate(sorted(chosen.sample(range(90), 40), reverse=True)):
        booked = chosen.randrange(10**9)
        closing = booked if number % 3 else booked + 5
        at = today - timedelta(days=back)
        tamper(
            "INSERT INTO accounts_bankstatement (name, digest, booked_balance,"
            " closing_balance, booked_by, booked_at) VALUES"
            f" ('s', '{number}', {booked}, {closing}, 'ana', '{at.isoformat()}')"
        )
        said[at.date()] = booked, closing
    chart = staff.get("/admin/cash/").context["chart"]
    rows = {row[0][0]: (row[1][0], row[2][0]) for row in chart.rows}
    for text in sample(sorted(rows), DATES, "days of cash"):
        day = date.fromisoformat(text)
        last = max(each for each in said if each <= day)
        bank = euros(said[day][1]) if day in said else ""
        assert rows[text] == (euros(said[last][0]), bank), text
    shown = [pair for day, pair in said.items() if day.isoformat() >= min(rows)]
    assert len(chart.marks) == min(12, sum(b != c for b, c in shown))


def test_the_trades_of_a_year_are_those_of_sql(traded: Traded, staff: Client):
    token, today, chosen = traded.token, day_of(timezone.now()), random.Random(13)
    days = {*chosen.sample(range(1, 800), 300), 364, 365}
    for number, back in enumerate(days, 2):
        tamper(
            "INSERT INTO marketdata_tradingday (token_id, day, open_cents, high_cents,"
            " low_cents, close_cents, volume, value_cents, trades, first_trade,"
            f" last_trade) VALUES ('{token.pk}', '{today - timedelta(back)}', 1, 1, 1,"
            f" 1, 1, 1, {chosen.randrange(1, 90)}, {number}, {number})"
        )
    year = staff.get(traded.page).context["year"]
    # Midnight may have passed since the test began.
    trades = [
        rows_of(TRADES_OF_A_YEAR, [token.pk, day])[0][0]
        for day in (today, day_of(timezone.now()))
    ]
    assert year in trades
    assert year > 1_000


TRADES_OF_A_YEAR = """
    SELECT sum(trades)::bigint FROM marketdata_tradingday
    WHERE token_id = %s AND day > %s::date - 365
"""


def test_lines_by_issuer_are_those_of_sql(world: World, staff: Client):
    chosen = random.Random(17)
    tokens = [new_token(f"DRAWN{n}") for n in range(15)]
    for token in tokens:
        new_lines(token, *[5] * chosen.randrange(0, 40))
        tamper(
            "UPDATE issuers_legacyshareholder l SET status = 'DELIVERED',"
            " delivered_at = now(), delivered_by = 'ana', ledger_seq = r.n FROM ("
            "SELECT id, row_number() OVER () AS n FROM issuers_legacyshareholder"
            f" WHERE token_id = '{token.pk}') r"
            f" WHERE r.id = l.id AND r.n % 3 < {chosen.randrange(3)}"
        )
    drawn = staff.get("/admin/deliveries/").context["issuers"]
    rows = rows_of(LINES_BY_ISSUER)
    assert [(row.issuer_id, row.pending, row.delivered) for row in drawn] == rows
    longest = max(pending + delivered for _, pending, delivered in rows)
    for row in drawn:
        assert row.pending_width == round(1000 * row.pending / longest, 1)
        assert row.delivered_width == round(1000 * row.delivered / longest, 1)


LINES_BY_ISSUER = """
    SELECT i.id, count(*) FILTER (WHERE l.status = 'PENDING'),
        count(*) FILTER (WHERE l.status = 'DELIVERED')
    FROM issuers_issuer i JOIN issuers_legacyshareholder l ON l.issuer_id = i.id
    GROUP BY i.id ORDER BY 2 DESC, i.trading_name LIMIT 12
"""


def test_the_day_of_a_chart_is_the_markets(traded: Traded, staff: Client):
    price, _ = staff.get(f"/admin/token/{traded.token.pk}/").context["charts"]
    assert price.rows[0][0][0] == day_of(timezone.now()).isoformat()


@pytest.fixture
def traded(db: None) -> Traded:
    return Traded()


def test_marks_that_follow_closely_share_a_flag():
    places = [10, 100, 155, 400, 520, 800]
    assert flags_of(places) == [
        ("5.50%", "1–2"), ("15.50%", "3"), ("46.00%", "4–5"), ("80.00%", "6"),
    ]  # fmt: skip
