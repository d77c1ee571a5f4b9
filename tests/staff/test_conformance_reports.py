"""Reports of conformance.py: what is kept, and where the account manager sees it."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import Error, transaction
from django.test import Client
from django.utils.html import escape

from marketdata.fix.conformance.rulebook import RULES, Part
from marketdata.models import ConformanceReport
from partnerapi.core.errors import BadUserInput
from partnerapi.sandbox.schema_conformance import keep
from tests.characters import World

BROKEN = "It sent <an order> after the kill switch."


def report(part: Part = Part.ORDERS, **broken: str) -> dict[str, Any]:
    """A report of a part, in which some rules are broken."""
    rules = [
        {
            "rule": name,
            "verdict": "FAILED" if name in broken else "OK",
            "faults": [broken[name]] if name in broken else [],
        }
        for name, rule in RULES.items()
        if part in rule.parts
    ]
    version = "3, of 24 November 2026"
    return {"part": part.value, "version": version, "seconds": 96, "rules": rules}


@pytest.fixture
def caller(world: World) -> Any:
    return SimpleNamespace(partner_id=str(world.partner.pk))


def test_parts_are_those_of_the_rules():
    assert [*ConformanceReport.Part] == [*Part]


def test_the_account_manager_sees_the_verdicts(
    world: World, staff: Client, caller: Any
):
    passed = keep(caller, report(Part.DROP_COPY))
    failed = keep(caller, report(**{"KILL-SWITCH": BROKEN}))
    assert (passed.passed, failed.passed) == (True, False)
    page = staff.get(f"/admin/partner/{world.partner.pk}/").content.decode()
    for kept, word in ((passed, "passed"), (failed, "failed")):
        assert f"/admin/marketdata/conformancereport/{kept.pk}/change/" in page
        assert f"{kept.at:%Y-%m-%d %H:%M}" in page
        assert word in page.partition("Conformance</h2>")[2]
    shown = staff.get(f"/admin/marketdata/conformancereport/{failed.pk}/change/")
    assert escape(BROKEN) in shown.content.decode()
    listed = staff.get("/admin/marketdata/conformancereport/?passed__exact=1")
    assert list(listed.context["cl"].result_list) == [passed]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rules": []}, "each rule of ORDERS once"),
        ({"part": "BOOKS"}, "each rule of BOOKS once"),
        ({"seconds": -1}, "send 0 to"),
        ({"version": "x" * 61}, "more than 60 characters"),
    ],
)
def test_what_is_no_report_is_refused(
    changes: dict[str, Any], problem: str, caller: Any
):
    with pytest.raises(BadUserInput, match=problem):
        keep(caller, report() | changes)
    assert not ConformanceReport.objects.exists()


def test_a_rule_that_was_not_tried_certifies_nothing(caller: Any):
    given = report()
    given["rules"][0]["verdict"] = "NOT_TRIED"
    kept = keep(caller, given)
    assert not kept.passed
    assert [one["verdict"] for one in kept.rules[:2]] == ["not tried", "ok"]


def test_faults_are_short_and_printable(caller: Any):
    given = report(LOST="é\0\x01" + "x" * 500)
    [broken] = [one for one in keep(caller, given).rules if one["faults"]]
    assert broken["faults"] == ["e??" + "x" * 297]
    given["rules"][0]["faults"] = ["x"] * 4
    with pytest.raises(BadUserInput, match="more than 3 texts"):
        keep(caller, given)


def test_the_application_changes_no_report(caller: Any):
    keep(caller, report(LOST="It gave up."))
    with pytest.raises(Error), transaction.atomic():
        ConformanceReport.objects.update(passed=True)
