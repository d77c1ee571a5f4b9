"""The box on each page."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Scope
from accounts.models import Account, Actor, ApiKey, Partner, User
from issuers.legacy.models import LegacyShareholder
from issuers.models import Issuer
from marketdata.models import FixSession
from marketdata.trading import phases
from marketdata.trading.models import Order
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.staff import find
from tests.api.test_order_books import traded
from tests.characters import World
from tests.marketdata.trading.trading import (
    ALL_DAY,
    buy,
    deposit,
    new_clients,
    placed,
)

OF_THEIR_OWN = {
    Issuer: "issuer",
    User: "holder",
    Account: "account",
    Partner: "partner",
    Order: "order",
}
"""Pages of the back office's own."""


@pytest.fixture
def rows(world: World) -> dict:
    """A row of each kind, by what staff would type to get to it."""
    person = User.objects.get(last_name="Roca")
    User.objects.filter(pk=person.pk).update(email="ines@example.com")
    line = world.shareholders[0]
    LegacyShareholder.objects.filter(pk=line.pk).update(reference="A-17")
    actor = Actor("sam@example.com", is_staff=True)
    account = Account.objects.open(world.partner, person, actor, timezone.now())
    key, _ = approved_key(world.partner, [Scope.ISSUERS_READ])
    token = traded(world.listed, "TRD")
    phases.open_market(token.pk, ALL_DAY, "staff", reference_price=100)
    phases.change_phase(token.pk, "CONTINUOUS", "market")
    [client] = new_clients(1, users=[world.owner])
    deposit(client, 500)
    order = placed(token, buy(client, 5, 100, client_order_id="mine-1"))
    [session] = FixSession.objects.bind(world.partner)
    return {
        "ines@EXAMPLE.com ": person,
        "529900t8bm49aurSDO55": world.owner,
        "arbor": world.quiet,
        f"Issuer|{world.listed.pk}": world.listed,
        "lum": world.public_token,
        "A-17": line,
        f"Account|{account.pk}": account,
        f"Order|{order.pk}": order,
        "mine-1": order,
        "broker_one": world.partner,
        str(key.pk): key,
        session.comp_id.lower(): session,
    }


def test_an_exact_identifier_goes_straight_to_its_row(rows, staff):
    for text, row in rows.items():
        answer = staff.get("/admin/find/", {"q": text})
        assert answer.status_code == 302, text
        place = find.link(row)
        for model, name in OF_THEIR_OWN.items():
            if isinstance(row, model):
                place = f"/admin/{name}/{row.pk}/"
        assert answer["Location"] == place, text


def test_a_beginning_lists_what_begins_so(rows, staff, world: World):
    def found(text: str) -> dict:
        context = staff.get("/admin/find/", {"q": text}).context
        return {
            kind.title: [hit.text for hit in hits] for kind, hits in context["found"]
        }

    assert found("Ines Ro") == {"People and companies": ["Ines Roca"]}
    assert found("LUMEN OPT")["People and companies"] == ["Lumen Optique SA"]
    assert found("arb")["Issuers"] == ["Arbor"]
    assert found("LU")["Tokens"] == ["LUM Ordinary", "LUMF Founders"]
    key = ApiKey.objects.get()
    assert found(key.last_four)["API keys"] == [str(key)]


def test_shows_ten_of_a_kind(world: World, staff):
    User.objects.bulk_create(
        User(type="INDIVIDUAL", first_name="Zoe", last_name=str(number))
        for number in range(30)
    )
    answer = staff.get("/admin/find/", {"q": "Zoe"})
    [(_, hits)] = answer.context["found"]
    assert len(hits) == find.MOST
    assert "The first 10: type more" in answer.content.decode()


def test_what_is_not_there_is_answered_with_what_was_searched(world: World, staff):
    for text in ("no such thing", "%", "\0", "x" * 9999, "a " * 99, "|", ""):
        answer = staff.get("/admin/find/", {"q": text})
        assert answer.status_code == 200
        assert answer.context["found"] == []
    page = answer.content.decode()
    assert all(f"<dt>{kind.title}</dt>" in page for kind in find.KINDS)


def test_takes_a_constant_number_of_statements(rows, staff):
    def statements(text: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            staff.get("/admin/find/", {"q": text})
        return len(captured)

    assert statements("i") <= 21
    assert statements("Ines Roca") <= 21


def test_finds_only_what_staff_may_see(rows):
    client = Client()
    client.force_login(
        User.objects.create_user(
            "new@example.com", type="INDIVIDUAL", first_name="N", is_staff=True
        )
    )
    answer = client.get("/admin/find/", {"q": "arbor"})
    assert answer.status_code == 200
    assert answer.context["found"] == []
    assert Client().get("/admin/find/", {"q": "arbor"}).status_code == 302
