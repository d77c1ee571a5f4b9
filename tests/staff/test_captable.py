"""The capitalization table and the ledger as staff read them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.people.models import User
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from partnerapi.core.money import euros
from tests.api.test_capitalization_table import WHOLE, register, table
from tests.characters import START, Ask, World

__all__ = ["register"]
DAY = timedelta(days=1)


def address(world: World, **query: str) -> str:
    path = f"/admin/issuer/{world.listed.pk}/captable/"
    return path + "?" + "&".join(f"{name}={value}" for name, value in query.items())


def at(day: float) -> str:
    return (START + DAY * day).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("day", [0, 1.5, 2, 4.5, 6, 9.5])
def test_it_is_the_table_that_partners_read(
    world: World, register, partner: Ask, staff, day: float
):
    told = table(partner, at(day), WHOLE)
    context = staff.get(address(world, at=at(day))).context
    assert [
        [row.summary.price, row.summary.held, row.summary.supply]
        for row in context["tokens"]
    ] == [
        [
            token["currentPrice"],
            token["totalBalanceSpecificToken"],
            token["totalBalancesSupply"],
        ]
        for token in told["tokens"]
    ]
    assert [
        [f"User|{row.user_id}", row.name, row.holder.total_value, row.holder.percentage]
        for row in context["holders"]
    ] == [
        [h["userID"], h["userHolder"]["name"], h["totalValue"], h["percentage"]]
        for h in told["holders"]
    ]
    assert context["holder_count"] == len(told["holders"])
    euros, cents = divmod(told["totalValue"], 100)
    assert context["total"] == f"€{euros:,}.{cents:02}"


def test_the_instant_is_in_the_address_which_shows_the_same_for_ever(
    world: World, register, staff
):
    path = f"/admin/issuer/{world.listed.pk}/captable/"
    now = staff.get(path)["Location"]
    day = staff.get(path, {"date": "2024-01-05", "time": ""})["Location"]
    assert day == f"{path}?at=2024-01-05T23%3A59%3A59.999999Z"
    hour = staff.get(path, {"date": "2024-01-05", "time": "10:30"})["Location"]
    assert hour == f"{path}?at=2024-01-05T10%3A30%3A00Z"

    def main(link: str) -> str:
        return staff.get(link).content.decode().split("<main", 1)[1]

    csv = now.replace("captable/", "captable.csv")
    before = [main(now), main(day), staff.get(csv).getvalue()]
    a, b, _ = (user.pk for user in register)
    accounts = ledger.holder_accounts([a, b])
    sale = Entry(world.private_token.pk, "TRANSFER", 2, accounts[b], accounts[a])
    ledger.record([sale], "sam@example.com")
    assert [main(now), main(day), staff.get(csv).getvalue()] == before
    assert main(staff.get(path)["Location"]) != before[0]


def test_the_csv_has_every_holding(world: World, register, staff):
    answer = staff.get(address(world, at=at(4.5)).replace("captable/", "captable.csv"))
    lines = answer.getvalue().decode().splitlines()
    assert lines[0].startswith("holder_id,holder,type")
    assert [line.split(",")[7:11] for line in lines[1:]] == [
        ["LUM", "300", "50", "15000"],
        ["LUM", "100", "50", "5000"],
        ["LUMF", "7", "0", "0"],
    ]
    assert answer["Content-Disposition"] == (
        'attachment; filename="lumen-2024-01-06T000000Z.csv"'
    )


def test_each_odd_instant_is_a_state_of_its_own(world: World, register, staff):
    def said(**query: str) -> str:
        answer = staff.get(address(world, **query))
        assert answer.status_code == 200
        return answer.content.decode()

    assert "There were no entries yet" in said(at=at(0.5))
    assert "The issuer had no token yet." in said(at=at(-9))
    assert "no price is entered" in said(at=at(4.5))
    assert "is in the future" in said(at="2999-01-01")
    answer = staff.get(address(world, at="yesterday"))
    assert answer.status_code == 400
    assert "This is not an instant" in answer.content.decode()


def test_more_holders_than_partners_may_list_come_by_their_ids(
    world: World, register, staff, settings, monkeypatch
):
    settings.PARTNER_API_MAX_HOLDERS = 1
    monkeypatch.setattr("partnerapi.staff.register.captable.HOLDERS_OF_A_PAGE", 2)
    first = staff.get(address(world, at=at(4.5)))
    assert "in order of their ids" in first.content.decode()
    assert len(first.context["holders"]) == 2
    assert first.context["following"] is None
    monkeypatch.setattr("partnerapi.staff.register.captable.HOLDERS_OF_A_PAGE", 1)
    first = staff.get(address(world, at=at(4.5)))
    second = staff.get(first.context["following"])
    shown = [row.user_id for page in (first, second) for row in page.context["holders"]]
    assert shown == sorted(str(user.pk) for user in register[:2])
    assert second.context["following"] is None


def test_pages_of_holders_by_value(world: World, register, staff, monkeypatch):
    monkeypatch.setattr("partnerapi.staff.register.captable.HOLDERS_OF_A_PAGE", 1)
    a, b, _ = (str(user.pk) for user in register)
    first = staff.get(address(world, at=at(5)))
    second = staff.get(first.context["following"])
    shown = [row.user_id for page in (first, second) for row in page.context["holders"]]
    assert shown == [b, a]
    classes, largest = first.context["bars"]
    held = [int(token.summary.held_value) for token in first.context["tokens"]]
    assert [each.value for each in classes.parts] == [euros(n) for n in held if n]
    assert largest.parts[0].part.link == f"/admin/holder/{b}/"
    assert largest.total == classes.total == first.context["total"]


def test_a_holder_is_found_by_the_beginning_of_its_name(world: World, register, staff):
    User.objects.filter(pk=register[0].pk).update(last_name="Zabel")
    [row] = staff.get(address(world, at=at(5), holder="zab")).context["holders"]
    assert row.user_id == str(register[0].pk)
    assert row.holder.percentage == 15_000 / 41_000
    answer = staff.get(address(world, at=at(5), holder="Ines"))
    assert "No holder at that time" in answer.content.decode()


def test_nonsense_in_the_address_is_no_failure(world: World, register, staff):
    for query in ({"holder": "%00"}, {"page": "9" * 99}, {"page": "x"}):
        answer = staff.get(address(world, at=at(5), **query))
        assert answer.status_code == 200
    token = world.public_token.pk
    for path in (
        f"issuer/{world.listed.pk}/?partner=%00",
        f"token/{token}/ledger/?seq={'9' * 99}",
    ):
        assert staff.get(f"/admin/{path}").status_code == 200


def test_a_page_takes_a_constant_number_of_statements(world: World, register, staff):
    for query in ({"at": at(5)}, {"at": at(5), "holder": "hold"}):
        with CaptureQueriesContext(connection) as captured:
            staff.get(address(world, **query))
        assert len(captured) <= 20


def test_an_entry_leads_to_its_reversal_and_back(world: World, register, staff):
    token = Token.objects.get(symbol="LUM")
    undone = token.transactions.get(seq=6)
    ledger.record([ledger.reversal_of(undone, "typed twice")], "sam@example.com")
    path = f"/admin/token/{token.pk}/ledger/"
    page = staff.get(path).content.decode()
    assert page.index('id="entry-7"') < page.index('id="entry-6"')
    assert 'of <a href="?seq=6#entry-6">entry 6</a>' in page
    assert 'reversed by <a href="?seq=7#entry-7">entry 7</a>' in page


def test_the_ledger_comes_in_pages(world: World, register, staff, monkeypatch):
    monkeypatch.setattr("partnerapi.staff.register.ledger.ENTRIES_OF_A_PAGE", 4)
    token = Token.objects.get(symbol="LUM")
    link, seen = f"/admin/token/{token.pk}/ledger/", []
    while link:
        context = staff.get(link).context
        seen += [row.entry.seq for row in context["rows"]]
        link = context["older"]
    assert seen == list(range(seen[0], 0, -1))
    a = register[0]
    rows = staff.get(f"/admin/token/{token.pk}/ledger/?user={a.pk}").context["rows"]
    assert [(row.entry.kind, row.balance) for row in rows] == [
        ("TRANSFER", 0),
        ("ALLOCATE", 300),
    ]


def test_an_issuer_is_shown_as_a_partner_sees_it(world: World, partner: Ask, staff):
    path = f"/admin/issuer/{world.listed.pk}/"

    def shown(**query: str) -> tuple[list[str], list[str]]:
        with CaptureQueriesContext(connection) as captured:
            context = staff.get(path, query).context
        assert len(captured) <= 20
        symbols = [token.symbol for token, _ in context["tokens"]]
        return symbols, [article.slug for article in context["articles"]]

    assert shown() == (["LUM", "LUMF"], ["soon", "hello"])
    assert shown(partner="broker_one") == (["LUM", "LUMF"], ["hello"])
    assert shown(partner="reader") == (["LUM"], ["hello"])
    page = staff.get(path, {"partner": "broker_one"}).content.decode()
    assert "no: " not in page
    assert ("no: no active key") in staff.get(
        path, {"partner": "reader"}
    ).content.decode()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            {"date": "abc"},
            ("abc is not a valid date: use YYYY-MM-DD, such as 2026-01-31."),
        ),
        ({"date": "31.01.2026"}, "31.01.2026 is not a valid date: use YYYY-MM-DD"),
        ({"date": "2026-02-30"}, "2026-02-30 is not a valid date: use YYYY-MM-DD"),
        (
            {"date": "2026-01-31", "time": "5pm"},
            "5pm is not a valid time: use HH:MM",
        ),
    ],
)
def test_a_wrong_date_is_told_in_words(
    world: World, staff: Client, asked: dict[str, str], said: str
):
    page = staff.get(f"/admin/issuer/{world.listed.pk}/captable/", asked)
    assert said in page.content.decode()
    assert "isoformat" not in page.content.decode()
