"""What a policy names happens once, as one asked for it and another approved it."""

import dataclasses
from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import Permission
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.approvals.four_eyes import (
    NotApproved,
    Superseded,
    carry_out,
    carrying,
    decide,
    file_request,
    overtake,
    take_back,
)
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.keys.approvals import key_content
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers.models import Token
from issuers.register import ledger
from issuers.register.approvals import (
    EnterUnits,
    SetPrice,
    entry_content,
    price_content,
)
from issuers.register.ledger import Entry, Kind
from issuers.register.models import LedgerTransaction, TokenPrice
from issuers.register.reasons import ReasonCode
from partnerapi.core.database import execute
from partnerapi.staff.approvals.kinds import KINDS
from tests.accounts.approval_race import Race
from tests.issuers.register import empty_token, new_issuer, people
from tests.owner import appoint, tamper

pytestmark = pytest.mark.django_db
COMMITS = pytest.mark.django_db(transaction=True)
RACERS = 40
STATUSES = {status.value: status for status in ApprovalRequest.Status}


RIGHTS = ["view_approvalrequest"] + [
    f"{may}_{kind.lower()}" for may in ("file", "decide") for kind in KINDS
]


def member(name: str, *rights: str, **more: bool) -> User:
    user = User.objects.create_user(
        f"{name}@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name=name,
        last_name="Staff",
        **{"is_staff": True} | more,
    )
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    appoint(user)
    return user


@pytest.fixture
def ana() -> User:
    """She asks, and has every right."""
    return member("ana", *RIGHTS)


@pytest.fixture
def ben() -> User:
    return member("ben", *RIGHTS)


@pytest.fixture
def token(request: pytest.FixtureRequest) -> Token:
    """A token of an issuer that was there before."""
    token = empty_token(new_issuer(), "EYES", timezone.now())
    if COMMITS.mark not in request.node.own_markers:
        tamper("UPDATE issuers_issuer SET recorded_in = 0")
    return token


@pytest.fixture
def mint(token: Token) -> Entry:
    [account] = ledger.holder_accounts([people(1)[0].pk]).values()
    return Entry(token.pk, Kind.MINT, 100, None, account, "Capital increase")


@pytest.fixture
def asked(mint: Entry, ana: User) -> ApprovalRequest:
    return ask_for(mint, 0, ana)


def test_the_code_of_a_reason_is_approved_with_it(token, mint, ana, ben):
    coded = dataclasses.replace(mint, code=ReasonCode.ISSUE)
    asked = ask_for(coded, 0, ana)
    decide(asked, ben, is_approved=True)
    for other in (mint, dataclasses.replace(mint, code=ReasonCode.GIFT)):
        with pytest.raises(NotApproved), carrying([asked.pk]):
            ledger.record([other], ana.email or "")
    carry_out(asked, EnterUnits())
    [entry] = LedgerTransaction.objects.all()
    assert entry.reason_code == "ISSUE"


def ask_for(entry: Entry, supply: int, ana: User) -> ApprovalRequest:
    content = entry_content(entry, supply)
    return file_request(entry.kind, content, "Mint", "Decided on 3 March", ana)


def status_of(request: ApprovalRequest) -> str:
    return ApprovalRequest.objects.with_status(timezone.now()).get(pk=request.pk).status


def entries() -> int:
    return LedgerTransaction.objects.count()


def test_an_approved_request_is_executed_once(asked, mint, ben, token):
    assert status_of(asked) == "WAITING"
    decide(asked, ben, is_approved=True)
    assert status_of(asked) == "APPROVED"
    carry_out(asked, EnterUnits())
    assert status_of(asked) == "EXECUTED"
    asked.refresh_from_db()
    assert (asked.outcome.token_id, asked.outcome.number) == (token.pk, 1)
    [entry] = LedgerTransaction.objects.all()
    assert (entry.amount, entry.actor) == (100, asked.filed_by.email)
    with pytest.raises(NotApproved), carrying([asked.pk]):
        ledger.record([mint], "ana")
    assert entries() == 1


def test_only_what_lacks_an_approval_is_said_to_lack_one(asked):
    """By the rule that is broken, whatever the texts of others have in them."""
    for rule in ("", ", CONSTRAINT = 'request_expires_later'"):
        with pytest.raises(IntegrityError), carrying([asked.pk]):
            execute(
                "DO $$ BEGIN RAISE EXCEPTION 'No approval is lacking'"
                f" USING ERRCODE = 'restrict_violation'{rule}; END $$"
            )


def test_nobody_decides_what_they_filed_whatever_the_way(asked, ana, token):
    with pytest.raises(NotApproved, match="other than the one that filed it"):
        decide(asked, ana, is_approved=True)
    with (
        pytest.raises(DatabaseError, match="other than the one that filed it"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "SELECT approvals_decide_requests(ARRAY[%s::uuid], %s, TRUE, '')",
            [asked.pk, ana.pk],
        )
    client = Client()
    client.force_login(ana)
    page = reverse("admin:accounts_approvalrequest_change", args=[asked.pk])
    shown = client.get(page).content.decode()
    assert "cannot approve your own request" in shown
    assert 'value="approve"' not in shown
    client.post(page, {"do": "approve"})
    assert (status_of(asked), entries()) == ("WAITING", 0)


def test_only_the_filer_takes_a_request_back_and_only_while_it_waits(
    asked, mint, ana, ben
):
    stranger = member("stranger", "file_mint", "view_approvalrequest")
    with pytest.raises(NotApproved, match="with the right to decide its kind"):
        decide(asked, stranger, is_approved=False)
    take_back(asked, "A wrong number")
    assert status_of(asked) == "TAKEN_BACK"
    for verdict in (True, False):
        with pytest.raises(NotApproved, match="already decided this request"):
            decide(asked, ben, is_approved=verdict)
    with pytest.raises(NotApproved, match="needs an approval"):
        carry_out(asked, EnterUnits())
    approved, expired = ask_for(mint, 0, ana), ask_for(mint, 0, ana)
    decide(approved, ben, is_approved=True)
    with pytest.raises(NotApproved, match="already decided this request"):
        take_back(approved)
    end = "UPDATE accounts_approvalrequest SET expires_at = now()"
    tamper(f"{end} WHERE id = '{expired.pk}'")
    with pytest.raises(NotApproved, match="has expired"):
        take_back(expired)
    superseded = ask_for(mint, 0, ana)
    overtake(superseded, "The supply has changed.")
    with pytest.raises(NotApproved, match="superseded"):
        take_back(superseded)
    assert [status_of(r) for r in (approved, expired, superseded)] == [
        "APPROVED", "EXPIRED", "OVERTAKEN",
    ]  # fmt: skip


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_staff": False}])
def test_a_request_of_somebody_dismissed_is_not_taken_back(asked, ana, change):
    User.objects.filter(pk=ana.pk).update(**change)
    with pytest.raises(NotApproved, match="Only an active member of staff"):
        take_back(asked)
    assert status_of(asked) == "WAITING"


@pytest.mark.parametrize(
    "second",
    [
        {"rights": ["decide_burn"]},
        {"rights": ["decide_mint"], "is_active": False},
        {"rights": ["decide_mint"], "is_staff": False},
    ],
)
def test_who_decides_is_active_staff_with_the_right(asked, second):
    rights = second.pop("rights")
    with pytest.raises(NotApproved, match="with the right to decide its kind"):
        decide(asked, member("second", *rights, **second), is_approved=True)


@pytest.mark.parametrize(
    "filer",
    [
        {"rights": ["file_burn", "decide_mint"]},
        {"rights": ["file_mint"], "is_active": False},
        {"rights": ["file_mint"], "is_staff": False},
    ],
)
def test_who_asks_is_active_staff_with_the_right(mint, filer):
    rights = filer.pop("rights")
    with pytest.raises(NotApproved, match="right to file its kind: mint"):
        ask_for(mint, 0, member("filer", *rights, **filer))
    assert ApprovalRequest.objects.count() == 0


def test_a_decider_who_was_dismissed_has_approved_nothing(asked, ben):
    decide(asked, ben, is_approved=True)
    User.objects.filter(pk=ben.pk).update(is_active=False)
    with pytest.raises(NotApproved, match="needs an approval by a second person"):
        carry_out(asked, EnterUnits())
    assert entries() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"amount": 101},
        {"reason": "Another"},
        {"kind": Kind.MINT, "target": None},
    ],
)
def test_what_is_entered_is_what_was_approved(asked, mint, ben, token, change):
    decide(asked, ben, is_approved=True)
    if "target" in change:
        change["target"] = ledger.treasury(token.issuer)
    said = {name: getattr(mint, name) for name in mint.__slots__} | change
    with pytest.raises(NotApproved), carrying([asked.pk]):
        ledger.record([Entry(**said)], "ana")
    assert (status_of(asked), entries()) == ("APPROVED", 0)


@pytest.mark.parametrize("why", ["no one decided", "refused", "expired"])
def test_without_an_approval_nothing_is_entered(asked, mint, ben, why):
    if why != "no one decided":
        decide(asked, ben, is_approved=why == "expired", reason="No")
    if why == "expired":
        tamper("UPDATE accounts_approvalrequest SET expires_at = now()")
        assert status_of(asked) == "EXPIRED"
    for attempt in (lambda: carry_out(asked, EnterUnits()), lambda: enter(mint, [])):
        with pytest.raises(NotApproved, match="needs an approval"):
            attempt()
    assert entries() == 0


def enter(entry: Entry, approvals: list[UUID]) -> None:
    with carrying(approvals):
        ledger.record([entry], "ana")


@COMMITS
def test_of_many_who_approve_at_once_one_executes(patient_locks, transactional_db):
    told = Race().run(RACERS)
    assert (told["entries"], told["executions"]) == (1, 1)
    assert told["decided by the filer"] == 0


@COMMITS
def test_a_superseded_request_never_executes(mint, ana, ben, token):
    first, second = ask_for(mint, 0, ana), ask_for(mint, 0, ana)
    for request in (first, second):
        decide(request, ben, is_approved=True)
    carry_out(first, EnterUnits())
    with pytest.raises(Superseded, match="the supply has changed since"):
        carry_out(second, EnterUnits())
    assert status_of(second) == "OVERTAKEN"
    burn = Entry(token.pk, Kind.BURN, 100, mint.target, None, "Back")
    third = ask_for(burn, 100, ana)
    decide(third, ben, is_approved=True)
    carry_out(third, EnterUnits())
    # The supply is again what it was; the request has ended all the same.
    with pytest.raises(NotApproved):
        enter(mint, [second.pk])
    assert entries() == 2


@COMMITS
def test_a_price_follows_the_one_that_was_seen(token, ana, ben):
    contents = [price_content(token.pk, cents, "NAV") for cents in (500, 600)]
    requests = [
        file_request(ApprovalKind.PRICE, content, "Price", "Valued", ana)
        for content in contents
    ]
    for request in requests:
        decide(request, ben, is_approved=True)
    carry_out(requests[0], SetPrice())
    with pytest.raises(Superseded, match="another price"):
        carry_out(requests[1], SetPrice())
    with pytest.raises(DatabaseError, match="needs an approval"):
        ledger.set_price(token.pk, 700, "MANUAL", "ana")
    with pytest.raises(DatabaseError, match="Only a market enters trades"):
        ledger.set_price(token.pk, 700, "TRADE", "ana")
    assert [p.price_cents for p in TokenPrice.objects.all()] == [500]


def test_a_key_stays_as_it_was_approved(token, ana, ben):
    acme = Partner.objects.create(login="acme", name="Acme")
    end = timezone.now() + timedelta(days=9)
    content = key_content(acme, ["issuers:read"], end)
    request = file_request(ApprovalKind.KEY, content, "Key", "A contract", ana)
    decide(request, ben, is_approved=True)
    for scopes in (["issuers:read", "captable:read"], []):
        with pytest.raises(NotApproved), carrying([request.pk]):
            ApiKey.objects.issue(acme, scopes, end)
    with carrying([request.pk]):
        key, _ = ApiKey.objects.issue(acme, ["issuers:read"], end)
    with pytest.raises(DatabaseError, match="Issue another"), transaction.atomic():
        key.narrow(scopes=["captable:read"])
    assert not key.narrow(expires_at=end + timedelta(days=1))
    keys = ApiKey.objects.filter(pk=key.pk)
    for change in ({"expires_at": None}, {"secret_digest": bytes(32)}):
        with pytest.raises(DatabaseError, match="denied"), transaction.atomic():
            keys.update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        keys.delete()
    assert key.narrow(scopes=[], expires_at=end - timedelta(days=1))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_approvalpolicy SET is_required = FALSE",
        "DELETE FROM accounts_approvalpolicy",
        "INSERT INTO accounts_approvalrequest SELECT * FROM accounts_approvalrequest",
        "UPDATE accounts_approvalrequest SET content = '{}'",
        "INSERT INTO accounts_approvaldecision (request_id, is_approved, reason,"
        " decided_by_id) SELECT id, TRUE, '', filed_by_id"
        " FROM accounts_approvalrequest",
        "UPDATE accounts_approvaldecision SET is_approved = TRUE",
        "INSERT INTO accounts_approvaloutcome (request_id, is_executed, detail)"
        " SELECT id, TRUE, '' FROM accounts_approvalrequest",
        "SELECT approvals_use('MINT', '{}', 1, NULL, NULL)",
    ],
)
def test_the_application_changes_neither_policies_nor_what_was_said(asked, statement):
    with (
        pytest.raises(DatabaseError, match="permission denied"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@COMMITS
def test_another_person_decides_on_the_page(asked, ana, ben):
    client = Client()
    client.force_login(ben)
    inbox = client.get(reverse("admin:accounts_approvalrequest_changelist"))
    assert str(asked) in inbox.content.decode()
    page = reverse("admin:accounts_approvalrequest_change", args=[asked.pk])
    shown = client.get(page).content.decode()
    assert "Capital increase" in shown
    assert "Decided on 3 March" in shown
    assert "<bdi>Supply</bdi></th><td><bdi>0</bdi></td><td><bdi>100</bdi>" in shown
    said = client.post(page, {"do": "refuse"}, follow=True).content.decode()
    assert "a reason is required" in said
    said = client.post(page, {"do": "approve"}, follow=True).content.decode()
    assert "Approved and executed." in said
    assert (status_of(asked), entries()) == ("EXECUTED", 1)
    closed = client.get(reverse("admin:accounts_approvalrequest_changelist"))
    assert f"/{asked.pk}/" not in closed.content.decode()
