"""Another symbol of a traded token, and each grant, take two people."""

from collections.abc import Callable
from functools import partial
from html import unescape

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, ProgrammingError, transaction
from django.test import Client

from accounts.approvals.four_eyes import NotApproved, carrying, decide, file_request
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.grants import end, give, grant_content
from issuers.imports.issuers import import_issuers
from issuers.models import Issuer, IssuerGrant, Token
from issuers.register.identities import identity_content
from partnerapi.core.problems import WrongFileError
from partnerapi.sandbox.data.approvals import approved_grant
from tests.approved import asker
from tests.characters import World
from tests.issuers.register import empty_token, new_issuer
from tests.owner import appoint, as_committed

pytestmark = pytest.mark.django_db
ISIN = "FR0000120271"


def member(name: str, role: str) -> User:
    user = User.objects.create_user(
        f"{name}@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name=name,
        last_name="Staff",
        is_staff=True,
    )
    user.groups.add(Group.objects.get(name=role))
    appoint(user)
    return user


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def oskar() -> User:
    return member("oskar", "Operations")


@pytest.fixture
def ilse() -> User:
    return member("ilse", "Compliance")


@pytest.fixture
def kim() -> User:
    return member("kim", "Key manager")


@pytest.fixture
def traded() -> Token:
    token = empty_token(new_issuer(), "ROSMARIN", "2024-01-01T00:00:00Z")
    Token.objects.filter(pk=token.pk).update(market_type="SECONDARY_MARKET")
    token.refresh_from_db()
    return token


@pytest.fixture
def acme() -> Partner:
    return Partner.objects.create(login="acme", name="Acme")


def committed(act: Callable[[], object], *approvals: ApprovalRequest) -> None:
    """Do it in a transaction that carries the approvals; the database judges it."""
    with carrying(request.pk for request in approvals):
        act()
        as_committed()


def test_the_database_refuses_to_rename_a_traded_token_alone(traded: Token):
    tokens = Token.objects.filter(pk=traded.pk)
    for change in ({"symbol": "GAZPROM"}, {"isin": ISIN}):
        with pytest.raises(NotApproved, match="IDENTITY"):
            committed(partial(tokens.update, **change))
    committed(partial(tokens.update, name="Another", symbol="ROSMARIN"))


def test_a_token_without_a_market_is_renamed_by_one(world: World):
    Token.objects.filter(pk=world.public_token.pk).update(symbol="NOVA", isin=ISIN)
    as_committed()


def test_what_is_renamed_is_what_was_approved(traded: Token, oskar: User, ilse: User):
    content = identity_content(traded, "NOVA", ISIN)
    request = file_request(ApprovalKind.IDENTITY, content, "Nova", "A merger", oskar)
    with pytest.raises(NotApproved):
        decide(request, oskar, is_approved=True)
    decide(request, ilse, is_approved=True)
    tokens = Token.objects.filter(pk=traded.pk)
    for symbol, isin in (("NOVA", None), ("OVAN", ISIN)):
        with pytest.raises(NotApproved):
            committed(partial(tokens.update, symbol=symbol, isin=isin), request)
    committed(partial(tokens.update, symbol="NOVA", isin=ISIN), request)
    # Used once: one approval does not rename it back and forth.
    with pytest.raises(NotApproved):
        committed(partial(tokens.update, symbol="ROSMARIN", isin=None), request)


@pytest.mark.django_db(transaction=True)
def test_a_traded_token_is_renamed_on_pages_by_two(oskar: User, ilse: User):
    token = empty_token(new_issuer(), "ROSMARIN", "2024-01-01T00:00:00Z")
    Token.objects.filter(pk=token.pk).update(market_type="SECONDARY_MARKET")
    ana, ben = browser(oskar), browser(ilse)
    form = f"/admin/issuers/token/{token.pk}/change/"
    assert 'name="symbol"' not in ana.get(form).content.decode()
    page = ana.get(f"/admin/token/{token.pk}/").content.decode()
    address = "/admin/ask/identity/?token=ROSMARIN&amp;symbol=ROSMARIN&amp;isin="
    assert f'href="{address}"' in page
    given = {"name": "Shares", "visibility": "PUBLIC", "symbol": "GAZPROM"}
    assert ana.post(form, given | {"isin": ISIN}).status_code == 302
    token.refresh_from_db()
    assert (token.name, token.symbol, token.isin) == ("Shares", "ROSMARIN", None)
    said = {"token": "ROSMARIN", "symbol": "ROSMARIN", "isin": "", "reason": "Why"}
    same = ana.post("/admin/ask/identity/", said).content.decode()
    assert "has changed; change at least one" in same
    wrong = ana.post("/admin/ask/identity/", said | {"isin": "FR0000120272"})
    assert "check digit" in wrong.content.decode()
    asked = ana.post("/admin/ask/identity/", said | {"symbol": "nova", "isin": ISIN})
    assert asked.status_code == 302
    shown = ben.get(asked["Location"]).content.decode()
    assert "<bdi>ROSMARIN</bdi></td><td><bdi>NOVA</bdi>" in shown
    done = ben.post(asked["Location"], {"do": "approve"}, follow=True)
    assert "Approved and executed." in done.content.decode()
    token.refresh_from_db()
    assert (token.symbol, token.isin) == ("NOVA", ISIN)


@pytest.mark.parametrize("is_traded", [True, False])
def test_an_import_refuses_another_symbol_of_a_traded_token(is_traded: bool):
    def file(symbol: str) -> bytes:
        return f"name,isin,symbol,country,city\nAir,{ISIN},{symbol},FR,Paris\n".encode()

    import_issuers(file("AIR"), untold, dry_run=False)
    if is_traded:
        Token.objects.update(market_type="SECONDARY_MARKET")
        with pytest.raises(WrongFileError) as raised:
            import_issuers(file("GAZPROM"), untold, dry_run=False)
        [problem] = raised.value.problems
        assert (problem.line, problem.field) == (2, "symbol")
        assert "write AIR, or request the change" in problem.rule
    else:
        import_issuers(file("GAZPROM"), untold, dry_run=False)
    as_committed()
    assert Token.objects.get().symbol == ("AIR" if is_traded else "GAZPROM")


def untold(work: str, count: int) -> Callable[[int], object]:
    return int


def refused(act: Callable[[], object], why: str = "needs an approval") -> None:
    with pytest.raises((NotApproved, IntegrityError), match=why), transaction.atomic():
        committed(act)


def test_the_database_gives_a_partner_no_grant_by_one(world: World, acme: Partner):
    for issuer in (None, world.listed):
        refused(partial(give, acme, issuer, asker()))
    one = approved_grant(acme, world.listed)
    every = approved_grant(world.observer)
    as_committed()
    for grant in (one, every):
        for actor in ("", "ghost@staff.example"):
            refused(partial(end, grant, actor), "the right issuers.change_issuergrant")
        assert end(grant, asker())
        assert not end(grant, asker())
        refused(partial(give, grant.partner, grant.issuer, asker()))
    for change in ({"ended_at": None}, {"issuer": world.quiet}, {"partner": acme}):
        with pytest.raises(ProgrammingError, match="denied"), transaction.atomic():
            IssuerGrant.objects.update(**change)
    with pytest.raises(ProgrammingError, match="denied"), transaction.atomic():
        IssuerGrant.objects.create(partner=acme, issuer=world.quiet)


@pytest.mark.parametrize("issuer", ["listed", None])
def test_an_approval_gives_what_it_names_once(
    world: World, acme: Partner, kim: User, ilse: User, issuer: str | None
):
    named: Issuer | None = getattr(world, issuer) if issuer else None
    content = grant_content(acme, named)
    request = file_request(ApprovalKind.GRANT, content, "Grant", "A contract", kim)
    decide(request, ilse, is_approved=True)
    for partner, other in (
        (world.observer, named),
        (acme, None if named else world.listed),
        (acme, world.quiet),
    ):
        with pytest.raises(NotApproved):
            committed(partial(give, partner, other, kim.email), request)
    with pytest.raises(NotApproved, match="filed its approval"):
        committed(partial(give, acme, named, asker()), request)
    committed(partial(give, acme, named, kim.email), request)
    end(IssuerGrant.objects.get(partner=acme), asker())
    with pytest.raises(NotApproved):
        committed(partial(give, acme, named, kim.email), request)


@pytest.mark.django_db(transaction=True)
def test_a_grant_of_one_issuer_is_given_on_pages_by_two(
    world: World, kim: User, ilse: User
):
    acme = Partner.objects.create(login="acme", name="Acme")
    ana, ben = browser(kim), browser(ilse)
    given = {"partner": "acme", "issuer": "no-such", "reason": "A contract"}
    shown = ana.post("/admin/ask/grant/", given)
    assert "There is no issuer no-such" in str(shown.context["form"].errors)
    given["issuer"] = world.listed.slug
    place = ana.post("/admin/ask/grant/", given)["Location"]
    said = ben.get(place).content.decode()
    assert f"1, {world.listed} among them" in unescape(said)
    ana.post(place, {"do": "approve"})
    assert not acme.grants.exists()
    ben.post(place, {"do": "approve"})
    assert acme.grants.live().get().issuer == world.listed
    again = ana.post("/admin/ask/grant/", given).context["form"].errors
    assert f"has a grant for {world.listed}" in unescape(str(again))


@pytest.mark.django_db(transaction=True)
def test_a_grant_of_every_issuer_is_given_on_pages_by_two(kim: User, ilse: User):
    acme = Partner.objects.create(login="acme", name="Acme")
    ana, ben = browser(kim), browser(ilse)
    form = "/admin/issuers/issuergrant/add/"
    assert ana.post(form, {"partner": acme.pk, "issuer": ""}).status_code == 403
    assert not IssuerGrant.objects.exists()

    def asked() -> str:
        given = {"partner": "acme", "reason": "A contract"}
        answer = ana.post("/admin/ask/grant/", given)
        assert answer.status_code == 302, answer.context["form"].errors
        return answer["Location"]

    place = asked()
    done = ben.post(place, {"do": "approve"}, follow=True).content.decode()
    assert "Approved and executed." in done
    grant = IssuerGrant.objects.get()
    assert (grant.issuer, grant.ended_at) == (None, None)
    again = ana.post("/admin/ask/grant/", {"partner": "acme", "reason": "Again"})
    assert "has a grant for every issuer" in str(again.context["form"].errors)
    page = f"/admin/grant/{grant.pk}/"
    ana.post(page, {"reason": "The contract ended"})
    shown = ana.get(page).content.decode()
    assert 'href="/admin/ask/grant/?partner=acme"' in shown
    ana.post(page, {"reason": "Again"})
    grant.refresh_from_db()
    assert grant.ended_at is not None
    ben.post(asked(), {"do": "approve"})
    grant.refresh_from_db()
    assert grant.ended_at is None
