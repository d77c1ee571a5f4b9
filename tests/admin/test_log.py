"""The log has a line with the author for every kind of change."""

import csv
import io
import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.accounts.models import Account, Actor
from accounts.cash.withdrawals import request_withdrawal
from accounts.history.models import RowChange
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers.legacy.models import LegacyShareholder
from issuers.register import ledger
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.staff.log import pages, reading
from tests.accounts.money import deposit, new_account, new_partner
from tests.api.test_accounts import change
from tests.characters import START, Ask, World
from tests.owner import superuser, tamper
from tests.plans import rows_read
from tests.staff.conftest import lines_of_log

ANA = "ana@staff.example"
LOG = "/admin/log/"


@pytest.fixture
def ana(db: None) -> User:
    return superuser(
        ANA, type=User.Type.INDIVIDUAL, first_name="Ana", last_name="Staff"
    )


@pytest.fixture
def staff(client: Client, ana: User) -> Client:
    client.force_login(ana)
    return client


def told(row: object) -> list[tuple]:
    """Operation, before, after, who and from where of each change of a row."""
    changes = RowChange.objects.filter(row_id=str(row.pk)).order_by("id")
    names = ("operation", "before", "after", "who", "source")
    return list(changes.values_list(*names))


def test_a_page_says_who_changed_a_column(staff: Client):
    partner = Partner.objects.create(login="acme", name="Acme")
    page = reverse("admin:accounts_partner_change", args=[partner.pk])
    said = {"name": "Acme Two", "is_active": "on"}
    answer = staff.post(page, said, headers={"X-Request-Id": "0af7-page"})
    assert answer.status_code == 302
    made, changed = told(partner)
    assert made[0] == "INSERT"
    source = f"page {page}"
    assert changed == ("UPDATE", {"name": "Acme"}, {"name": "Acme Two"}, ANA, source)
    lines = lines_of_log(staff, {"object": str(partner.pk)})
    after = {line.what: (line.before, line.after) for line in lines}
    assert after["Update"] == ("name: Acme", "name: Acme Two")
    assert after["Page: changed"] == (None, "Acme Two (acme): Changed Name.")
    assert "is active: yes" in after["Insert"][1].splitlines()


def test_an_action_a_command_an_update_and_sql_say_it_too(staff: Client, world: World):
    keys = [approved_key(world.partner, [])[0] for _ in range(2)]
    chosen = {"action": "revoke", "_selected_action": [keys[0].pk]}
    asked = staff.post(reverse("admin:accounts_apikey_changelist"), chosen)
    staff.post(asked["Location"], {"reason": "it leaked"})
    assert told(keys[0])[-1][3:] == (ANA, "page /admin/keys/revoke/")
    call_command("key", "revoke", str(keys[1].pk), stdout=io.StringIO())
    who, source = told(keys[1])[-1][3:]
    assert (who.split()[0], source) == ("operator", "command key revoke")
    Partner.objects.filter(pk=world.partner.pk).update(name="By an update")
    with connection.cursor() as cursor:
        cursor.execute("SELECT session_user")
        [(role,)] = cursor.fetchall()
        cursor.execute("UPDATE accounts_partner SET name = 'By SQL'")
    one, other = told(world.partner)[-2:]
    assert one[2:] == ({"name": "By an update"}, role, "SQL")
    assert other[2:] == ({"name": "By SQL"}, role, "SQL")


def test_a_change_by_the_api_is_in_the_log(staff: Client, world: World, partner: Ask):
    account = Account.objects.open(
        world.partner, world.owner, Actor(ANA, is_staff=True), START
    )
    account.change_status("ACTIVE", Actor(ANA, is_staff=True), "Checked")
    answer = change(partner, f"Account|{account.pk}", "SUSPENDED")
    assert answer.data
    lines = lines_of_log(staff, {"object": str(account.pk)})
    last, checked, _ = lines
    assert (last.who, last.before, last.after) == (
        world.partner.login, "ACTIVE", "SUSPENDED",
    )  # fmt: skip
    assert (last.source, checked.reason) == ("API", "Checked")


def test_the_log_of_an_object_is_read_by_indexes(staff: Client, world: World):
    """However many rows others have: a plan that may not read whole tables says so."""
    ledger.set_price(world.public_token.pk, 501, "MANUAL", ANA)
    token = str(world.public_token.pk)
    with CaptureQueriesContext(connection) as captured:
        lines = lines_of_log(staff, {"object": f"Token|{token}"})
    assert "Price: MANUAL" in {line.what for line in lines}
    assert {line.object for line in lines} == {token}
    [statement] = [each["sql"] for each in captured if "staff_log" in each["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(line for [line] in cursor.fetchall())
    for index in ("ledger_singly_of_token", "token_price_recorded_by_hand"):
        assert re.search(f"Index Scan( Backward)? using {index} ", plan)


def test_of_many_lines_of_one_commit_few_are_read(
    world: World, ana: User, monkeypatch: pytest.MonkeyPatch
):
    account = Account.objects.open(
        world.partner, world.owner, Actor(ANA, is_staff=True), START
    )
    account.change_status("ACTIVE", Actor(ANA, is_staff=True), "Checked")
    tamper(
        "INSERT INTO accounts_accountstatuschange (id, account_id, number,"
        " previous_status, status, reason, actor, is_staff, approved_by)"
        f" SELECT gen_random_uuid(), '{account.pk}', n, 'ACTIVE', 'SUSPENDED', '',"
        " 'many', TRUE, '' FROM generate_series(3, 3000) n"
    )
    tamper("ANALYZE accounts_accountstatuschange")
    now = timezone.now()
    wanted = reading.Wanted(now - timedelta(1), now + timedelta(1))
    monkeypatch.setattr(reading, "MOST_READ", 20)
    monkeypatch.setattr(reading, "MOST_TIED", 30)
    for read, most in (
        (lambda: [*reading.lines(wanted, 10)], 20),
        (lambda: reading.folds(wanted, 10), 80),
    ):
        with CaptureQueriesContext(connection) as captured:
            assert read()
        [statement] = [each["sql"] for each in captured if "staff_log" in each["sql"]]
        assert rows_read(statement, "accounts_accountstatuschange") <= most


def test_a_secret_is_not_kept(world: World):
    key = approved_key(world.partner, [])[0]
    [(_, _, made, _, _)] = told(key)
    assert made["secret_digest"] == "…"
    assert made["last_four"] == key.last_four
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=START)
    user = world.owner
    user.set_password("something else")
    user.save()
    assert [change[1:3] for change in told(user)] == [
        ({"password": "…"}, {"password": "…"})
    ]
    assert len(told(key)) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO accounts_rowchange (at, table_name, row_id, operation, who,"
        " source, request_id) VALUES (now(), 'x', 'x', 'UPDATE', 'x', 'x', '')",
        "UPDATE accounts_rowchange SET who = 'x'",
        "DELETE FROM accounts_rowchange",
        "CREATE TEMPORARY TABLE mine (id int); CREATE TRIGGER t AFTER INSERT ON mine"
        " FOR EACH ROW EXECUTE FUNCTION history_record('', '')",
    ],
)
def test_nobody_writes_the_history(db: None, statement: str):
    with (
        pytest.raises(DatabaseError),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_the_file_holds_no_formula(staff: Client):
    Partner.objects.create(login="acme", name="=1+1")
    User.objects.filter(email=ANA).update(first_name="=1+1")
    answer = staff.get(LOG, {"format": "csv"})
    rows = list(csv.reader(io.StringIO(answer.getvalue().decode())))
    assert rows[0][:3] == ["at", "who", "what"]
    assert len(rows) >= 2
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)


def test_it_takes_as_many_statements_for_more(staff: Client, world: World):
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert staff.get(LOG).status_code == 200
        return len(captured)

    statements()
    before = statements()
    for number in range(30):
        Partner.objects.create(login=f"p{number}", name="P")
    assert statements() == before <= 10


def test_who_may_not_see_histories_does_not(db: None, client: Client):
    user = User.objects.create_user(
        "ben@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name="Ben",
        last_name="Staff",
        is_staff=True,
    )
    client.force_login(user)
    assert client.get(LOG).status_code == 403


def test_prices_of_trades_are_lines_where_they_are_wanted(staff: Client, world: World):
    tamper(
        "INSERT INTO issuers_tokenprice (token_id, number, price_cents, source,"
        f" effective_at, recorded_by) VALUES ('{world.public_token.pk}', 2, 501,"
        " 'TRADE', clock_timestamp(), 'simulate_market')"
    )
    shown, all_shown = (
        {(line.kind, line.what) for line in lines_of_log(staff, given)}
        for given in ({"who": "simulate"}, {"who": "simulate", "details": "on"})
    )
    assert (shown, all_shown) == (set(), {("Token", "Price: TRADE")})


def said(page) -> list[str]:
    """The sentences of a page of the log, as they are read."""
    shown = page.context["sentences"]
    return [" ".join(f"{s.who} {s.verb} {s.thing} {s.rest}".split()) for s in shown]


def test_a_line_is_a_sentence(staff: Client, world: World):
    Partner.objects.filter(pk=world.partner.pk).update(name="Broker Two")
    ledger.set_price(world.public_token.pk, 501, "MANUAL", ANA)
    of_token = said(staff.get(LOG, {"object": str(world.public_token.pk)}))
    assert "Ana Staff priced LUM at €5.01, set by staff" in of_token
    assert said(staff.get(LOG, {"object": str(world.partner.pk)}))[0].endswith(
        "changed partner Broker Two (broker_one) name: Broker One → Broker Two"
    )


def test_who_was_appointed_is_named(staff: Client):
    lines = staff.get(LOG, {"details": "on"}).context["sentences"]
    appointed = [line for line in lines if line.verb == "appointed"]
    assert [line.thing for line in appointed] == ["Ana Staff"]
    assert appointed[0].rest == "to decide at once"


def test_money_is_in_euros_before_and_after(staff: Client, world: World):
    [line, *_] = world.shareholders
    LegacyShareholder.objects.filter(pk=line.pk).update(price_cents=1_234_567)
    ledger.set_price(world.public_token.pk, 501, "MANUAL", ANA)
    [changed, *_] = lines_of_log(staff, {"object": str(line.pk)})
    assert (changed.before, changed.after) == ("price: €1.25", "price: €12,345.67")
    account = new_account(new_partner())
    deposit(account, 100_000)
    withdrawal = request_withdrawal(account, 50_000, "W-1", account.partner.login)
    [made, *_] = lines_of_log(staff, {"object": str(withdrawal.pk)})
    assert "amount: €500.00" in (made.after or "").splitlines()
    shown = staff.get(LOG, {"details": "on"}).text
    assert " cents" not in main_of(shown)


def main_of(page: str) -> str:
    return page.partition("<main")[2]


def test_who_signed_in_and_who_failed_is_in_the_log(staff: Client, ana: User):
    ana.set_password("correct horse battery")
    ana.save()
    staff.force_login(ana)
    door = Client()
    for login, password in (("?", "?"), (ANA, "?"), (ANA, "correct horse battery")):
        door.post("/admin/login/", {"username": login, "password": password})
    assert said(staff.get(LOG, {"kind": "sign-ins"})) == [
        "Ana Staff signed in from 127.0.0.1",
        "Ana Staff failed to sign in from 127.0.0.1",
        "unknown login failed to sign in from 127.0.0.1",
    ]


def bulk(count: int, name: str) -> None:
    """Partners that one statement adds."""
    rows = [Partner(login=f"{name}{n}", name=f"{name} {n}") for n in range(count)]
    Partner.objects.bulk_create(rows)


def test_a_bulk_job_is_one_line_that_opens(staff: Client):
    bulk(130, "One")
    page = staff.get(LOG, {"kind": "changes"})
    [fold] = [s for s in page.context["sentences"] if s.thing == "130 partners"]
    assert (fold.verb, fold.fold.count, len(fold.fold.lines)) == ("added", 130, 20)
    whole = staff.get(f"{LOG}?{fold.all_lines}")
    rows = [*csv.reader(io.StringIO(whole.getvalue().decode()))]
    assert len([row for row in rows if row[2:4] == ["Insert", "Partner"]]) == 130


def test_pages_repeat_no_line_and_leave_none_out(staff: Client, monkeypatch):
    """However the pages and the lines that are read fall within a transaction."""
    for number in range(3):
        bulk(5, f"P{number}x")
        Partner.objects.filter(login__startswith=f"P{number}x").update(name="Other")
    monkeypatch.setattr(pages, "SHOWN", 2)
    monkeypatch.setattr(reading, "MOST_READ", 7)
    seen, place = [], ""
    while True:
        page = staff.get(LOG, {"kind": "changes", "before": place})
        shown = page.context["sentences"]
        seen += [line[:5] for s in shown for line in s.fold.lines]
        if not page.context["older"]:
            break
        place = str(shown[-1].fold.end)
    stored = RowChange.objects.filter(table_name="accounts_partner")
    of_partners = [line for line in seen if line[3] == "Partner"]
    assert len(of_partners) == len({*of_partners}) == stored.count() == 30


def test_kind_and_minute_choose_lines(staff: Client, world: World):
    ledger.set_price(world.public_token.pk, 501, "MANUAL", ANA)
    Partner.objects.filter(pk=world.partner.pk).update(name="Broker Two")
    [change] = RowChange.objects.filter(after__name="Broker Two")
    minute = change.at.strftime("%Y-%m-%dT%H:%M")
    for kind, whats in (("prices", {"Price: MANUAL"}), ("changes", {"Update"})):
        lines = lines_of_log(staff, {"kind": kind, "who": "", "since": minute})
        assert whats <= {line.what for line in lines} <= {*reading.KINDS[kind][1]}
    before = change.at - timedelta(minutes=1)
    earlier = {"until": before.strftime("%Y-%m-%dT%H:%M"), "kind": "changes"}
    assert change.after not in [line.after for line in lines_of_log(staff, earlier)]
    assert lines_of_log(staff, {"since": minute, "until": minute, "kind": "changes"})


@pytest.mark.parametrize("place", ["x", "~", "2026-01-31T12:00:00Z~x", "31~5", "~9"])
def test_a_place_that_is_none_is_the_newest(staff: Client, place: str):
    assert staff.get(LOG, {"before": place}).context["is_first"]
