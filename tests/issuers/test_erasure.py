"""A person is erased: no name is left, and every statement and proof stays valid."""

import io
import json
import logging
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from accounts.people.models import User, UserHolder
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.offerings.drafting import draft
from issuers.register import erasure, ledger, statements
from issuers.register.chains import Chain, chain_lines
from issuers.register.erasure import RETENTION, days_kept, erasure_content
from issuers.register.ledger import Entry
from issuers.register.proofs import holding_proof, stated_at
from issuers.register.statement_models import Erasure, StatedRows
from issuers.register.statements import private_key, write_statement
from issuers.register.verification import verify
from partnerapi.core.database import execute
from partnerapi.sandbox.data.approvals import ASKER, file_and_approve
from tests.approved import approved_record, asker, desk, partner_of
from tests.characters import World
from tests.issuers.offerings.offerings import terms
from tests.issuers.register import new_statement_key, people
from tests.issuers.test_lines import AS_VERSION_1
from tests.issuers.test_proofs import Run, keys, run, save
from tests.owner import tamper

__all__ = ["run"]
pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("Zoraquine", "Quillfeather", "zora@example.com", 'Zora O\'Quill "Z"')


@pytest.fixture
def write(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    settings.PARTNER_API_STATEMENT_KEY = new_statement_key()
    key = private_key(settings.PARTNER_API_STATEMENT_KEY)
    # No transaction of the test runs for an hour.
    monkeypatch.setattr(statements, "SETTLED", timedelta(0))
    numbers = count(1)

    def write() -> Path:
        """A statement that covers what is there now, in a directory of its own."""
        directory = tmp_path / f"operator{next(numbers)}"
        directory.mkdir()
        return write_statement(directory, key, timezone.now())

    return write


def differences(statement: Path) -> list[str]:
    """What `verify register --against` says of a statement: refused, or a note."""
    said = io.StringIO()
    with suppress(CommandError):
        call_command("verify", "register", against=statement, stdout=said)
    text = said.getvalue()
    *found, _ = text[text.index("the register agrees with") :].splitlines()
    return found


@pytest.fixture
def others(world: World) -> list[int]:
    accounts = ledger.holder_accounts(user.pk for user in people(70))
    token = world.public_token.pk
    approved_record(
        [
            Entry(token, "MINT", 10 + n, None, a)
            for n, a in enumerate(accounts.values())
        ],
        "me",
    )
    return [*accounts.values()]


@pytest.fixture
def person(world: World, others: list[int]) -> User:
    """A holder whom texts of many tables name."""
    user = User.objects.create(
        type="INDIVIDUAL",
        first_name="Zoraquine",
        last_name="Quillfeather",
        email="zora@example.com",
        address="1 Zoraquine Street",
    )
    UserHolder.objects.create(user=user, name='Zora O\'Quill "Z"')
    UserHolder.objects.filter(user=user).update(name="Zoraquine Quillfeather")
    [own] = ledger.holder_accounts([user.pk]).values()
    token = world.public_token.pk
    account = Account.objects.open(world.partner, user, desk(), timezone.now())
    account.change_status("ACTIVE", desk(), None)
    account.change_status("SUSPENDED", desk(), "Zoraquine Quillfeather has called")
    approved_record(
        [
            Entry(token, "MINT", 5, None, own, reason="for ZORAQUINE QUILLFEATHER"),
            Entry(token, "MINT", 7, None, own),
        ],
        "me",
    )
    restrictions.restrict(user, Terms("FREEZE", 'a letter of Zora O\'Quill "Z"'), ASKER)
    return user


def leave(person: User, world: World, to: int) -> None:
    """Sell all, and close the account."""
    [own] = ledger.holder_accounts([person.pk]).values()
    tamper("UPDATE issuers_restriction SET ended_at = now(), ended_by = 'me'")
    approved_record(
        [Entry(world.public_token.pk, "TRANSFER", 12, own, to, reason="sold")], "me"
    )
    account = Account.objects.get(user=person)
    account.change_status("ACTIVE", desk(), None)
    account.change_status("CLOSED", partner_of(account), None)


def erase(person: User, *keep: str) -> str:
    kept = days_kept() | {
        table: int(days) for table, days in (one.split("=") for one in keep)
    }
    [request] = file_and_approve(ApprovalKind.ERASURE, erasure_content(person.pk, kept))
    said = io.StringIO()
    call_command(
        "erase_person", str(person.pk), staff=ASKER, approval=request.pk, stdout=said,
        keep=[(one.split("=")[0], int(one.split("=")[1])) for one in keep],
    )  # fmt: skip
    return said.getvalue()


def places_of(text: str) -> set[str]:
    """The tables with a row that has a text, in any column, in any case."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(
                f'SELECT EXISTS (SELECT FROM "{table}" t WHERE EXISTS ('
                "SELECT FROM unnest(%s::text[]) n"
                " WHERE strpos(lower(to_jsonb(t)::text), lower(n)) > 0))",
                [[text, json.dumps(text)[1:-1], text.encode().hex()]],
            )
            if cursor.fetchone() == (True,):
                found.add(table)
    return found


def test_no_name_is_left_and_all_that_was_proved_stays_proved(
    world: World, others: list[int], person: User, write: Any, run: Run,
    tmp_path: Path, caplog: pytest.LogCaptureFixture,
):  # fmt: skip
    caplog.set_level(logging.DEBUG)
    token = world.public_token.pk
    first = write()
    stated = stated_at(token, None)
    assert stated
    other = User.objects.get(ledger_account=others[3])
    own, others_proof = [
        holding_proof(stated, user.pk, None).proof for user in (person, other)
    ]
    assert own
    leave(person, world, others[0])
    second = write()
    assert all(places_of(name) for name in NAMES)
    heads = [row.digest for row in chain_lines(Chain.ENTRIES, token)]
    said = erase(person, *(f"{table}=0" for table in RETENTION))
    assert "Erasure 1: the next statement has its record." in said
    for name in NAMES:
        assert places_of(name) == set(), name
    third = write()
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 3
    for name in NAMES:
        assert not any(name.encode() in file.read_bytes() for file in files)
        assert name not in caplog.text
    assert [row.digest for row in chain_lines(Chain.ENTRIES, token)] == heads
    assert [one.rule for one in verify() if one.breaches] == []
    trusted = keys(tmp_path)
    for proof in (own, others_proof):
        assert run("proof", save(tmp_path, "old", proof), trusted)[0] == 0
    anew = holding_proof(stated, other.pk, None).proof
    assert anew == others_proof
    assert run("proof", save(tmp_path, "new", anew), trusted)[0] == 0
    assert holding_proof(stated, person.pk, None).proof is None
    for file in (first, second):
        verdict, note = differences(file)
        assert verdict.endswith("ok"), verdict
        assert note.startswith("not comparable after erasure 1"), note
    [verdict] = differences(third)
    assert verdict.endswith("ok"), verdict
    details = json.loads(Client().get("/statements/3").content.splitlines()[2])
    assert details["erasures"] == {
        "number": 1, "digest": bytes(Erasure.objects.get().digest).hex()
    }  # fmt: skip


def test_what_a_law_keeps_stays_and_is_said(
    world: World, others: list[int], person: User, write: Any, capsys: Any
):
    leave(person, world, others[0])
    said = io.StringIO()
    call_command(
        "erase_person", "zora@example.com", staff=ASKER, dry_run=True, stdout=said,
        keep=[("issuers_restriction", 30)],
    )  # fmt: skip
    table = {line.split()[0]: line.split()[1:] for line in said.getvalue().splitlines()}
    until = timezone.now() + timedelta(days=30)
    assert table["issuers_restriction"] == ["0", "1", f"{until:%Y-%m-%d}"]
    assert table["issuers_ledgertransaction"] == ["1", "0", "-"]
    assert User.objects.get(pk=person.pk).email == "zora@example.com"
    erase(person, "issuers_restriction=30")
    assert places_of("O'Quill") == {"issuers_restriction"}
    # What was approved has the reason of the entry.
    assert places_of("Quillfeather") == {"accounts_approvalrequest"}


def test_the_owners_rewrites_after_an_erasure_are_seen(
    world: World, others: list[int], person: User, write: Any
):
    file = write()
    leave(person, world, others[0])
    erase(person)
    kept = StatedRows.objects.filter(name="issuers_restriction").get()
    assert kept.seed is None
    for tampering, found in (
        (
            "UPDATE accounts_userholder SET name = 'x' WHERE name LIKE 'Holder%'",
            "The names of holders",
        ),
        (
            "UPDATE issuers_ledgertransaction SET salt = NULL WHERE seq = 4",
            "Private parts without a salt",
        ),
        (
            "UPDATE issuers_statedrows SET erased = '{}' WHERE erased IS NOT NULL",
            "The erased rows of statements",
        ),
        (
            "UPDATE issuers_erasure SET line = replace(line, 'actor', 'other')",
            "The record of erasure 1 was altered.",
        ),
    ):
        assert found not in "".join(differences(file))
        tamper(tampering)
        assert found in "".join(differences(file)), tampering


PLANTED = """
    UPDATE issuers_legacyshareholder SET reference = 'Quillfeather, Zoraquine'
        WHERE id = (SELECT id FROM issuers_legacyshareholder ORDER BY id LIMIT 1);
    UPDATE issuers_legacyshareholder SET status = 'DELIVERED', delivered_at = now(),
        delivered_by = 'me', reference = 'zora@example.com', ledger_seq = 1,
        token_id = (SELECT id FROM issuers_token LIMIT 1)
        WHERE id = (SELECT id FROM issuers_legacyshareholder ORDER BY id DESC LIMIT 1);
    UPDATE accounts_account SET status_reason =
        rpad('Zoraquine Quillfeather', 480, ' zora@example.com')
        WHERE user_id = '{person}';
    UPDATE accounts_approvalrequest SET title = 'of Zoraquine Quillfeather',
        reason = 'Quillfeather Zoraquine', content = content
            || '{{"reason": "zora@example.com"}}'
        WHERE id = (SELECT id FROM accounts_approvalrequest LIMIT 1);
    UPDATE accounts_approvaldecision SET reason = 'as Zoraquine Quillfeather wishes'
        WHERE request_id = (SELECT request_id FROM accounts_approvaldecision LIMIT 1);
    INSERT INTO partnerapi_jobrun (job, started_at, seconds, result, detail)
        VALUES ('x', now(), 1, 'BEGUN', 'Zoraquine Quillfeather''s file');
    INSERT INTO issuers_recordinstant (at, reason)
        VALUES (now(), 'Inheritance of Zoraquine Quillfeather');
    UPDATE issuers_offering SET status_reason = 'Death of Zoraquine Quillfeather';
    INSERT INTO django_admin_log (action_time, object_repr, action_flag,
        change_message, user_id) SELECT now(), 'Zoraquine Quillfeather', 2, '', id
        FROM accounts_user WHERE is_staff LIMIT 1
"""


def test_texts_of_every_kind_are_erased(
    world: World, others: list[int], person: User, write: Any
):
    leave(person, world, others[0])
    draft(world.public_token, terms(), asker())
    tamper(PLANTED.format(person=person.pk))
    write()
    erase(person, *(f"{table}=0" for table in RETENTION))
    for name in NAMES:
        assert places_of(name) == set(), name
    assert places_of("erased person 1") > {
        "accounts_account",
        "accounts_approvaldecision",
        "accounts_approvalrequest",
        "django_admin_log",
        "issuers_legacyshareholder",
        "issuers_offering",
        "issuers_recordinstant",
        "partnerapi_jobrun",
    }


def test_two_people_erase_only_a_person_who_has_left(
    world: World, others: list[int], person: User
):
    with pytest.raises(CommandError, match="Nothing was erased"):
        erase(person)
    leave(person, world, others[0])
    with pytest.raises(CommandError, match="use --request to request approval"):
        call_command("erase_person", str(person.pk), staff=ASKER, stdout=io.StringIO())
    assert User.objects.get(pk=person.pk).last_name == "Quillfeather"


def test_a_fault_is_not_said_to_be_the_person_s(world: World, person: User):
    with transaction.atomic():
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        with pytest.raises(IntegrityError, match="READ COMMITTED"):
            erasure.erase(person.pk, ASKER, days_kept(), lambda done: None)
        transaction.set_rollback(True)


def test_a_line_of_version_1_keeps_its_digests(
    world: World, others: list[int], person: User, write: Any
):
    tamper(AS_VERSION_1)
    token = world.public_token.pk
    file = write()
    heads = [row.digest for row in chain_lines(Chain.ENTRIES, token)]
    leave(person, world, others[0])
    erase(person)
    rows = list(chain_lines(Chain.ENTRIES, token))
    assert [row.digest for row in rows][: len(heads)] == heads
    [redacted] = [row for row in rows if '"redacted"' in row.line]
    said = json.loads(redacted.line)
    assert said["digestAfter"] == redacted.digest.hex()
    assert (said["redacted"], said["number"]) == ("1", "71")
    assert places_of("Quillfeather") == {"accounts_approvalrequest"}
    assert [one.rule for one in verify() if one.breaches] == []
    assert differences(file)[0].endswith("ok")
    tamper("UPDATE issuers_redactedline SET digest_after = sha256(digest_after)")
    assert [one.rule for one in verify() if one.breaches] != []


def test_the_page_has_each_period_with_its_source(settings: Any):
    page = (settings.BASE_DIR / "templates" / "docs" / "proof.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.partition("### What stays")[2].splitlines()
        if line.startswith("| `")
    ]
    named = {
        table: (int(days), source)
        for tables, days, source in rows
        for table in tables.replace("`", "").split(", ")
    }
    assert named == {table: (of.days, of.source) for table, of in RETENTION.items()}
