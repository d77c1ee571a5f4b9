"""What compliance does in the back office: profiles, restrictions, approvals, rules."""

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalRequest
from accounts.investors import writer as investors
from accounts.investors.models import InvestorProfile
from accounts.people.models import User
from issuers.compliance.models import ApprovedHolder, Restriction, TokenRule
from issuers.compliance.rules import RuleRefused, rule_content, set_rule
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from partnerapi.staff.approvals.rule_forms import parameters_from
from partnerapi.staff.lookup import link
from tests.approved import approved_record, desk
from tests.characters import START, World
from tests.owner import appoint, as_committed


def signed_in(name: str, role: str = "Compliance") -> Client:
    user = User.objects.create_user(
        f"{name}@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name=name,
        last_name="Staff",
        is_staff=True,
    )
    user.groups.add(Group.objects.get(name=role))
    appoint(user)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def ana(db: None) -> Client:
    return signed_in("ana")


@pytest.fixture
def ben(db: None) -> Client:
    return signed_in("ben")


@pytest.fixture
def holder(world: World) -> User:
    """Has 100 units, and an account with a partner."""
    user = User.objects.create(type="INDIVIDUAL", first_name="Bo", last_name="Berg")
    staff = desk()
    Account.objects.open(world.partner, user, staff, START)
    account = ledger.holder_accounts([user.pk])[user.pk]
    token = world.public_token.pk
    approved_record([Entry(token, Kind.MINT, 100, None, account)], "me")
    return user


def do(client: Client, user: User, what: str, **said: object) -> str:
    page = reverse("admin:holder_compliance", args=[user.pk])
    prefix = what.partition(" ")[0]
    data = {f"{prefix}-{name}": value for name, value in said.items()}
    answer = client.post(page, {"do": what} | data, follow=True)
    return str(answer.content.decode())


def ask(client: Client, kind: str, **given: object) -> ApprovalRequest:
    answer = client.post(f"/admin/ask/{kind}/", {"reason": "As agreed"} | given)
    assert answer.status_code == 302, answer.context["form"].errors
    return ApprovalRequest.objects.latest("filed_at")


def approve(client: Client, request: ApprovalRequest) -> str:
    shown = client.get(link(request)).content.decode()
    answer = client.post(link(request), {"do": "approve"}, follow=True)
    assert "Approved and executed." in answer.content.decode()
    as_committed()
    return shown


def test_a_freeze_is_made_by_one_and_lifted_by_two(
    ana: Client, ben: Client, holder: User
):
    said = do(ana, holder, "restrict", kind="FREEZE", reason="A court", units=5)
    assert "Units need a token: enter its symbol." in said
    said = do(ana, holder, "restrict", kind="PLEDGE", reason="A loan")
    assert "Only a pledge has a pledgee, and a pledge needs one." in said
    do(ana, holder, "restrict", kind="FREEZE", reason="A court")
    frozen = Restriction.objects.get()
    assert (frozen.created_by, frozen.units) == ("ana@staff.example", None)
    page = ana.get(reverse("admin:holder", args=[holder.pk])).content.decode()
    assert "0, frozen" in page
    request = ask(ana, "lifting", restriction=frozen.pk)
    assert "A court" in approve(ben, request)
    frozen.refresh_from_db()
    assert frozen.ended_by == "ana@staff.example"


def test_locked_and_reserved_units_are_shown_beside_what_is_held(
    ana: Client, holder: User, world: World
):
    do(ana, holder, "restrict", kind="LOCK_UP", reason="Why", token="LUM", units=30)
    page = ana.get(reverse("admin:holder", args=[holder.pk])).content.decode()
    cells = '<td class="number">{}</td>'
    row = "".join(cells.format(n) for n in (100, 0, 30, 70))
    assert row in page


def test_an_attestation_is_decided_and_a_profile_changed(ana: Client, holder: User):
    account = Account.objects.get(user=holder)
    facts = investors.Facts("VERIFIED", None, None, "INFORMED", "file 17")
    attestation = investors.attest(account, facts)
    page = ana.get(reverse("admin:index"))
    tiles = {tile.title: tile.found.count for tile in page.context["tiles"]}
    assert tiles["Attestations awaiting review"] == 1
    said = {
        "verification": "VERIFIED",
        "tax_country": "FR",
        "investor_class": "INFORMED",
        "evidence": "file 17",
        "attestation": attestation.pk,
    }
    assert "saved" in do(ana, holder, "investor", **said)
    profile = InvestorProfile.objects.get()
    assert (profile.verification, profile.partner) == ("VERIFIED", account.partner)
    del said["attestation"]
    said["verified_until"] = "2020-01-01T00:00"
    assert "This instant has passed" in do(ana, holder, "investor", **said)


def test_a_company_approves_a_holder_and_ends_it(ana: Client, holder: User):
    assert "There is no token NONE" in do(ana, holder, "approve", token="none")
    do(ana, holder, "approve", token="lum")
    do(ana, holder, "approve", token="lum", until="2099-01-01T00:00")
    approved = ApprovedHolder.objects.get(ended_at=None)
    assert approved.until is not None
    do(ana, holder, f"end {approved.pk}")
    assert not ApprovedHolder.objects.filter(ended_at=None).exists()


def test_a_rule_is_asked_for_with_whom_it_would_refuse(
    ana: Client, ben: Client, holder: User
):
    given = {"token": "LUM", "rule": "COUNTRIES", "says": "refused us, ca"}
    wrong = ana.post("/admin/ask/rule/", given | {"says": "us", "reason": "Why"})
    assert "Enter allowed FR, DE" in wrong.content.decode()
    shown = approve(ben, ask(ana, "rule", **given))
    assert "1 of 1: Bo Berg" in shown
    rule = TokenRule.objects.get()
    assert rule.parameters == {"refused": ["US", "CA"]}
    assert (rule.created_by, rule.approved_by) == (
        "ana@staff.example",
        "ben@staff.example",
    )
    approve(ben, ask(ana, "rule", token="LUM", rule="COUNTRIES", ends="on"))
    rule.refresh_from_db()
    assert rule.ended_at is not None


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("VERIFIED_HOLDERS", "", {}),
        ("COUNTRIES", "allowed fr de", {"allowed": ["FR", "DE"]}),
        ("INVESTOR_CLASSES", "professional", {"classes": ["PROFESSIONAL"]}),
        ("MAX_HOLDERS", "2 000", {"holders": 2000}),
        ("MAX_BALANCE", "5 000", {"units": 5000}),
        ("MAX_BALANCE", "2.5 %", {"bps": 250}),
        ("MAX_BALANCE", "2,5 %", {"bps": 250}),
        ("MAX_BALANCE", "2,5%", {"bps": 250}),
        ("MAX_BALANCE", "0,05 %", {"bps": 5}),
        ("MAX_BALANCE", "100%", {"bps": 10_000}),
    ],
)
def test_a_rule_is_read_as_it_is_typed(
    kind: str, text: str, expected: dict[str, object]
):
    assert parameters_from(kind, text) == expected


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("MAX_HOLDERS", "2,000", "can mean 2000 or 2.000. Write 2000 or 2."),
        ("MAX_BALANCE", "1,250", "can mean 1250 or 1.250. Write 1250 or 1.25."),
        ("MAX_BALANCE", "2,5", "is not a whole number. .* ends in %"),
        ("MAX_BALANCE", "2,500 %", "can mean 2500 or 2.500"),
        ("MAX_BALANCE", "2,125 %", "can mean 2125 or 2.125"),
        ("MAX_BALANCE", "2.5555%", "in steps of 0.01%"),
        ("MAX_BALANCE", "101 %", "from 0.01% to 100%"),
        ("MAX_BALANCE", "0 %", "from 0.01% to 100%"),
        ("MAX_BALANCE", "-5%", "from 0.01% to 100%"),
        ("MAX_BALANCE", "5 % %", "is not a number"),
    ],
)
def test_a_rule_that_could_mean_two_things_is_refused(kind: str, text: str, why: str):
    with pytest.raises(ValidationError, match=why):
        parameters_from(kind, text)


def test_a_rule_names_countries_that_there_are(ana: Client, holder: User, world: World):
    given = {"token": "LUM", "rule": "COUNTRIES", "says": "allowed FR, XX"}
    asked = ana.post("/admin/ask/rule/", given | {"reason": "Why"})
    assert "XX: unknown country" in str(asked.context["form"].errors)
    token, kind, refused = world.public_token, "COUNTRIES", {"refused": ["US", "ZZ"]}
    with pytest.raises(RuleRefused, match="ZZ: unknown country"):
        rule_content(token, kind, refused, "Why")
    with (
        pytest.raises(IntegrityError, match="names countries by ISO 3166-1: ZZ"),
        transaction.atomic(),
    ):
        set_rule(token, kind, refused, "x", "ana@staff.example")


def test_others_see_and_do_not_act(holder: User):
    olga = signed_in("olga", "Operations")
    page = reverse("admin:holder_compliance", args=[holder.pk])
    assert olga.get(page).status_code == 200
    for what in ("restrict", "investor", "approve", "nothing"):
        assert olga.post(page, {"do": what}).status_code == 403
    assert olga.get("/admin/ask/rule/").status_code == 403
