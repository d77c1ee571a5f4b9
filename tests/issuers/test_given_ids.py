"""The application cannot invent future ids, files, jobs or old answers."""

import hashlib
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.utils import timezone

from accounts.people.models import HolderImport, User, UserHolder
from issuers.legacy.models import LegacyImport, LegacyShareholder
from issuers.register import ledger
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.operations.models import JobRun
from tests.characters import World
from tests.issuers.register import people
from tests.owner import superuser

GIVEN = """
    SELECT c.relname FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
    CROSS JOIN unnest(ARRAY['INSERT', 'UPDATE']) AS r (name)
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        AND has_column_privilege(c.oid, a.attnum, r.name)
"""


@pytest.mark.django_db
def test_every_id_that_the_application_inserts_is_its_sequences():
    with connection.cursor() as cursor:
        cursor.execute(GIVEN)
        assert cursor.fetchall() == []


@pytest.mark.django_db
def test_a_ledger_account_is_opened_by_its_function_alone():
    first = people(1)
    [stranger] = [User.objects.create(type="INDIVIDUAL", first_name="A", last_name="B")]
    profile = UserHolder.objects.create(user=stranger, name="A B")
    with (
        connection.cursor() as cursor,
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
    ):
        cursor.execute(
            "INSERT INTO issuers_ledgeraccount (kind, holder_id, user_id)"
            " VALUES ('HOLDER', %s, %s)",
            [profile.pk, stranger.pk],
        )
    accounts = ledger.holder_accounts([stranger.pk, first[0].pk])
    assert len(accounts) == 2


@pytest.mark.django_db
def test_an_answer_gets_no_id_of_the_future_by_an_update_either(world: World):
    record = IdempotencyRecord.objects.create(
        partner=world.partner, key=uuid.uuid4(), fingerprint=b"f",
        created_at=timezone.now(),
    )  # fmt: skip
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
    ):
        IdempotencyRecord.objects.filter(pk=record.pk).update(id=record.pk + 1)


@pytest.mark.django_db
@pytest.mark.parametrize("far", [False, True])
def test_an_answer_is_not_kept_for_longer_than_a_day(world: World, far: bool):
    now = timezone.now()
    late = datetime(9999, 12, 31, tzinfo=UTC) if far else now + timedelta(hours=26)

    def claim(**answer):
        return IdempotencyRecord.objects.create(
            partner=world.partner, key=uuid.uuid4(), fingerprint=b"f", created_at=now,
            **answer,
        )  # fmt: skip

    def answer(key, expires_at):
        IdempotencyRecord.objects.filter(pk=key).update(
            body=b"b", expires_at=expires_at
        )

    claimed = claim().pk
    for forge in (
        lambda: claim(body=b"b", expires_at=late),
        lambda: answer(claimed, late),
    ):
        with pytest.raises(IntegrityError, match="in_a_day"), transaction.atomic():
            forge()
    answer(claimed, now + timedelta(hours=24))


@pytest.mark.django_db
def test_no_job_ran_in_the_future():
    def run(at):
        return JobRun.objects.create(
            job="verify_register", started_at=at, seconds=1, result="DONE"
        )

    run(timezone.now())
    with pytest.raises(IntegrityError, match="has_begun"), transaction.atomic():
        run(timezone.now() + timedelta(days=1))


def forge(model, file: Path, **fields: object) -> None:
    model.objects.create(
        file_name=file.name, imported_by="ana@example.com",
        checksum_sha256=hashlib.sha256(file.read_bytes()).hexdigest(), **fields,
    )  # fmt: skip


STAFF = "ana@example.com"


@pytest.fixture
def ana(db: None) -> User:
    return superuser(STAFF, type="INDIVIDUAL", first_name="Ana", last_name="Lund")


def test_a_file_of_holders_that_never_was_imported_is_told_and_can_be(
    ana: User, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "holders.csv"
    file.write_text("name,kind,email\nBo Ek,INDIVIDUAL,bo@example.com\n")
    forge(HolderImport, file)
    with pytest.raises(CommandError):
        call_command("import", "holders", file, staff=STAFF)
    today = timezone.now().date()
    assert capsys.readouterr().err == (
        "holders.csv, line 2, name: there is no user bo@example.com, although this "
        f"file was already imported on {today} by {STAFF}; to import it again, save it "
        "with another line break at its end\n"
    )
    assert not User.objects.filter(email="bo@example.com").exists()
    file.write_text(file.read_text() + "\n")
    call_command("import", "holders", file, staff=STAFF)
    assert User.objects.filter(email="bo@example.com").exists()
    call_command("import", "holders", file, staff=STAFF)
    assert capsys.readouterr().out.endswith(
        "has already been imported; nothing was written.\n"
    )


def test_a_file_of_legacy_lines_that_never_was_imported_is_told_and_can_be(
    ana: User, tmp_path: Path, capsys: pytest.CaptureFixture[str], world: World
):
    issuer, file = world.listed, tmp_path / "lines.csv"
    User.objects.create_user("bo@example.com", type="INDIVIDUAL", last_name="Ek")
    symbol = world.public_token.symbol
    file.write_text(
        "reference,holder_email,token_symbol,number_of_shares,price_cents\n"
        f"L-1,bo@example.com,{symbol},5,100\nL-2,bo@example.com,{symbol},6,100\n"
    )

    def run() -> None:
        call_command(
            "import", "legacy-shareholders", file, issuer=issuer.slug, staff=STAFF
        )

    forge(LegacyImport, file, issuer=issuer)
    lines = LegacyShareholder.objects.filter(issuer=issuer, reference__startswith="L-")
    with pytest.raises(CommandError):
        run()
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert said[0].startswith(
        "lines.csv, line 2, reference: L-1 is not a line of the issuer, although this "
        "file was already imported on "
    )
    assert lines.count() == 0
    file.write_text(file.read_text() + "\n")
    run()
    assert lines.count() == 2
    run()
    assert capsys.readouterr().out.endswith(
        "has already been imported; nothing was written.\n"
    )
    lines.filter(reference="L-2").delete()
    with pytest.raises(CommandError):
        run()
    assert [line.reference for line in lines] == ["L-1"]
