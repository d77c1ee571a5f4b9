import io
import threading

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client

from accounts.people.models import User
from issuers.legacy.delivery import Outcome, deliver_next
from issuers.legacy.models import (
    DeliveryJob,
    LegacyImport,
    LegacyShareholder,
    LegacyShareholderChange,
)
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import LedgerTransaction
from issuers.register.verification import verify
from partnerapi.sandbox.data.approvals import ASKER, DECIDER, colleague
from tests.approved import approved_record, released_job
from tests.characters import World
from tests.issuers.register import empty_token, new_issuer, people
from tests.owner import as_committed, superuser

STAFF = "ana@example.com"
HEADER = "reference,holder_email,holder_lei,token_symbol,number_of_shares,price_cents"
MINT, TREASURY = DeliveryJob.Source.MINT, DeliveryJob.Source.TREASURY
PENDING, DELIVERED = (
    LegacyShareholder.Status.PENDING,
    LegacyShareholder.Status.DELIVERED,
)


@pytest.fixture
def staff(db):
    return superuser(
        STAFF, "a long password", type="INDIVIDUAL", first_name="Ana", last_name="Lund"
    )


@pytest.fixture
def bo(db):
    return User.objects.create(
        type="INDIVIDUAL", first_name="Bo", last_name="Berg", email="bo@example.com"
    )


@pytest.fixture
def load(tmp_path, world: World, staff, bo):
    def load(*lines, dry_run=False):
        file = tmp_path / "register.csv"
        file.write_text("\n".join([HEADER, *lines]))
        output = io.StringIO()
        call_command(
            "import", "legacy-shareholders", file, issuer="lumen", staff=STAFF,
            dry_run=dry_run, stdout=output,
        )  # fmt: skip
        return output.getvalue().strip()

    return load


ONE = "L-1,bo@example.com,,LUM,100,125"
TWO = "L-2,,529900T8BM49AURSDO55,LUM,7,0"


def rows():
    found = LegacyShareholder.objects.exclude(reference=None).order_by("reference")
    return list(
        found.values_list("reference", "number_of_shares", "price_cents", "status")
    )


def test_imports_a_file_once_and_a_corrected_one_again(load, world: World):
    said = "Legacy shareholders of lumen: "
    assert load(ONE, TWO, dry_run=True) == (
        said + "2 created, 0 updated, 0 unchanged (dry run: nothing was written)"
    )
    assert rows() == []
    assert load(ONE, TWO) == said + "2 created, 0 updated, 0 unchanged"
    assert load(ONE, TWO) == (
        "register.csv has already been imported; nothing was written."
    )
    corrected = ONE.replace("100", "90")
    assert load(corrected) == said + "0 created, 1 updated, 0 unchanged"
    assert rows() == [("L-1", 90, 125, PENDING), ("L-2", 7, 0, PENDING)]
    [change] = LegacyShareholderChange.objects.all()
    assert change.before == {"number_of_shares": 100}
    assert LegacyImport.objects.count() == 2
    line = LegacyShareholder.objects.get(reference="L-2")
    assert (line.user, line.token) == (world.owner, world.public_token)
    assert (line.batch.imported_by, line.batch_row) == (STAFF, 3)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (ONE.replace("L-1", ""), "line 3, reference: is blank"),
        (ONE.replace("bo@", "no@"), "line 3, holder_email: there is no user no@"),
        (ONE.replace("bo@example.com", ""), "line 3, holder_email: is blank, as"),
        (
            ONE.replace(",,LUM", ",529900T8BM49AURSDO55,LUM"),
            "line 3, holder_lei: names a different user from the line's other",
        ),
        (
            ONE.replace("LUM", "BUM"),
            ("line 3, token_symbol: 'BUM' is not a token of this"),
        ),
        (ONE.replace("100", "0"), "line 3, number_of_shares: 0 is not from 1 to 2147"),
        (ONE.replace("100", "9" * 5000), "line 3, number_of_shares: 999"),
        (ONE.replace("100", "1.5"), "line 3, number_of_shares: '1.5' is not a whole"),
        (ONE.replace("125", "2147483648"), "line 3, price_cents: 2147483648 is not"),
        (TWO, "line 3, reference: L-2 is already on line 2"),
    ],
)
def test_a_wrong_line_is_named_and_none_is_written(load, capsys, line, problem):
    with pytest.raises(CommandError, match="Nothing was changed"):
        load(TWO, line)
    assert capsys.readouterr().err.startswith(f"register.csv, {problem}")
    assert rows() == []
    assert LegacyImport.objects.count() == 0


WALLET = "0x52908400098527886E0F7030069857D2E4169EE7"
NAMED = (
    "reference,token_symbol,number_of_shares,price_cents,holder_email,holder_wallet,"
    "holder_name,holder_kind,holder_country"
)


@pytest.fixture
def load_named(tmp_path, world: World, staff, bo):
    def load_named(*lines, create=True):
        file = tmp_path / "named.csv"
        file.write_text("\n".join([NAMED, *lines]))
        output = io.StringIO()
        call_command(
            "import", "legacy-shareholders", file, issuer="lumen", staff=STAFF,
            create_holders=create, stdout=output,
        )  # fmt: skip
        return output.getvalue().strip()

    return load_named


def test_makes_the_holders_that_a_file_names(load_named, capsys):
    lines = (
        "L-1,LUM,5,100,bo@example.com,,,,",
        f"L-2,LUM,6,100,,{WALLET},Cy Dahl,INDIVIDUAL,DK",
        f"L-3,LUM,7,100,,{WALLET.lower()},Cy Dahl,INDIVIDUAL,DK",
    )
    with pytest.raises(CommandError):
        load_named(*lines, create=False)
    said = capsys.readouterr().err
    assert f"line 3, holder_wallet: there is no user {WALLET}; create the user" in said
    assert load_named(*lines) == (
        "Legacy shareholders of lumen: 3 created, 0 updated, 0 unchanged; "
        "holders: 1 created, 1 completed"
    )
    cy = User.objects.get(holder__wallet_address=WALLET)
    assert (str(cy), cy.country_id, cy.type) == ("Cy Dahl", "DK", "INDIVIDUAL")
    assert rows() == [
        ("L-1", 5, 100, PENDING), ("L-2", 6, 100, PENDING), ("L-3", 7, 100, PENDING)
    ]  # fmt: skip
    assert cy.legacy_shareholdings.count() == 2
    again = (*lines, f"L-4,LUM,8,100,,{WALLET},,,")
    assert load_named(*again, create=False).startswith(
        "Legacy shareholders of lumen: 1 created, 0 updated, 3 unchanged"
    )
    call_command(
        "ledger",
        "mint",
        "LUM",
        "10",
        "--to",
        WALLET.lower(),
        "--staff",
        STAFF,
        "--reason",
        "x",
    )
    [held] = cy.ledger_account.balances.all()
    assert held.balance == 10


def test_one_holder_is_not_called_by_two_names(load_named, capsys):
    with pytest.raises(CommandError):
        load_named(
            f"L-1,LUM,6,100,,{WALLET},Cy Dahl,INDIVIDUAL,DK",
            f"L-2,LUM,6,100,,{WALLET},Cy Dal,INDIVIDUAL,DK",
            "L-3,LUM,6,100,new@example.com,,,,",
        )
    said = capsys.readouterr().err
    assert "line 3, holder_name: the name, the kind or the country of the h" in said
    assert "line 4, holder_name: is empty; a new holder needs a name" in said
    assert "line 4, holder_kind: is empty; a new holder is INDIVIDUAL or COM" in said
    assert not User.objects.filter(holder__wallet_address=WALLET).exists()


def deliver(*arguments):
    output, errors = io.StringIO(), io.StringIO()
    call_command(
        "deliver_legacy_shares", "lumen", "--staff", STAFF, *arguments,
        stdout=output, stderr=errors,
    )  # fmt: skip
    return output.getvalue().strip(), errors.getvalue().splitlines()


def outcome(line):
    """The outcome of a line whose tokens are newly issued."""
    job = released_job(MINT, [line.pk], STAFF)
    deliver_next(job)
    [refusal] = dict(job.refusals()).values() or [""]
    return Outcome(line.pk, bool(job.delivered), bool(job.skipped), refusal)


def reverse(entry, reason):
    call_command("ledger", "reverse", "LUM", str(entry), staff=STAFF, reason=reason)


def test_delivers_what_the_treasury_covers(load, world: World, one_person):
    load(ONE, TWO)
    token = world.public_token.pk
    own = ledger.treasury(world.listed)
    approved_record([Entry(token, "MINT", 50, None, own)], "me")
    dry, _ = deliver("--source", "TREASURY", "--dry-run")
    assert dry == (
        "9 lines of lumen: 1 delivered, 0 skipped (already delivered), 8 refused (dry "
        "run: nothing was written)"
    )
    assert DeliveryJob.objects.count() == 0
    _, errors = deliver("--source", "TREASURY")
    assert rows() == [("L-1", 100, 125, PENDING), ("L-2", 7, 0, DELIVERED)]
    # The world's own seven lines name no token.
    assert sum("The line has no token" in error for error in errors) == 7
    [short] = [error for error in errors if "50 fewer than" in error]
    assert str(LegacyShareholder.objects.get(reference="L-1").pk) in short
    line = LegacyShareholder.objects.get(reference="L-2")
    entry = LedgerTransaction.objects.get(legacy_shareholder=line)
    assert (entry.kind, entry.amount, entry.actor) == ("LEGACY_DELIVERY", 7, STAFF)
    delivered = (line.ledger_seq, line.delivered_at, line.delivered_by)
    assert delivered == (entry.seq, entry.effective_at, STAFF)
    as_committed()
    assert [finding.rule for finding in verify() if finding.breaches] == []


def test_a_delivered_line_is_for_ever(load, capsys):
    load(ONE)
    line = LegacyShareholder.objects.get(reference="L-1")
    assert outcome(line) == Outcome(line.pk, is_delivered=True)
    assert outcome(line) == Outcome(line.pk, is_skipped=True)
    for change in (
        lambda: LegacyShareholder.objects.filter(pk=line.pk).update(price_cents=1),
        lambda: LegacyShareholder.objects.filter(pk=line.pk).update(status=PENDING),
        lambda: LegacyShareholder.objects.filter(pk=line.pk).delete(),
    ):
        with pytest.raises((IntegrityError, LookupError)), transaction.atomic():
            change()
    with pytest.raises(CommandError, match="Nothing was changed"):
        load(ONE.replace("100", "99"))
    assert "L-1 is DELIVERED and cannot change its number_of_shares" in (
        capsys.readouterr().err
    )


def test_a_mistake_is_reversed_and_replaced(load, world: World):
    load(ONE)
    wrong = LegacyShareholder.objects.get(reference="L-1")
    assert outcome(wrong).is_delivered
    reverse(1, "Shares miscounted")
    with pytest.raises(CommandError, match="has already been reversed"):
        reverse(1, "Again")
    right = LegacyShareholder.objects.create(
        issuer=world.listed, user=wrong.user, token=wrong.token, replaces=wrong,
        number_of_shares=90, price_cents=125,
    )  # fmt: skip
    assert outcome(right).is_delivered
    wrong.refresh_from_db()
    right.refresh_from_db()
    assert (wrong.status, right.status) == (DELIVERED, DELIVERED)
    head = wrong.token.ledger_head
    head.refresh_from_db()
    assert (head.last_seq, head.supply) == (3, 90)
    as_committed()
    assert [finding.rule for finding in verify() if finding.breaches] == []


def test_a_line_replaces_only_one_that_was_reversed(load, world: World, staff):
    load(ONE, TWO)
    wrong = LegacyShareholder.objects.get(reference="L-1")
    client = Client()
    client.force_login(staff)
    line = {
        "issuer": world.listed.pk, "user": wrong.user_id, "token": wrong.token_id,
        "number_of_shares": 90, "price_cents": 125, "replaces": wrong.pk,
    }  # fmt: skip

    def added():
        page = client.post("/admin/issuers/legacyshareholder/add/", line)
        if page.status_code == 302:
            return []
        return page.context["adminform"].form.errors["replaces"]

    [pending] = added()
    assert pending == "This line is PENDING: correct it directly."
    assert outcome(wrong).is_delivered
    [delivered] = added()
    assert delivered == (
        "The delivery of this line has not been reversed; reverse it first (entry 1)."
    )
    reverse(1, "Shares miscounted")
    assert added() == []


def test_no_line_becomes_a_token_of_another_issuer(world: World, staff, bo):
    foreign = empty_token(world.quiet, "QUIET", "2024-01-01T00:00:00Z")
    client = Client()
    client.force_login(staff)
    line = {
        "issuer": world.listed.pk, "user": bo.pk, "token": foreign.pk,
        "number_of_shares": 90, "price_cents": 125,
    }  # fmt: skip
    page = client.post("/admin/issuers/legacyshareholder/add/", line)
    assert page.context["adminform"].form.errors["token"] == [
        "QUIET is a token of another issuer."
    ]
    wrong = LegacyShareholder.objects.create(
        issuer=world.listed, user=bo, token=foreign, number_of_shares=1, price_cents=1
    )
    assert "The line has no token" in outcome(wrong).refusal
    _, errors = deliver("--source", "MINT")
    assert sum("The line has no token" in error for error in errors) == 8
    assert LedgerTransaction.objects.count() == 0


def test_staff_choose_up_to_a_form_of_lines_in_the_list(world: World, staff):
    LegacyShareholder.objects.bulk_create(
        LegacyShareholder(
            issuer=world.listed, user=world.owner, token=world.public_token,
            number_of_shares=1, price_cents=1,
        )
        for _ in range(501)
    )  # fmt: skip
    lines = LegacyShareholder.objects.filter(token=world.public_token)
    ids = [str(pk) for pk in lines.values_list("pk", flat=True)]
    client = Client()
    client.force_login(staff)
    path = "/admin/issuers/legacyshareholder/"
    assert "delete_selected" not in client.get(path).content.decode()
    asked = {"action": "mark_delivered", "_selected_action": ids}
    page = client.post(path, asked, follow=True)
    assert "501 lines are selected; the limit for this list is 500." in (
        page.content.decode()
    )
    page = client.post(path, asked | {"_selected_action": ids[1:]})
    assert page.content.decode().count('name="line"') == 500
    assert "/admin/delivery/confirm/" in page.content.decode()
    assert DeliveryJob.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_fifty_threads_deliver_one_line_once(patient_locks):
    issuer = new_issuer()
    [user] = people(1)
    token = empty_token(issuer, "ONCE", "2024-01-01T00:00:00Z")
    line = LegacyShareholder.objects.create(
        issuer=issuer, user=user, token=token, number_of_shares=5, price_cents=1
    )
    for staff in (ASKER, DECIDER):
        colleague(staff)
    outcomes = []

    def work():
        try:
            job = released_job(MINT, [line.pk], STAFF)
            deliver_next(job)
            outcomes.append((job.delivered, job.skipped, job.refused))
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [(0, 1, 0)] * 49 + [(1, 0, 0)]
    [entry] = LedgerTransaction.objects.all()
    assert entry.supply_after == 5


def test_a_job_goes_on_where_it_stood(world: World, staff):
    LegacyShareholder.objects.bulk_create(
        LegacyShareholder(
            issuer=world.listed,
            user=world.owner,
            token=world.public_token,
            number_of_shares=1,
            price_cents=1,
        )
        for _ in range(450)
    )
    lines = LegacyShareholder.objects.exclude(token=None).order_by("pk")
    ids = list(lines.values_list("pk", flat=True))
    job = released_job(MINT, ids, STAFF)
    assert deliver_next(job) == 200
    assert (job.delivered, job.remaining, job.finished_at) == (200, 250, None)
    assert outcome(lines.last()).is_delivered
    again = DeliveryJob.objects.get(pk=job.pk)
    assert [deliver_next(again) for _ in range(3)] == [200, 50, 0]
    assert again.summary() == "449 delivered, 1 skipped (already delivered), 0 refused"
    assert again.finished_at is not None
    assert LedgerTransaction.objects.count() == 450


def run_deliveries(*arguments):
    output = io.StringIO()
    call_command("deliver_legacy_shares", *arguments, stdout=output)
    return output.getvalue().strip()


def test_a_delivery_that_was_killed_is_resumed(load, world: World, staff):
    load(*(f"K-{n},bo@example.com,,LUM,1,0" for n in range(250)))
    lines = LegacyShareholder.objects.filter(reference__startswith="K-")
    ids = list(lines.order_by("pk").values_list("pk", flat=True))
    job = released_job(MINT, ids, "ines@example.com")
    deliver_next(job)
    said = run_deliveries("--list").splitlines()
    assert said[-1] == "1 delivery has not ended."
    assert said[0].startswith(f"{job.pk}: MINT, begun ")
    assert said[0].endswith(
        "by ines@example.com; of 250 lines 200 delivered, 0 skipped (already "
        "delivered), 0 refused, 50 left"
    )
    resume = ("--resume", str(job.pk), "--staff", STAFF)
    assert run_deliveries(*resume, "--dry-run") == (
        f"50 remaining lines of {job.pk}: 50 delivered, 0 skipped (already delivered), "
        "0 refused (dry run: nothing was written)"
    )
    assert run_deliveries(*resume).startswith(
        f"50 remaining lines of {job.pk}: 250 deliv"
    )
    assert lines.filter(delivered_by=STAFF).count() == 50
    assert run_deliveries("--list") == "0 deliveries have not ended."
    with pytest.raises(CommandError, match="has ended: of 250 lines 250 delivered"):
        run_deliveries(*resume)


def test_a_delivery_is_closed_and_its_lines_stay(load, staff):
    load(*(f"K-{n},bo@example.com,,LUM,1,0" for n in range(250)))
    ids = list(LegacyShareholder.objects.filter(reference__startswith="K-")
               .values_list("pk", flat=True))  # fmt: skip
    job = released_job(MINT, ids, STAFF)
    deliver_next(job)
    close = ("--close", str(job.pk), "--staff", STAFF)
    assert ("50 of 250 lines would not be delivered") in run_deliveries(
        *close, "--dry-run"
    )
    running = DeliveryJob.objects.get(pk=job.pk)
    assert run_deliveries(*close).endswith("50 of 250 lines are not delivered.")
    # A worker that was presumed dead delivers no more.
    assert running.is_open
    deliver_next(running)
    assert not running.is_open
    assert LegacyShareholder.objects.filter(pk__in=ids, status=PENDING).count() == 50
    assert LogEntry.objects.get().get_change_message() == (
        "Closed; 50 of 250 lines were not delivered."
    )
    resume = ("--resume", str(job.pk), "--staff", STAFF)
    for arguments in (resume, ("--close", str(job.pk)), ("lumen",)):
        with pytest.raises(CommandError):
            run_deliveries(*arguments)


def test_a_token_without_a_price_is_warned_of(load, world: World, one_person):
    load(ONE, TWO)
    said = (
        "LUM has no price, but its lines have prices of €1.25 to €1.25: capitalization"
    )
    assert any(line.startswith(said) for line in deliver("--source", "MINT")[1])
    load("L-3,bo@example.com,,LUM,1,125")
    call_command("ledger", "set-price", "LUM", "125", "--staff", STAFF)
    _, errors = deliver("--source", "MINT")
    assert not any("has no price" in line for line in errors)
