"""Staff choose legacy lines, see what would happen, deliver, and follow it."""

import csv
import random
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.approvals.models import ApprovalRequest
from issuers.legacy.background import deliver_due, hand_over
from issuers.legacy.delivery import deliver_next
from issuers.legacy.models import DeliveryJob, LegacyShareholder
from issuers.models import Token
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import LedgerTransaction
from partnerapi.staff.register.delivery import choosing
from tests.approved import approved_record, released_job
from tests.characters import World
from tests.issuers.register import empty_token, new_issuer, people
from tests.owner import as_committed
from tests.staff.test_asking import approve, member

COMMITS = pytest.mark.django_db(transaction=True)
CONFIRM = "/admin/delivery/confirm/"
MINT, TREASURY = DeliveryJob.Source.MINT, DeliveryJob.Source.TREASURY
PENDING = LegacyShareholder.Status.PENDING


def new_token(symbol: str = "ONE") -> Token:
    return empty_token(new_issuer(), symbol, "2024-01-01T00:00:00Z")


def new_lines(of: Token, /, *shares: int, **said: Any) -> list[str]:
    """The ids of PENDING lines of one holder, in their order."""
    [holder] = people(1)
    said = {"token": of, "user": holder} | said
    lines = [
        LegacyShareholder(
            issuer=of.issuer,
            number_of_shares=units,
            price_cents=1,
            **{"reference": f"{of.symbol}-{n}"} | said,
        )
        for n, units in enumerate(shares)
    ]
    LegacyShareholder.objects.bulk_create(lines)
    return [str(line.pk) for line in lines]


def endow(token: Token, units: int) -> None:
    own = ledger.treasury(token.issuer)
    approved_record([Entry(token.pk, "MINT", units, None, own)], "me")


def confirmed(client: Client, **sent: Any) -> Any:
    """What staff are shown, and the page on which they are after confirming it."""
    shown = client.post(CONFIRM, sent)
    checksum = shown.context["found"].checksum
    after = client.post(CONFIRM, sent | {"checksum": checksum}, follow=True)
    return shown, after


def said(answer: Any) -> list[str]:
    return [str(message) for message in answer.context["messages"]]


def test_lines_are_chosen_by_issuer_token_status_import_and_date(
    world: World, staff: Client
):
    first = staff.get("/admin/delivery/")
    assert [str(issuer) for issuer in first.context["issuers"]] == ["Lumen"]

    def found(**filters: Any) -> int:
        return staff.get("/admin/delivery/", filters).context["count"]

    assert found(issuer="lumen") == found(issuer="lumen", status="PENDING") == 7
    pk = world.shareholders[0].pk
    LegacyShareholder.objects.filter(pk=pk).update(token=world.public_token)
    assert found(token="lum") == 1
    assert found(issuer="lumen", status="DELIVERED") == 0
    assert found(issuer="lumen", status="ANY") == 7
    line = world.shareholders[0]
    day = line.created_at.date()
    lines = LegacyShareholder.objects.filter(issuer=world.listed)
    assert found(issuer="lumen", since=day, until=day) == (
        lines.filter(created_at__date=day).count()
    )
    wrong = staff.get("/admin/delivery/", {"issuer": "missing", "token": "nothing"})
    assert wrong.status_code == 400
    page = wrong.content.decode()
    assert "There is no issuer missing; enter an issuer&#x27;s slug." in page
    assert "There is no token NOTHING; enter a token&#x27;s symbol." in page
    both = staff.get("/admin/delivery/", {"issuer": "arbor", "token": "LUM"})
    assert "name different issuers: Arbor, Lumen" in both.content.decode()


def test_each_page_of_lines_costs_as_much_and_shows_others(staff: Client, monkeypatch):
    monkeypatch.setattr(choosing, "LINES_OF_A_PAGE", 2)
    monkeypatch.setattr(choosing, "MOST_LINES", 4)
    token = new_token()
    ids = new_lines(token, 1, 2, 3, 4, 5)
    address, seen, costs = f"/admin/delivery/?issuer={token.issuer.slug}", [], []
    while address:
        with CaptureQueriesContext(connection) as captured:
            page = staff.get(address)
        costs.append(len(captured))
        seen += [str(line.pk) for line, _ in page.context["lines"]]
        address = page.context["following"]
    assert seen == ids
    assert max(costs) <= 10
    assert "more than 4 lines" in page.content.decode()


@COMMITS
def test_what_is_confirmed_is_what_happens(staff: Client):
    token = new_token()
    ids = new_lines(token, 100, 50, 70)
    [unnamed] = new_lines(token, 5, token=None, reference="=1+1")
    endow(token, 160)
    sent = {"line": [*ids, unnamed], "source": TREASURY}
    with CaptureQueriesContext(connection) as captured:
        shown = staff.post(CONFIRM, sent)
    assert len(captured) <= 20
    found = shown.context["found"]
    [without, part] = found.parts
    assert (part.lines, part.shares, part.refused) == (2, 150, 1)
    assert (part.treasury, part.supply) == ((160, 10), (160, 160))
    assert (without.symbol, without.lines, without.refused) == (None, 0, 1)
    told = {str(each.line.pk): each for each in shown.context["refused"]}
    assert told[ids[2]].reason.endswith("60 fewer than the 70 that the entry needs")
    assert told[ids[2]].remedy.startswith("transfer units to the treasury first")
    assert told[unnamed].remedy == "choose one of the issuer's tokens first"
    assert DeliveryJob.objects.count() == 0
    assert LedgerTransaction.objects.count() == 1
    file = staff.post(CONFIRM, sent | {"do": "csv"})
    rows = list(csv.DictReader(file.getvalue().decode().splitlines()))
    assert [row["reason"] for row in rows] == [
        each.reason for each in shown.context["refused"]
    ]
    assert rows[-1]["reference"] == "'=1+1"

    _, after = confirmed(staff, **sent)
    assert after.context["progress"].state == "REFUSED"
    results = {str(row.id): row for row in after.context["rows"]}
    assert [results[pk].result for pk in ids] == ["delivered", "delivered", "refused"]
    for pk, each in told.items():
        assert (results[pk].reason, results[pk].remedy) == (each.reason, each.remedy)
    job = DeliveryJob.objects.get()
    assert (job.created_by, job.delivered, job.refused) == ("sam@example.com", 2, 2)
    only = staff.get(reverse("admin:delivery_job", args=[job.pk]), {"only": "refused"})
    assert {str(row.id) for row in only.context["rows"]} == set(told)
    file = staff.get(reverse("admin:delivery_csv", args=[job.pk]))
    rows = list(csv.DictReader(file.getvalue().decode().splitlines()))
    assert [row["result"] for row in rows].count("delivered") == 2
    assert [row["entry"] for row in rows if row["entry"]] == ["2", "3"]

    again, after = confirmed(staff, line=ids, source=MINT)
    assert again.context["found"].skipped == 2
    now = [row.result for row in after.context["rows"]]
    assert now == ["skipped", "skipped", "delivered"]
    assert after.context["progress"].state == "DONE"
    with CaptureQueriesContext(connection) as captured:
        staff.get(reverse("admin:delivery_job", args=[job.pk]))
        staff.get("/admin/deliveries/")
    assert len(captured) <= 20


@COMMITS
def test_what_was_not_shown_does_not_happen(staff: Client):
    token = new_token()
    [pk] = new_lines(token, 100)
    sent = {"issuer": token.issuer.slug, "source": MINT}
    shown = staff.post(CONFIRM, sent)
    LegacyShareholder.objects.filter(pk=pk).update(number_of_shares=101)
    checksum = shown.context["found"].checksum
    changed = staff.post(CONFIRM, sent | {"checksum": checksum})
    assert "has changed since the preview. Nothing was delivered" in said(changed)[0]
    assert changed.context["found"].shares == 101
    assert not DeliveryJob.objects.exists()
    confirmed(staff, **sent)
    assert LegacyShareholder.objects.get(pk=pk).ledger_seq == 1


@COMMITS
def test_many_shares_are_frozen_until_a_second_person_agrees():
    rights = ("view_legacyshareholder", "change_legacyshareholder", "file_delivery")
    ana, ben = member("ana", *rights), member("ben", *rights[:1], "decide_delivery")
    token = new_token()
    [pk] = new_lines(token, 10_000)
    sent = {"line": [pk], "source": MINT}
    shown, refused = confirmed(ana, **sent)
    assert "This needs a second person" in shown.content.decode()
    assert "A reason is required; the approver sees it." in refused.content.decode()
    assert not DeliveryJob.objects.exists()
    _, after = confirmed(ana, **sent, reason="The company's list of 3 March")
    assert after.context["progress"].state == "ASKED"
    asked = ApprovalRequest.objects.latest("filed_at")
    assert after.context["asked"] == asked
    page = approve(
        ben, reverse("admin:accounts_approvalrequest_change", args=[asked.pk])
    )
    assert "Approved and executed" in page
    job = DeliveryJob.objects.get()
    address = reverse("admin:delivery_job", args=[job.pk])
    assert ana.get(address).context["progress"].state == "WAITING"
    assert deliver_due(60) is False
    assert ana.get(address).context["progress"].state == "DONE"
    assert LegacyShareholder.objects.get(pk=pk).delivered_by == "ana@staff.example"
    assert ben.post(address, {"do": "resume"}).status_code == 403


@COMMITS
@pytest.mark.usefixtures("one_person")
def test_a_worker_delivers_many_lines_and_its_page_shows_how_far(staff: Client):
    token = new_token()
    new_lines(token, *[1] * 450)
    _, after = confirmed(staff, issuer=token.issuer.slug, source=MINT)
    assert after.context["progress"].state == "WAITING"
    job = DeliveryJob.objects.get()
    address = reverse("admin:delivery_job", args=[job.pk])
    progress = reverse("admin:delivery_progress", args=[job.pk])
    assert "data-moves" in staff.get(progress).content.decode()
    # A worker that dies after a step leaves it there; the lease passes.
    deliver_next(job)
    assert staff.get(address).context["progress"].state == "RUNNING"
    assert "200 of 450" in staff.get(progress).content.decode()
    assert deliver_due(60) is False
    assert job.steps.filter(position=200, refusals={}).exists()
    assert DeliveryJob.objects.get().position == 200
    long_ago = timezone.now() - timedelta(minutes=5)
    DeliveryJob.objects.update(tried_at=long_ago, handed_over_at=long_ago)
    stopped = staff.get(address)
    assert stopped.context["progress"].state == "STOPPED"
    assert "Resume" in stopped.content.decode()
    resumed = staff.post(address, {"do": "resume"}, follow=True)
    assert resumed.context["progress"].job.position == 400
    assert deliver_due(60) is False
    done = staff.get(address, {"from": 400})
    assert done.context["progress"].state == "DONE"
    assert len(done.context["rows"]) == 50
    assert "data-moves" not in staff.get(progress).content.decode()
    assert LedgerTransaction.objects.count() == 450
    assert LogEntry.objects.get().change_message == (
        "Resumed: 250 of 450 lines to deliver."
    )


@COMMITS
@pytest.mark.usefixtures("one_person")
def test_a_ledger_that_another_holds_is_told_and_tried_again(staff: Client):
    token = new_token()
    new_lines(token, *[1] * 201)
    _, after = confirmed(staff, issuer=token.issuer.slug, source=MINT)
    job = after.context["progress"].job
    address = reverse("admin:delivery_job", args=[job.pk])

    def works() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = 100")
            deliver_due(60)
        finally:
            connection.close()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT register_read(%s::uuid[], '{}', '{}', TRUE)", [[token.pk]]
        )
        worker = threading.Thread(target=works)
        worker.start()
        worker.join()
    held = staff.get(address)
    assert held.context["progress"].state == "HELD"
    assert "Another transaction holds a token&#x27;s ledger" in held.content.decode()
    assert LedgerTransaction.objects.count() == 0
    hand_over(job)
    assert deliver_due(60) is False
    assert staff.get(address).context["progress"].state == "DONE"


@COMMITS
@pytest.mark.usefixtures("one_person")
def test_two_people_who_deliver_the_same_deliver_each_line_once(staff: Client):
    rights = ("view_legacyshareholder", "change_legacyshareholder")
    other = member("ana", *rights)
    token = new_token()
    new_lines(token, *[1] * 250)
    sent = {"issuer": token.issuer.slug, "source": MINT}
    shown = staff.post(CONFIRM, sent), other.post(CONFIRM, sent)
    for client, page in zip((staff, other), shown, strict=True):
        client.post(CONFIRM, sent | {"checksum": page.context["found"].checksum})
    first, second = DeliveryJob.objects.order_by("pk")
    assert deliver_due(60) is False
    first.refresh_from_db()
    second.refresh_from_db()
    assert sorted([first.delivered, second.delivered]) == [0, 250]
    assert sorted([first.skipped, second.skipped]) == [0, 250]
    assert LedgerTransaction.objects.count() == 250
    page = staff.get(reverse("admin:delivery_job", args=[second.pk]))
    assert {row.result for row in page.context["rows"]} == {"skipped"}


@COMMITS
def test_a_delivery_that_stands_can_be_let_be(staff: Client):
    token = new_token()
    ids = new_lines(token, 1, 2)
    job = released_job(MINT, ids, "sam@example.com")
    address = reverse("admin:delivery_job", args=[job.pk])
    assert staff.get(address).context["progress"].state == "STOPPED"
    [listed] = staff.get("/admin/deliveries/?open").context["jobs"]
    assert listed.job == job
    closed = staff.post(address, {"do": "close"}, follow=True)
    assert closed.context["progress"].state == "CLOSED"
    assert LegacyShareholder.objects.filter(status=PENDING).count() == 2
    late = staff.post(address, {"do": "resume"}, follow=True)
    assert said(late) == ["This delivery has ended."]


def planted(chance: random.Random, number: int) -> tuple[str, list[str]]:
    """Lines of two tokens, among them some that cannot be delivered."""
    one = new_token(f"ONE{number}")
    two = empty_token(one.issuer, f"TWO{number}", "2024-01-01T00:00:00Z")
    source = chance.choice([MINT, TREASURY])
    endow(one, chance.randint(1, 300))
    Token.objects.filter(pk=two.pk).update(authorized_units=chance.randint(1, 200))
    ids = []
    for token in (one, two):
        ids += new_lines(token, *(chance.randint(1, 60) for _ in range(12)))
    LegacyShareholder.objects.filter(pk=chance.choice(ids)).update(token=None)
    done = chance.sample(ids, 2)
    job = released_job(MINT, done, "me")
    deliver_next(job)
    return source, ids


@COMMITS
def test_confirmations_of_twenty_selections_tell_the_outcome(staff: Client):
    chance = random.Random(16)
    refused = 0
    for number in range(20):
        source, ids = planted(chance, number)
        as_committed()
        shown, after = confirmed(staff, line=ids, source=source)
        found = shown.context["found"]
        results = after.context["rows"]
        told = {
            pk: (r.reason, r.remedy)
            for r in shown.context["refused"]
            for pk in [r.line.pk]
        }
        assert told == {
            r.id: (r.reason, r.remedy) for r in results if r.result == "refused"
        }
        assert found.delivered == sum(r.result == "delivered" for r in results)
        assert found.skipped == sum(r.result == "skipped" for r in results)
        for part in found.parts:
            if part.supply:
                head = Token.objects.get(pk=part.token_id).ledger_head
                assert head.supply == part.supply[1]
                assert head.supply - head.held == part.treasury[1]
        refused += len(told)
    assert refused > 20
