"""Scheduled jobs leave a row of what came of them."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection
from django.utils import timezone

from partnerapi.core.schedule import PERIODS
from partnerapi.operations import tasks
from partnerapi.operations.models import JobRun
from tests.issuers.register import empty_token, new_issuer
from tests.owner import as_owner

pytestmark = pytest.mark.django_db(transaction=True)


def last() -> tuple[str, str, str]:
    begun, run = JobRun.objects.order_by("-pk")[:2][::-1]
    assert (begun.result, begun.started_at) == ("BEGUN", run.started_at)
    assert run.seconds >= 0
    return run.job, run.result, run.detail


def test_the_nightly_checks_say_what_they_found():
    tasks.verify_register()
    job, result, detail = last()
    assert (job, result) == ("verify_register", "DONE")
    assert detail.startswith("All ")
    tasks.verify_books()
    job, result, detail = last()
    assert (job, result) == ("verify_books", "DONE")
    assert detail.startswith("All ")


def test_every_scheduled_job_says_when_it_ran_and_what_it_did():
    for job in PERIODS:
        getattr(tasks, job)()
        name, result, detail = last()
        assert (name, result) == (job, "DONE")
        assert detail.endswith(".")


def test_runs_of_the_last_ninety_days_are_kept():
    now = timezone.now()
    for days in (89, 91, 200):
        JobRun.objects.create(
            job="prune_book_log",
            started_at=now - timedelta(days=days),
            seconds=1,
            result="DONE",
        )
    assert JobRun.objects.prune() == 2
    assert [(now - run.started_at).days for run in JobRun.objects.all()] == [89]


def test_a_breach_is_recorded_and_fails_the_task():
    token = empty_token(new_issuer(), "BROKEN", timezone.now())
    with as_owner(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE issuers_tokenledgerhead SET last_seq = 1 WHERE token_id = %s",
            [token.pk],
        )
    with pytest.raises(CommandError):
        tasks.verify_register()
    job, result, detail = last()
    assert (job, result) == ("verify_register", "FAILED")
    assert "rules are broken" in detail


def test_the_statement_says_that_nothing_names_a_place_for_it(settings: Any):
    settings.PARTNER_API_STATEMENTS = settings.PARTNER_API_STATEMENT_KEY = ""
    tasks.register_statement()
    job, result, detail = last()
    assert (job, result) == ("register_statement", "DONE")
    assert "are not both set" in detail


def test_the_statement_is_written(settings: Any, tmp_path: Path):
    settings.PARTNER_API_STATEMENTS = str(tmp_path)
    settings.PARTNER_API_STATEMENT_KEY = "A" * 43 + "="
    tasks.register_statement()
    [written] = tmp_path.glob("*.statement")
    assert str(written) in last()[2]
