"""Staff who may change the register need a code in addition to the password."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.people.models import User
from partnerapi.staff.authentication.models import FailedSignIn
from tests.owner import superuser

PASSWORD = "correct horse battery"
PAGE = "/admin/second-factor/"


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


def test_a_colleague_removes_a_lost_device_and_nobody_their_own():
    ana = colleague(superuser, "ana@staff.example")
    rui = colleague(superuser, "rui@staff.example")
    client, own = enrolled(ana)
    robbed, _ = enrolled(rui)
    client.post(
        "/admin/accounts/user/",
        {
            "action": "remove_second_factor",
            "_selected_action": [str(ana.pk), str(rui.pk)],
        },
    )
    assert list(TOTPDevice.objects.all()) == [own]
    [entry] = LogEntry.objects.filter(object_id=str(rui.pk))
    assert entry.get_change_message() == "Removed the second factor."
    # The thief of the device is signed out at once.
    assert robbed.get("/admin/").status_code == 302
