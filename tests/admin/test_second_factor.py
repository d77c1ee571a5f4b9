"""Staff who may change the register need a code in addition to the password."""

import hashlib
import re

import pytest
from django.contrib.auth.models import Permission
from django.db import DatabaseError, IntegrityError, transaction
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.history.models import StaffChange
from accounts.people.models import User
from accounts.sign_ins.models import RecoveryCode
from partnerapi.core.authors import written_by
from partnerapi.core.database import execute
from partnerapi.staff.authentication.models import FailedSignIn
from tests.owner import superuser

PASSWORD = "correct horse battery"
PAGE = "/admin/second-factor/"
CODES = "/admin/recovery-codes/"


@pytest.fixture(autouse=True)
def required(settings, db, monkeypatch):
    settings.PARTNER_API_STAFF_OTP = True
    monkeypatch.setattr("partnerapi.staff.authentication.sign_in.LEAST_SECONDS", 0)


def colleague(make, email):
    return make(
        email,
        PASSWORD,
        type=User.Type.INDIVIDUAL,
        first_name="Sam",
        last_name="Staff",
        is_staff=True,
    )


def sign_in(user):
    client = Client()
    body = {"username": user.email, "password": PASSWORD, "next": "/admin/"}
    assert client.post("/admin/login/", body).status_code == 302
    return client


def code_of(device):
    return f"{TOTP(device.bin_key).token():06}"


def enrolled(user):
    client = sign_in(user)
    client.get(PAGE)
    device = TOTPDevice.objects.get(user=user)
    assert client.post(PAGE, {"code": code_of(device)}).url == "/admin/"
    return client, device


def test_a_superuser_enrols_and_comes_in():
    client = sign_in(colleague(superuser, "ana@staff.example"))
    refused = client.get("/admin/issuers/issuer/", follow=True)
    assert refused.redirect_chain[-1][0].startswith(PAGE)
    assert refused.context["inbox"] is None
    html = refused.content.decode()
    assert 'src="data:image/svg+xml' in html
    device = TOTPDevice.objects.get()
    assert re.search("<code>[A-Z2-7]{32}</code>", html)
    wanted = {"code": code_of(device), "next": "/admin/issuers/issuer/"}
    assert client.post(PAGE, wanted).url == "/admin/issuers/issuer/"
    listed = client.get("/admin/issuers/issuer/")
    assert listed.status_code == 200
    assert listed.context["inbox"].total == 0


def test_a_wrong_code_lets_nobody_in_and_is_recorded():
    user = colleague(superuser, "ana@staff.example")
    _, device = enrolled(user)
    client = sign_in(user)
    asked = client.get(PAGE).content.decode()
    assert "data:image" not in asked
    assert device.key not in asked
    # What was used before is wrong, too.
    for code in ("000000", code_of(device)):
        html = client.post(PAGE, {"code": code}).content.decode()
        assert "wrong or has already been used" in html
        assert client.get("/admin/").status_code == 302
    assert [row.login for row in FailedSignIn.objects.all()] == [user.email] * 2


def test_no_address_of_another_site_is_gone_to():
    client = sign_in(colleague(superuser, "ana@staff.example"))
    client.get(PAGE)
    code = code_of(TOTPDevice.objects.get())
    answer = client.post(PAGE, {"code": code, "next": "https://evil.example/"})
    assert answer.url == "/admin/"


@pytest.mark.parametrize(
    ("permission", "needed"),
    [("view_issuer", False), ("change_article", False), ("change_token", True)],
)
def test_who_may_not_change_the_register_needs_none(permission, needed):
    user = colleague(User.objects.create_user, "rui@staff.example")
    user.user_permissions.add(Permission.objects.get(codename=permission))
    answer = sign_in(user).get("/admin/")
    assert answer.status_code == (302 if needed else 200)


def test_the_setting_switches_it_off(settings):
    settings.PARTNER_API_STAFF_OTP = False
    client = sign_in(colleague(superuser, "ana@staff.example"))
    assert client.get("/admin/").status_code == 200


def codes_of(client, device):
    """Makes recovery codes on the page, as their owner."""
    TOTPDevice.objects.update(last_t=-1)
    answer = client.post(CODES, {"code": code_of(device)})
    assert "no-store" in answer["Cache-Control"]
    return answer.context["made"]


def test_a_recovery_code_replaces_a_lost_authenticator_once():
    user = colleague(superuser, "ana@staff.example")
    lost, device = enrolled(user)
    assert "You have no unused code" in lost.get(CODES).text
    codes = codes_of(lost, device)
    assert len({*codes}) == 10
    assert all(re.fullmatch("([A-Z2-7]{4}-){3}[A-Z2-7]{4}", code) for code in codes)
    kept = [*RecoveryCode.objects.values_list("digest", flat=True)]
    plain = codes[0].replace("-", "")
    assert hashlib.sha256(plain.encode()).hexdigest() in kept
    # They are shown once.
    assert codes[0] not in lost.get(CODES).text
    assert "You have 10 unused codes" in lost.get(CODES).text

    client = sign_in(user)
    typed = {"recovery_code": f" {codes[0].lower()} ", "next": "/admin/log/"}
    answer = client.post(PAGE, typed)
    assert answer.url == f"{PAGE}?next=/admin/log/"
    # The other device is out, and nothing is open before another is enrolled.
    assert lost.get("/admin/").status_code == 302
    assert client.get("/admin/").status_code == 302
    assert 'src="data:image/svg+xml' in client.get(answer.url).text
    device = TOTPDevice.objects.get()
    assert client.post(PAGE, {"code": code_of(device)}).url == "/admin/"
    assert "You have 9 unused codes" in client.get(CODES).text
    log = client.get("/admin/log/").text
    assert "Made 10 recovery codes." in log
    # What she changes for herself is no change by someone else.
    changes = StaffChange.objects.filter(person=user)
    assert not changes.filter(what=StaffChange.What.DEVICE).exists()

    again = sign_in(user)
    refused = again.post(PAGE, {"recovery_code": codes[0]})
    assert "wrong or has already been used" in refused.text
    assert TOTPDevice.objects.get() == device


def test_new_recovery_codes_end_those_of_before():
    user = colleague(superuser, "ana@staff.example")
    client, device = enrolled(user)
    before, after = codes_of(client, device), codes_of(client, device)
    assert RecoveryCode.objects.count() == 10
    other = sign_in(user)
    assert other.post(PAGE, {"recovery_code": before[0]}).status_code == 200
    TOTPDevice.objects.update(throttling_failure_count=0)
    assert other.post(PAGE, {"recovery_code": after[0]}).status_code == 302


def test_wrong_recovery_codes_are_slowed_down_and_recorded():
    user = colleague(superuser, "ana@staff.example")
    client, device = enrolled(user)
    [code, *_] = codes_of(client, device)
    other = sign_in(user)
    for typed in ("AAAA-AAAA-AAAA-AAAA", code):
        assert other.post(PAGE, {"recovery_code": typed}).status_code == 200
    assert FailedSignIn.objects.filter(login=user.email).count() == 2
    assert TOTPDevice.objects.get() == device


def test_recovery_codes_want_the_code_of_the_authenticator():
    user = colleague(superuser, "ana@staff.example")
    client, _ = enrolled(user)
    refused = client.post(CODES, {"code": "000000"})
    assert refused.context["made"] == []
    assert not RecoveryCode.objects.exists()


def test_a_code_of_one_person_opens_no_door_of_another():
    ana = colleague(superuser, "ana@staff.example")
    rui = colleague(superuser, "rui@staff.example")
    client, device = enrolled(ana)
    [code, *_] = codes_of(client, device)
    enrolled(rui)
    assert sign_in(rui).post(PAGE, {"recovery_code": code}).status_code == 200
    assert TOTPDevice.objects.count() == 2
    digest = RecoveryCode.objects.filter(person=ana)[0].digest
    for statement, given in (
        ("SELECT sign_in_use_code(%s, %s)", [ana.pk, digest]),
        ("SELECT sign_in_make_codes(%s, %s)", [ana.pk, ["0" * 64]]),
    ):
        with (
            written_by("rui@staff.example", "page"),
            pytest.raises(IntegrityError, match="Only their owner"),
            transaction.atomic(),
        ):
            execute(statement, given)
    with pytest.raises(DatabaseError, match="permission denied"), transaction.atomic():
        RecoveryCode.objects.update(used_at=None)
