"""The staff's door, before real and wrong passwords."""

import logging
import threading
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.hashers import check_password, make_password
from django.core.management import call_command
from django.db import Error, transaction
from django.test import Client
from django.utils import timezone

from accounts.people.models import User
from partnerapi.core.sparing_log import SparingLog
from partnerapi.staff.authentication import sign_in as sign_in_module
from partnerapi.staff.authentication.models import FailedSignIn
from partnerapi.staff.authentication.passwords import (
    MOST_WAITING,
    PasswordsBusy,
    turn,
)
from partnerapi.staff.authentication.sign_in import PATH
from tests.owner import tamper
from tests.waiting import PATIENCE_SECONDS

PASSWORD = "correct horse battery"
EMAIL = "sam@staff.example"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr("partnerapi.staff.authentication.sign_in.LEAST_SECONDS", 0)
    monkeypatch.setattr(sign_in_module, "log", SparingLog(sign_in_module.logger))


@pytest.fixture
def sam(db):
    return User.objects.create_user(
        EMAIL,
        PASSWORD,
        type=User.Type.INDIVIDUAL,
        first_name="Sam",
        last_name="Staff",
        is_staff=True,
    )


def sign_in(password, login=EMAIL, address="192.0.2.1"):
    return Client(REMOTE_ADDR=address).post(
        PATH, {"username": login, "password": password, "next": "/admin/"}
    )


def test_five_wrong_passwords_lock_a_login_from_an_address(sam):
    for _ in range(4):
        assert "correct email and password" in sign_in("wrong").content.decode()
    fifth = sign_in("wrong")
    assert (fifth.status_code, fifth["Retry-After"]) == (429, "900")
    assert "axes_reset_username sam@staff.example" in fifth.content.decode()
    # Not with the right password, nor with another case.
    assert sign_in(PASSWORD).status_code == 429
    assert sign_in(PASSWORD, login=EMAIL.upper()).status_code == 429
    # No one else is locked out, nor is Sam elsewhere.
    assert sign_in(PASSWORD, address="192.0.2.2").status_code == 302
    assert [row.is_locked for row in FailedSignIn.objects.order_by("id")] == [
        *([False] * 4), *([True] * 3)
    ]  # fmt: skip


def test_a_lock_ends_after_a_quarter_of_an_hour_or_by_the_command(sam):
    for _ in range(5):
        sign_in("wrong")
    earlier = timezone.now() - timedelta(minutes=15)
    assert AccessAttempt.objects.update(attempt_time=earlier) == 1
    assert sign_in(PASSWORD).status_code == 302
    for _ in range(5):
        sign_in("wrong")
    assert sign_in(PASSWORD).status_code == 429
    call_command("axes_reset_username", EMAIL)
    assert sign_in(PASSWORD).status_code == 302


def test_the_second_half_of_an_address_of_ipv6_unlocks_nothing(sam):
    for number in range(5):
        sign_in("wrong", address=f"2001:db8::{number}")
    assert sign_in(PASSWORD, address="2001:db8::ffff").status_code == 429
    assert sign_in(PASSWORD, address="2001:db8:0:1::1").status_code == 302


def test_behind_a_proxy_the_client_is_locked_out_and_not_the_proxy(sam, settings):
    settings.PARTNER_API_TRUSTED_PROXIES = 1
    for _ in range(5):
        body = {"username": EMAIL, "password": "wrong"}
        Client(REMOTE_ADDR="10.0.0.1").post(
            PATH, body, headers={"X-Forwarded-For": "192.0.2.66, 192.0.2.7"}
        )
    [attempt] = AccessAttempt.objects.all()
    assert attempt.ip_address == "192.0.2.7"
    assert set(FailedSignIn.objects.values_list("address", flat=True)) == {"192.0.2.7"}


def test_a_failure_is_a_line_of_the_log_without_the_password(sam, caplog):
    caplog.set_level(logging.WARNING)
    sign_in("wrong")
    [line] = [r.getMessage() for r in caplog.records if "Sign-in" in r.getMessage()]
    assert line == "Sign-in of 'sam@staff.example' from 192.0.2.1 failed"
    assert "wrong" not in caplog.text


def test_the_application_can_not_rewrite_what_failed(sam):
    sign_in("wrong")
    [failed] = FailedSignIn.objects.all()
    for change in (failed.save, failed.delete):
        with pytest.raises(Error), transaction.atomic():
            change()
    call_command("prune", "failed-sign-ins")
    assert FailedSignIn.objects.count() == 1
    tamper("UPDATE partnerapi_failedsignin SET at = at - interval '91 days'")
    call_command("prune", "failed-sign-ins")
    assert FailedSignIn.objects.count() == 0


def test_one_thread_digests_passwords_and_few_wait():
    encoded = make_password(PASSWORD)
    refused, done = [], []
    first_in, go_on = threading.Event(), threading.Event()

    def hold():
        with turn.taken():
            first_in.set()
            go_on.wait(PATIENCE_SECONDS)
            # The thread that has the turn computes the digest.
            done.append(check_password(PASSWORD, encoded))

    def ask():
        try:
            with turn.taken():
                done.append(True)
        except PasswordsBusy:
            refused.append(True)

    holder = threading.Thread(target=hold)
    holder.start()
    first_in.wait(PATIENCE_SECONDS)
    others = [threading.Thread(target=ask) for _ in range(MOST_WAITING + 3)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    # Those beyond the places at once, the others after a second.
    assert (len(refused), done) == (MOST_WAITING + 3, [])
    go_on.set()
    holder.join()
    assert done == [True]


def test_who_does_not_get_a_turn_is_told_to_try_again(sam):
    first_in, go_on = threading.Event(), threading.Event()

    def hold():
        with turn.taken():
            first_in.set()
            go_on.wait(PATIENCE_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    first_in.wait(PATIENCE_SECONDS)
    answer = sign_in(PASSWORD)
    go_on.set()
    holder.join()
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert "try again in 1 second<" in answer.content.decode()
    assert sign_in(PASSWORD).status_code == 302


def test_an_address_pays_for_each_sign_in(sam, settings):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 20
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    address = "192.0.2.99"
    for status in (200, 200, 429):
        answer = sign_in("wrong", address=address)
        assert answer.status_code == status
    assert "We did not check your password." in answer.content.decode()
