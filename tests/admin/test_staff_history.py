"""Becoming staff, even for a moment, leaves a row that stays."""

import hashlib
import re

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.history.models import RowChange
from accounts.people.models import User
from issuers.register import ledger
from issuers.register.ledger import Entry
from issuers.register.models import LedgerTransaction
from partnerapi.core.authors import written_by
from partnerapi.sandbox.data.approvals import THEIRS
from tests.approved import approved_record
from tests.characters import World
from tests.issuers.register import people
from tests.owner import as_committed, superuser, tamper
from tests.staff.conftest import lines_of_log

pytestmark = pytest.mark.django_db


def rows(table: str, key: object) -> list[tuple[str, dict, dict]]:
    found = RowChange.objects.filter(table_name=table, row_id=str(key)).order_by("id")
    return list(found.values_list("operation", "before", "after"))


def ana() -> User:
    names = {"first_name": "Ana", "last_name": "Staff"}
    return superuser("ana@staff.example", type=User.Type.INDIVIDUAL, **names)


def run(sql: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def test_staff_made_and_unmade_in_one_transaction_leave_rows(world: World):
    """The application's role makes two staff, mints as them, and removes them."""
    [holder] = people(1)
    [account] = ledger.holder_accounts([holder.pk]).values()
    approved_record([Entry(world.public_token.pk, "MINT", 5, None, account)], "me")
    as_committed()
    made = User.objects.filter(is_staff=True, email__endswith="@sandbox.example")
    asker, decider = [user.pk for user in made]
    rights = Permission.objects.filter(codename__regex=THEIRS).count()
    run("DELETE FROM accounts_user_user_permissions")
    run("UPDATE accounts_user SET is_staff = FALSE WHERE is_staff")
    assert LedgerTransaction.objects.filter(kind="MINT").count() == 1
    for person in (asker, decider):
        inserted, demoted = rows("accounts_user", person)
        assert inserted[0] == "INSERT"
        assert (inserted[2]["is_staff"], inserted[2]["password"]) == (True, "…")
        assert demoted == ("UPDATE", {"is_staff": True}, {"is_staff": False})
        kept = rows("accounts_user_user_permissions", person)
        assert [row[0] for row in kept] == ["INSERT"] * rights + ["DELETE"] * rights
        assert {row[2]["user_id"] for row in kept[:rights]} == {str(person)}


def test_an_import_of_users_keeps_no_row_of_each():
    [user] = people(1)
    assert rows("accounts_user", user.pk) == []
    run("UPDATE accounts_user SET is_staff = TRUE WHERE id = %s", user.pk)
    [(made, _, after)] = rows("accounts_user", user.pk)
    assert (made, after) == ("UPDATE", {"is_staff": True})


def test_groups_and_their_rights_leave_rows():
    [user] = people(1)
    group = Group.objects.create(name="Night shift")
    right = Permission.objects.get(codename="decide_mint")
    group.permissions.add(right)
    user.groups.add(group)
    user.groups.remove(group)
    group.permissions.clear()
    pk = group.pk
    group.delete()
    assert [row[0] for row in rows("auth_group", pk)] == ["INSERT", "DELETE"]
    given, taken = rows("auth_group_permissions", pk)
    assert given[2]["permission_id"] == taken[1]["permission_id"] == right.pk
    joined, left = rows("accounts_user_groups", user.pk)
    assert joined[2]["group_id"] == left[1]["group_id"] == pk


def test_a_device_leaves_rows_under_both_its_users_and_never_its_key():
    one, other = people(2)
    User.objects.filter(pk=one.pk).update(email="one@staff.example")
    with written_by("one@staff.example", "page"):
        device = TOTPDevice.objects.create(user=one, name="app", confirmed=False)
        device.confirmed = True
        device.save()
        run("UPDATE otp_totp_totpdevice SET key = '00' WHERE id = %s", device.pk)
    run("UPDATE otp_totp_totpdevice SET last_t = 5, drift = 1")
    # No other trigger lets it go to another user.
    tamper(
        "ALTER TABLE otp_totp_totpdevice DISABLE TRIGGER accounts_enrol_device",
        f"UPDATE otp_totp_totpdevice SET user_id = '{other.pk}'",
        guarded=True,
    )
    tamper("DELETE FROM otp_totp_totpdevice", guarded=True)
    made, confirmed, another, moved = rows("otp_totp_totpdevice", one.pk)
    assert (made[0], made[2]["key"]) == ("INSERT", "…")
    assert confirmed == ("UPDATE", {"confirmed": False}, {"confirmed": True})
    assert another == ("UPDATE", {"key": "…"}, {"key": "…"})
    ids = {"user_id": str(one.pk)}, {"user_id": str(other.pk)}
    assert moved == ("UPDATE", *ids)
    there, gone = rows("otp_totp_totpdevice", other.pk)
    assert there == moved
    assert (gone[0], gone[1]["key"]) == ("DELETE", "…")


def test_a_session_leaves_rows_that_open_no_door(client: Client):
    client.force_login(ana())
    key = str(client.session.session_key)
    digest = hashlib.sha256(key.encode()).hexdigest()[:40]
    before = len(rows("django_session", digest))
    run("UPDATE django_session SET session_data = 'another user'")
    Session.objects.all().delete()
    kept = rows("django_session", digest)
    secret = {"session_data": "…"}
    assert kept[0][0] == "INSERT"
    assert kept[before] == ("UPDATE", secret, secret)
    assert [row[0] for row in kept[before:]] == ["UPDATE", "DELETE"]
    told = str(list(RowChange.objects.filter(table_name="django_session").values()))
    assert re.findall(re.escape(key), told) == []


def test_the_log_names_each_table(client: Client, world: World):
    user = ana()
    client.force_login(user)
    user.groups.add(Group.objects.create(name="Night shift"))
    lines = lines_of_log(client, {"object": str(user.pk)})
    kinds = {line.kind for line in lines}
    assert kinds == {"User", "User-group relationship", "Change of staff"}
