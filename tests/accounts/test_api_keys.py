import io
import json
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.utils import timezone

from accounts.access import Scope, Unauthenticated
from accounts.approvals.four_eyes import decide
from accounts.approvals.models import ApprovalRequest
from accounts.apps import write_scopes
from accounts.keys.models import ApiKey, KeyScope, Partner
from accounts.keys.verification import SCOPES_ARE_KNOWN
from partnerapi.core.invariants import check_invariants
from partnerapi.sandbox.data.approvals import ASKER, DECIDER, approved_key, colleague
from tests.owner import as_owner, tamper
from tests.typing_in import give_password, typing

pytestmark = pytest.mark.django_db


def run(*arguments, **options):
    output = io.StringIO()
    call_command(*arguments, stdout=output, **options)
    return output.getvalue().strip()


@pytest.fixture
def acme():
    return Partner.objects.create(login="acme_co", name="Acme")


@pytest.fixture
def key(acme):
    return approved_key(acme, [Scope.ISSUERS_READ])[0]


def issued(login: str, *arguments: str) -> str:
    """The token of a key that one person asks for and another approves."""
    asker = colleague(ASKER)
    give_password(asker)
    ask = ["--request", f"--staff={asker.email}", "--reason=A contract"]
    with typing():
        said = run("key", "issue", login, *arguments, *ask)
    assert ApiKey.objects.count() == 0
    request = ApprovalRequest.objects.latest("pk")
    assert str(request.pk) in said
    decide(request, colleague(DECIDER), is_approved=True)
    return run("key", "issue", login, f"--approval={request.pk}")


def test_issues_a_key_that_works_and_says_what_to_do_with_it(acme, capsys):
    token = issued("acme_co", "--scope=issuers:read")
    assert re.fullmatch(r"service-apikey_acme_co_[0-9A-Za-z]{49}", token)
    key = ApiKey.objects.authenticate(token, timezone.now())
    assert (key.partner, key.scopes, key.expires_at) == (acme, ["issuers:read"], None)
    said = capsys.readouterr().err
    assert f"Key …{token[-4:]} of acme_co: issuers:read; no expiry." in said
    assert "X-Token-Auth" in said
    assert token not in said


def test_issues_a_key_to_a_new_partner_with_every_scope_for_some_days():
    arguments = ["--create-partner=Nova", "--all-scopes", "--expires-in=90"]
    token = issued("nova", *arguments)
    key = ApiKey.objects.authenticate(token, timezone.now())
    assert (key.partner.name, set(key.scopes)) == ("Nova", set(Scope.values))
    assert abs(key.expires_at - key.created_at - timedelta(days=90)).seconds < 60
    with pytest.raises(Unauthenticated):
        ApiKey.objects.authenticate(token, key.expires_at)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["missing", "--all-scopes"],
            "no integration account missing.*--create-partner",
        ),
        (["acme_co", "--all-scopes", "--create-partner=A"], "login: .*already exists"),
        (["_x_", "--all-scopes", "--create-partner=A"], "login: Enter a valid value"),
        (["new", "--all-scopes", "--create-partner="], "name: This field cannot be"),
        (["acme_co"], "Give the key scopes with --scope or --all-scopes"),
        (["acme_co", "--scope=all"], "invalid choice: 'all'"),
        (["acme_co", "--all-scopes", "--expires-in=0"], "'0' is not a number of days"),
        (["acme_co", "--all-scopes", "--expires-in=3651"], "'3651' is not a number"),
    ],
)
def test_refuses_to_issue(acme, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        run("key", "issue", *arguments)
    assert ApiKey.objects.count() == 0
    assert Partner.objects.count() == 1


def test_refuses_to_issue_to_a_partner_that_is_switched_off(acme):
    Partner.objects.update(is_active=False)
    with pytest.raises(CommandError, match="acme_co is switched off"):
        run("key", "issue", "acme_co", "--all-scopes")
    assert ApiKey.objects.count() == 0


def test_revokes_by_id(key):
    said = run("key", "revoke", str(key.id))
    assert said == (
        f"Key {key.id} (…{key.last_four}) of acme_co is revoked; every process rejects "
        "it within one second."
    )
    key.refresh_from_db()
    assert key.revoked_at is not None


def test_revokes_by_login_and_last_four_but_not_in_a_dry_run(key):
    arguments = ["key", "revoke", "acme_co", key.last_four]
    assert run(*arguments, "--dry-run") == (
        f"Key {key.id} (…{key.last_four}) of acme_co would be revoked "
        "(dry run: nothing was written)"
    )
    assert ApiKey.objects.get().revoked_at is None
    run(*arguments)
    assert ApiKey.objects.get().revoked_at is not None


def test_refuses_to_revoke_twice_and_keeps_the_first_time(key):
    run("key", "revoke", str(key.id))
    first = ApiKey.objects.get().revoked_at
    with pytest.raises(CommandError, match=f"Key {key.id} .* was already revoked at"):
        run("key", "revoke", "acme_co", key.last_four)
    assert ApiKey.objects.get().revoked_at == first


def test_refuses_to_choose_between_keys_with_the_same_last_four(key, acme):
    other = approved_key(acme, [])[0]
    tamper("UPDATE accounts_apikey SET last_four = 'abcd'")
    with pytest.raises(CommandError, match="2 keys of acme_co end in abcd") as refusal:
        run("key", "revoke", "acme_co", "abcd")
    assert str(key.id) in str(refusal.value)
    assert str(other.id) in str(refusal.value)
    assert ApiKey.objects.filter(revoked_at=None).count() == 2


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["acme_co"], "acme_co is not the id of a key"),
        (["019376a2-5c1e-7b04-9c55-2f0e6f6f1d11"], "There is no key 019376a2"),
        (["missing", "abcd"], "no integration account missing"),
        (["acme_co", "????"], r"acme_co has no key ending in \?\?\?\?"),
    ],
)
def test_refuses_to_revoke_what_is_not_there(key, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        run("key", "revoke", *arguments)
    assert ApiKey.objects.get().revoked_at is None


def test_lists_keys_with_their_state_and_no_secret(key, acme):
    past = timezone.now() - timedelta(days=2)
    expired, token = approved_key(acme, [Scope.CAPTABLE_READ])
    tamper(
        f"UPDATE accounts_apikey SET created_at = '{past}',"
        f" expires_at = '{past + timedelta(days=1)}' WHERE id = '{expired.pk}'"
    )
    revoked = approved_key(acme, [])[0]
    revoked.revoke(timezone.now())
    other = Partner.objects.create(login="zeta", name="Zeta", is_active=False)
    approved_key(other, [])

    text = run("key", "list", "--json")
    rows = json.loads(text)
    assert [(row["login"], row["state"]) for row in rows] == [
        ("acme_co", "expired"),
        ("acme_co", "live"),
        ("acme_co", "revoked"),
        ("zeta", "partner switched off"),
    ]
    assert rows[1]["id"] == str(key.id)
    assert rows[1]["scopes"] == ["issuers:read"]
    assert rows[1]["lastFour"] == key.last_four
    table = run("key", "list", partner="acme_co")
    assert len(table.splitlines()) == 4
    for shown in (text, table):
        assert token.rpartition("_")[2] not in shown
        assert bytes(expired.secret_digest).hex() not in shown


def test_lists_nothing_helpfully(acme):
    assert run("key", "list") == (
        "There are no keys. Create one with `manage.py key issue`."
    )
    assert json.loads(run("key", "list", "--json")) == []
    with pytest.raises(CommandError, match="no integration account missing"):
        run("key", "list", partner="missing")


def known_scopes() -> set[str]:
    return {row.name for row in KeyScope.objects.all()}


def test_the_rows_of_the_database_are_the_scopes_of_the_code():
    assert known_scopes() == set(Scope.values), "see write_scopes in accounts/apps.py"


@pytest.mark.django_db(transaction=True)
def test_migrate_adds_the_scopes_of_the_code_and_removes_others():
    with as_owner(), transaction.atomic():
        rows = KeyScope.objects.all()
        rows.filter(name=Scope.CASH_READ).update(name="gone:read")
        write_scopes(using=connection.alias)
        assert known_scopes() == set(Scope.values)


@pytest.mark.parametrize("scopes", [["gone:read"], [Scope.CASH_READ, "gone:read"]])
def test_the_database_refuses_a_key_with_an_unknown_scope(acme, scopes: list[str]):
    with pytest.raises(IntegrityError, match="one of them is unknown"):
        ApiKey.objects.issue(acme, scopes)


@pytest.mark.parametrize(
    ("tampering", "breaches"),
    [
        ("", 0),
        ("INSERT INTO accounts_keyscope VALUES ('gone:read')", 1),
        ("UPDATE accounts_keyscope SET name = 'gone:read' WHERE name = 'cash:read'", 2),
        ("UPDATE accounts_apikey SET scopes = '{gone:read}'", 1),
    ],
)
def test_unknown_scopes_are_found(acme, tampering: str, breaches: int):
    approved_key(acme, [Scope.CASH_READ])
    if tampering:
        tamper(tampering)
    [found] = check_invariants([SCOPES_ARE_KNOWN])
    assert (found.figure, found.breaches) == (len(Scope), breaches)


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO accounts_keyscope VALUES ('gone:read')",
        "UPDATE accounts_keyscope SET name = 'gone:read'",
        "DELETE FROM accounts_keyscope",
    ],
)
def test_the_application_changes_no_scope(change: str):
    with (
        connection.cursor() as cursor,
        pytest.raises(ProgrammingError, match="permission denied"),
    ):
        cursor.execute(change)
