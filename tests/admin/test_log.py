"""The log has a line with the author for every kind of change."""

import csv
import io

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.accounts.models import Account, Actor
from accounts.history.models import RowChange
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from issuers.register import ledger
from partnerapi.sandbox.data.approvals import approved_key
from tests.api.test_accounts import change
from tests.characters import START, Ask, World
from tests.owner import superuser, tamper

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
    lines = staff.get(LOG, {"object": str(partner.pk)}).context["lines"]
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
    lines = staff.get(LOG, {"object": str(account.pk)}).context["lines"]
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
        lines = staff.get(LOG, {"object": f"Token|{token}"}).context["lines"]
    assert "Price: MANUAL" in {line.what for line in lines}
    assert {line.object for line in lines} == {token}
    [statement] = [each["sql"] for each in captured if "staff_log" in each["sql"]]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {statement}")
        plan = "\n".join(line for [line] in cursor.fetchall())
    for index in ("ledger_recorded_of_token", "token_price_recorded_by_hand"):
        assert f"Index Scan Backward using {index}" in plan


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
        {(line.kind, line.what) for line in staff.get(LOG, given).context["lines"]}
        for given in ({"who": "simulate"}, {"who": "simulate", "trades": "on"})
    )
    assert (shown, all_shown) == (set(), {("Token", "Price: TRADE")})
