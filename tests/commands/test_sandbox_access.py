import json
import os
import subprocess
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.access import Scope
from accounts.history.models import StaffNotice
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from partnerapi.sandbox.data.approvals import approved_key

# The superuser is the owner's, on a connection of its own.
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture
def demo(settings, tmp_path, transactional_db):
    settings.PARTNER_API_SANDBOX = True
    settings.STATE_DIRECTORY = tmp_path
    return Partner.objects.create(login="demo", name="Demo")


def access():
    out = StringIO()
    call_command("sandbox", "access", "--json", stdout=out)
    return json.loads(out.getvalue())


def test_makes_two_logins_and_a_key_once(settings, demo):
    settings.PARTNER_API_SANDBOX_KEY = ""
    first = access()
    key = ApiKey.objects.authenticate(first["key"], timezone.now())
    assert (key.partner, key.scopes) == (demo, sorted(Scope.values))
    for who in ("login", "colleague"):
        staff = User.objects.get(email=first["staff"][who])
        assert (staff.is_staff, staff.is_superuser) == (True, True)
        assert staff.check_password(first["staff"]["password"])

    settings.PARTNER_API_SANDBOX_KEY = first["key"]
    assert access() == first
    assert ApiKey.objects.count() == 1


@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
def test_no_e_mail_tells_of_its_making(settings, demo):
    settings.PARTNER_API_SANDBOX_KEY = ""
    access()
    making = StaffNotice.objects.filter(change__change__source="command sandbox access")
    assert making.exists()
    assert not making.filter(sent_at=None).exists()


def test_replaces_a_revoked_key(settings, demo):
    key, token = approved_key(demo, Scope.values)
    settings.PARTNER_API_SANDBOX_KEY = token
    key.revoke(timezone.now())
    replaced = access()["key"]
    assert replaced != token
    assert ApiKey.objects.authenticate(replaced, timezone.now()).partner == demo


def test_gives_the_kept_password_back_to_its_user(settings, demo):
    settings.PARTNER_API_SANDBOX_KEY = ""
    password = access()["staff"]["password"]
    staff = User.objects.get(email="staff@sandbox.example")
    staff.set_password("something else entirely")
    staff.save()
    assert access()["staff"]["password"] == password
    staff.refresh_from_db()
    assert staff.check_password(password)


def test_asks_for_the_seed_first(settings, demo):
    settings.PARTNER_API_SANDBOX_KEY = ""
    demo.delete()
    with pytest.raises(CommandError, match="no partner demo; run manage.py sandbox se"):
        access()


def test_refuses_what_is_not_a_sandbox(settings, demo):
    settings.PARTNER_API_SANDBOX = False
    with pytest.raises(CommandError, match="This installation is not a sandbox"):
        access()
    assert not User.objects.exists()


def test_other_commands_work_on_the_running_sandbox(running_system):
    described = running_system.described
    shown = subprocess.run(
        [*running_system.up.args[:2], "sandbox", "access", "--json"],
        env={
            "PATH": os.defpath,
            "PARTNER_API_DIRECTORY": str(running_system.directory),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    fix = described["fix"]
    assert json.loads(shown.stdout) == {
        "key": described["key"],
        "staff": described["staff"],
        "compIDs": fix["compIDs"],
        "dropCopyCompIDs": fix["dropCopyCompIDs"],
    }
    assert (fix["host"], fix["targetCompID"]) == ("localhost", "PARTNERAPI")
    watched = subprocess.run(
        ["sh", "-c", f"{fix['client']} --json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [len(book["bids"]) for book in json.loads(watched.stdout)] == [10, 10]
