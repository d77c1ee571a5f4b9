"""The pages of an account and of a holder."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.people.models import User, UserHolder
from issuers.legacy.models import LegacyShareholder
from issuers.register import ledger
from issuers.register.ledger import Entry
from tests.api.test_capitalization_table import register
from tests.approved import desk
from tests.characters import START, World
from tests.staff.test_asking import member

__all__ = ["register"]


@pytest.fixture
def account(world: World, register: list[User]) -> Account:
    """Of the holder a, who also has a legacy line and had another name."""
    a = register[0]
    found = Account.objects.open(world.partner, a, desk(), timezone.now())
    LegacyShareholder.objects.create(
        issuer=world.listed, user=a, number_of_shares=3, price_cents=1
    )
    UserHolder.objects.filter(user=a).update(name="Another Name")
    return found


def page_of(account: Account) -> str:
    return f"/admin/account/{account.pk}/"


def statements(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def test_only_allowed_moves_are_offered_and_each_takes_a_reason(
    account: Account, staff: Client
):
    page = page_of(account)

    def offered() -> list[str]:
        return [status for status, _ in staff.get(page).context["moves"]]

    assert offered() == ["ACTIVE", "REJECTED"]
    answer = staff.post(page, {"status": "ACTIVE", "reason": " "})
    assert answer.status_code == 400
    assert "The reason is empty." in answer.content.decode()
    assert staff.post(page, {"status": "ACTIVE", "reason": "Seen"}).status_code == 302
    assert offered() == ["SUSPENDED"]
    for status, why in (("CLOSED", "You cannot set CLOSED"), ("X", "valid choice")):
        answer = staff.post(page, {"status": status, "reason": "so"})
        assert answer.status_code == 400
        assert why in answer.content.decode()
    account.refresh_from_db()
    assert (account.status, account.status_reason) == ("ACTIVE", "Seen")
    assert "/admin/ask/closing/?account=" in staff.get(page).content.decode()


def test_who_may_only_read_moves_nothing(account: Account):
    reader = member("rea", "view_account")
    assert reader.get(page_of(account)).context["moves"] == []
    said = {"status": "ACTIVE", "reason": "so"}
    assert reader.post(page_of(account), said).status_code == 403
    assert member("bo").get(page_of(account)).status_code == 403
    assert [row.source for row, _ in rows(reader, page_of(account))] == ["status"]


def rows(client: Client, path: str) -> list:
    return client.get(path).context["timeline"].rows


def test_one_timeline_has_status_entries_lines_and_profile(
    account: Account, staff: Client
):
    account.change_status("ACTIVE", desk(), "Seen in person")
    for path in (page_of(account), f"/admin/holder/{account.user_id}/"):
        found = rows(staff, path)
        assert [row.at for row, _ in found] == sorted(
            (row.at for row, _ in found), reverse=True
        )
        assert {row.source for row, _ in found} == {"status", "entry", "line", "change"}
        told = [
            (row.what, row.units, row.balance)
            for row, _ in found
            if row.source == "entry"
        ]
        assert told == [("Transfer", -300, 0), ("Allocation", 300, 300)] + told[2:]
        assert "Seen in person" in staff.get(path).content.decode()
        assert not [row for row, _ in found if "— → —" in row.change]
        for _, link in found:
            assert staff.get(link).status_code == 200


def test_the_timeline_comes_in_pages_that_miss_and_repeat_nothing(
    account: Account, world: World, staff: Client, monkeypatch
):
    [of] = ledger.holder_accounts([account.user_id]).values()
    # Many at one instant, in which pages must not lose their place.
    for token in (world.public_token, world.private_token):
        ledger.record([Entry(token.pk, "MINT", 1, None, of)] * 5, "me")
    whole = [row.place for row, _ in rows(staff, page_of(account))]
    monkeypatch.setattr("partnerapi.staff.people.timeline.HAPPENINGS_OF_A_PAGE", 2)
    seen, path = [], page_of(account)
    counts = set()
    while path:
        counts.add(statements(staff, path))
        timeline = staff.get(path).context["timeline"]
        seen += [row.place for row, _ in timeline.rows]
        older = timeline.older
        path = older and f"{page_of(account)}?before={older}"
    assert seen == whole
    assert len(counts) == 1
    assert counts.pop() <= 20
    for text in ("%00", "x~y~z", "2024-01-01~entry"):
        assert staff.get(f"{page_of(account)}?before={text}").status_code == 200


def test_a_holder_shows_what_it_held_at_any_instant(
    account: Account, register: list[User], staff: Client
):
    page = f"/admin/holder/{register[0].pk}/"

    def held(at: str) -> list[tuple[str, int]]:
        context = staff.get(page, {"at": at}).context
        return [(row.token.symbol, row.held.balance) for row in context["holdings"]]

    def on(day: float) -> str:
        return (START + timedelta(days=day)).isoformat()

    assert held(on(0.5)) == []
    assert held(on(4.5)) == [("LUM", 300)]
    assert "is in the future" in staff.get(page, {"at": "2999-01-01"}).content.decode()
    answer = staff.get(page, {"at": "yesterday"})
    assert answer.status_code == 400
    assert "This is not an instant" in answer.content.decode()
    assert "Another Name" in staff.get(page).content.decode()
    assert statements(staff, f"{page}?at=2024-01-06") <= 20
    assert statements(staff, page) <= 20


def test_a_user_who_never_held_anything_has_a_page(world: World, staff: Client):
    page = staff.get(f"/admin/holder/{world.owner.pk}/").content.decode()
    assert "none: this user has never held units" in page
    assert "No unit was held." in page
