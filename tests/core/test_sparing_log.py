"""Lines that strangers cause: one a second and kind, with the count of the others."""

import logging
import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.test import Client

from partnerapi.core import sparing_log
from partnerapi.core.sparing_log import RefusalFilter, SparingLog

logger = logging.getLogger(__name__)


def test_a_kind_is_written_once_until_its_time_is_over(caplog, monkeypatch):
    monkeypatch.setattr(sparing_log, "LINE_SECONDS", 3600.0)
    log = SparingLog(logger)
    for number in range(50):
        log.warn("%d was cut", number)
    log.warn("%d is gone", 50)
    assert caplog.messages == ["0 was cut", "50 is gone"]
    monkeypatch.setattr(sparing_log, "LINE_SECONDS", 0.0)
    log.warn("%d was cut", 51)
    log.warn("%d was cut", 52)
    assert caplog.messages[2:] == [
        "51 was cut (49 similar messages omitted)",
        "52 was cut",
    ]


@pytest.fixture
def refusals(caplog, monkeypatch):
    monkeypatch.setattr(sparing_log, "LINE_SECONDS", 3600.0)
    caplog.handler.addFilter(refusals := RefusalFilter())
    yield caplog
    caplog.handler.removeFilter(refusals)


def test_a_flood_of_refusals_is_a_line_by_status(refusals, client, db):
    client.defaults["HTTP_HOST"] = "localhost"
    for number in range(20):
        assert client.get(f"/nothing/{number}").status_code == 404
        assert client.get("/graphql").status_code == 405
    assert refusals.messages == [
        "Not Found: /nothing/0",
        "Method Not Allowed: /graphql",
    ]


def test_a_flood_of_foreign_hosts_and_forms_is_a_line_of_each(refusals, db):
    client = Client(enforce_csrf_checks=True)
    for number in range(20):
        host = {"host": f"foreign{number}.example"}
        assert client.get("/admin/", headers=host).status_code == 400
        assert client.post("/admin/login/").status_code == 403
    loggers = [record.name for record in refusals.records]
    assert loggers == ["django.security.DisallowedHost", "django.security.csrf"]


def test_errors_pass_always(refusals):
    for _ in range(3):
        logging.getLogger("django.request").error("%s", "broken")
    assert refusals.messages == ["broken"] * 3


def test_the_product_logs_refusals_so():
    program = """
import django, logging
django.setup()
log = logging.getLogger("django.request")
for number in range(50):
    log.warning("%d", number, extra={"status_code": 429})
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "partnerapi.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(done.stderr.splitlines()) < 10
