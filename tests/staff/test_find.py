"""The box on each page."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Caller, Scope
from accounts.accounts.models import Account
from accounts.applicants.models import Applicant, Description
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import Country, User
from issuers.legacy.models import LegacyShareholder
from issuers.models import Issuer
from marketdata.models import FixSession
from marketdata.trading import phases
from marketdata.trading.models import Order
from partnerapi.gateway.recent import MOST_KEPT, Recent, recent, requests_of
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.staff import find
from partnerapi.staff.lookup import MOST, link
from tests.api.test_order_books import traded
from tests.approved import asker, desk
from tests.characters import Ask, World
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
    actor = desk()
    account = Account.objects.open(world.partner, person, actor, timezone.now())
    key, _ = approved_key(world.partner, [Scope.ISSUERS_READ])
    token = traded(world.listed, "TRD")
    phases.open_market(token.pk, ALL_DAY, asker(), reference_price=100)
    phases.change_phase(token.pk, "CONTINUOUS", asker())
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
        place = link(row)
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
    for text in (key.last_four, f"…{key.last_four}"):
        assert found(text)["API keys"] == [str(key)]


def test_shows_ten_of_a_kind(world: World, staff):
    User.objects.bulk_create(
        User(type="INDIVIDUAL", first_name="Zoe", last_name=str(number))
        for number in range(30)
    )
    answer = staff.get("/admin/find/", {"q": "Zoe"})
    [(_, hits)] = answer.context["found"]
    assert len(hits) == MOST
    assert "The first 10 results: type more" in answer.content.decode()


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

    assert statements("i") <= 20
    assert statements("Ines Roca") <= 20


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


def named(first: str, last: str) -> User:
    return User.objects.create(type="INDIVIDUAL", first_name=first, last_name=last)


def hits(staff: Client, text: str, title: str) -> list[str]:
    """What the box lists of a kind, which is asked until it is no single row."""
    context = staff.get("/admin/find/", {"q": text}).context
    return {k.title: [hit.text for hit in found] for k, found in context["found"]}.get(
        title, []
    )


PEOPLE = "People and companies"


def test_people_are_found_with_and_without_accents(world: World, staff):
    named("Adèle", "García")
    named("Adele", "Garcia")
    named("Jörg", "Größmann")
    User.objects.create(type="COMPANY", company_name="Société Émeraude")
    both = ["Adele Garcia", "Adèle García"]
    for text in ("garcia", "GARCÍA", "adele", "Adèle", "adèle garc", "Garci\u0301a"):
        assert sorted(hits(staff, text, PEOPLE)) == both, text
        listed = staff.get("/admin/accounts/user/", {"q": text}).context["cl"]
        assert sorted(map(str, listed.queryset)) == both, text
    for text in ("jorg", "JÖRG", "grossmann", "größ", "Grossm"):
        assert hits(staff, text, PEOPLE) == ["Jörg Größmann"], text
    assert hits(staff, "societe em", PEOPLE) == ["Société Émeraude"]
    listed = staff.get("/admin/accounts/user/", {"q": "societe em"}).context["cl"]
    assert [*map(str, listed.queryset)] == ["Société Émeraude"]
    for text in ("%", "g_rcia", "\\", "´"):
        assert hits(staff, text, PEOPLE) == [], text


@pytest.mark.parametrize("column", ["first_name", "last_name", "company_name"])
def test_names_without_accents_are_read_by_an_index(world: World, column: str):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = User.objects.filter(**{f"{column}__folded__startswith": "Gárcí"}).explain()
    assert f"Index Scan using user_{column}_folded" in plan
    assert "~>=~ 'garci'" in plan


def test_an_applicant_is_found_by_what_the_partner_said(world: World, staff):
    said = Description(
        type="COMPANY",
        first_name="",
        last_name="",
        company_name="Nouvelle SARL",
        email="Desk@nouvelle.example",
        lei="529900T8BM49AURSDO55",
        country=Country.objects.get(code="FR"),
    )
    scopes, pk = frozenset[str](), str(world.partner.pk)
    asker = Caller(pk, world.partner.login, "Broker", scopes, frozenset(), 1, 1)
    account = Applicant.objects.open(asker, "onboarding-17", said, timezone.now())
    place = f"/admin/account/{account.pk}/"
    for text in ("onboarding-17", "desk@NOUVELLE.example"):
        answer = staff.get("/admin/find/", {"q": text})
        assert (answer.status_code, answer["Location"]) == (302, place), text
        listed = staff.get("/admin/accounts/account/", {"q": text}).context["cl"]
        assert [*listed.queryset] == [account], text
    # The account that was opened knows its partner's id alone.
    account = Account.objects.get(pk=account.pk)
    # Another company has this LEI already.
    assert hits(staff, "529900T8BM49AURSDO55", "Applicants") == [str(account)]
    assert hits(staff, "desk@nou", "Applicants") == [str(account)]
    assert hits(staff, "onboarding", "Applicants") == []
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = Applicant.objects.search("desk@nou", 10).explain()
    for index in (
        "applicant_email_prefix",
        "applicant_lei",
        "reference_is_unique_per_partner",
    ):
        assert index in plan


def test_a_request_is_found_by_the_id_that_its_caller_quotes(
    world: World, partner: Ask, staff
):
    partner("{ viewer { login } }")
    partner("{ nonsense }")
    recent.write()
    for request in requests_of(str(world.partner.pk)):
        answer = staff.get("/admin/find/", {"q": request.request_id})
        page = f"/admin/partner/{world.partner.pk}/requests/?id={request.request_id}"
        assert (answer.status_code, answer["Location"]) == (302, page)
        [(_, shown)] = staff.get(page).context["requests"]
        assert shown == request
    # Two partners may have chosen one id.
    for each in (world.partner, world.observer):
        chosen = Recent(1.0, "query", "", 1, 1.0, 200, "OK", "mine-4711")
        recent.note(str(each.pk), chosen)
    recent.write()
    assert hits(staff, "mine-4711", "Requests") == ["mine-4711"] * 2
    assert hits(staff, "mine-471", "Requests") == []


def test_a_request_that_is_no_longer_kept_is_not_found(world: World, staff):
    def note(name: str, at: float) -> None:
        row = Recent(at, "query", "", 1, 1.0, 200, "OK", name)
        recent.note(str(world.partner.pk), row)

    note("the-first", 1.0)
    recent.write()
    assert staff.get("/admin/find/", {"q": "the-first"}).status_code == 302
    for at in range(MOST_KEPT):
        note(f"later-{at}", 2.0 + at)
    recent.write()
    assert hits(staff, "the-first", "Requests") == []
    assert staff.get("/admin/find/", {"q": "later-0"}).status_code == 302
