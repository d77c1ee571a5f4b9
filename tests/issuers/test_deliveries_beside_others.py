"""Deliveries of many lines: what a step costs, and who waits for whom meanwhile."""

import io
import threading
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.people.models import User
from issuers.legacy.delivery import DryRun, deliver_next
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import LedgerAccount, LedgerTransaction
from issuers.register.verification import verify
from tests.approved import released_job
from tests.issuers.register import empty_token, new_issuer
from tests.owner import superuser, tamper

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("one_person"),
]
STAFF = "ana@example.com"
MINT, TREASURY = DeliveryJob.Source.MINT, DeliveryJob.Source.TREASURY
DELIVERED = LegacyShareholder.Status.DELIVERED


@pytest.fixture
def staff():
    return superuser(
        STAFF, "a long password", type="INDIVIDUAL", first_name="Ana", last_name="Lund"
    )


@pytest.fixture
def issuer(staff):
    return new_issuer()


def new_token(issuer, symbol):
    return empty_token(issuer, symbol, "2024-01-01T00:00:00Z")


def new_lines(token, count, shares=1):
    """PENDING lines by their ids, all of one holder who has no ledger account yet."""
    holder = User.objects.create(type="INDIVIDUAL", first_name="Bo", last_name="Berg")
    LegacyShareholder.objects.bulk_create(
        LegacyShareholder(
            issuer=token.issuer, user=holder, token=token, number_of_shares=shares,
            price_cents=1, reference=f"{token.symbol}-{number}",
        )
        for number in range(count)
    )  # fmt: skip
    lines = LegacyShareholder.objects.filter(token=token).order_by("pk")
    return list(lines.values_list("pk", flat=True))


def endow(token, units):
    own = ledger.treasury(token.issuer)
    return ledger.record([Entry(token.pk, "MINT", units, None, own)], "me")


def deliver(issuer, *arguments):
    output, errors = io.StringIO(), io.StringIO()
    call_command(
        "deliver_legacy_shares", issuer.slug, "--staff", STAFF, *arguments,
        stdout=output, stderr=errors,
    )  # fmt: skip
    return output.getvalue().strip(), errors.getvalue().splitlines()


def impatient(work):
    """What `work` answers or raises on another connection, which waits for 0.1 s."""
    answers = []

    def answer():
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = 100")
            answers.append(work())
        except (CommandError, OperationalError) as error:
            answers.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=answer)
    thread.start()
    thread.join()
    [answered] = answers
    return answered


def hold(token):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT register_read(%s::uuid[], '{}', '{}', TRUE)", [[token.pk]]
        )


def largest(table):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT max(pg_column_size(t.*)) FROM {table} t")
        return cursor.fetchone()[0]


def test_a_step_costs_the_same_whatever_comes_before_and_after_it():
    """Lines that are gone, so that each is refused, and its reason kept."""

    def costs(count):
        """Characters of each step's statements; bytes of the rows that it touches."""
        ids = [uuid.UUID(int=number) for number in range(count)]
        job = released_job(MINT, ids, STAFF)
        steps = []
        while job.remaining:
            with CaptureQueriesContext(connection) as captured:
                assert deliver_next(job) == 200
            steps.append((len(captured), sum(len(q["sql"] or "") for q in captured)))
        assert job.refused == count
        assert len(list(job.refusals())) == count
        rows = largest("issuers_deliveryjob"), largest("issuers_deliverystep")
        tamper("DELETE FROM issuers_deliverystep")
        return steps, rows

    [(statements, characters)], rows = costs(200)
    steps, large_rows = costs(4_000)
    assert [count for count, _ in steps] == [statements] * 20
    # A position has more digits than the first one.
    assert max(length for _, length in steps) < characters + 100
    for large, small in zip(large_rows, rows, strict=True):
        assert large < 1.1 * small


def test_a_dry_run_says_what_the_delivery_then_does(issuer):
    token, other = new_token(issuer, "ONE"), new_token(issuer, "TWO")
    endow(token, 301)
    new_lines(token, 450)
    other_ids = new_lines(other, 3)
    dry, dry_errors = deliver(issuer, "--source", TREASURY, "--dry-run")
    assert LedgerTransaction.objects.count() == 1
    assert DeliveryJob.objects.count() == 0
    assert LedgerAccount.objects.count() == 1
    said, errors = deliver(issuer, "--source", TREASURY)
    assert said == (
        f"453 lines of {issuer.slug}: 301 delivered, 0 skipped (already delivered), "
        "152 refused."
    )
    assert dry == said[:-1] + " (dry run: nothing was written)"
    assert dry_errors == errors
    # Two more: neither token has a price.
    assert len(errors) == 154
    assert [e.split(": ")[0] for e in errors[-3:]] == [str(pk) for pk in other_ids]
    assert [finding.rule for finding in verify() if finding.breaches] == []


def test_between_two_steps_a_dry_run_holds_nothing(issuer):
    token = new_token(issuer, "ONE")
    endow(token, 250)
    ids = new_lines(token, 400)
    dry_run = DryRun(TREASURY)
    assert [o.is_delivered for o in dry_run.deliver(ids[:200])] == [True] * 200
    [entry] = impatient(lambda: endow(token, 7))
    assert entry.number == 2
    # What others have entered meanwhile is not seen.
    outcomes = dry_run.deliver(ids[200:])
    assert [o.is_delivered for o in outcomes] == [True] * 50 + [False] * 150
    assert "has 0 units of ONE, 1 fewer than" in outcomes[-1].refusal


def test_a_dry_run_locks_no_ledger(issuer):
    new_lines(new_token(issuer, "ONE"), 600)
    with CaptureQueriesContext(connection) as captured:
        deliver(issuer, "--source", MINT, "--dry-run")
    statements = [query["sql"] for query in captured]
    reads = [sql for sql in statements if "register_read" in sql]
    assert len(reads) == 3
    assert [sql for sql in statements if sql in ("BEGIN", "COMMIT", "ROLLBACK")] == (
        ["BEGIN", "ROLLBACK"] * 3
    )


def test_the_command_says_what_is_held_and_how_far_it_came(issuer):
    first, second = new_token(issuer, "ONE"), new_token(issuer, "TWO")
    new_lines(first, 200)
    new_lines(second, 3)
    run = ["--source", MINT]
    with transaction.atomic():
        hold(second)
        dry = impatient(lambda: deliver(issuer, *run, "--dry-run"))
        error = impatient(lambda: deliver(issuer, *run))
    held = (
        "Another transaction holds a token's ledger and did not release it in time "
        "(canceling statement due to lock timeout). "
    )
    assert dry[0].startswith(f"203 lines of {issuer.slug}: 203 delivered")
    assert str(error) == (
        f"{held}Of 203 lines 200 delivered, 0 skipped (already delivered), 0 refused. "
        f"Deliver the rest with --resume {DeliveryJob.objects.get().pk}."
    )
    assert LegacyShareholder.objects.filter(status=DELIVERED).count() == 200
    assert deliver(issuer, *run)[0].startswith(f"3 lines of {issuer.slug}: 3 delivered")
