"""Reports of conformance.py, which partners run against a sandbox."""

from typing import Any

import graphene
from django.db.models import TextChoices

from accounts.access import Caller
from marketdata.fix.conformance.rulebook import MOST_FAULTS, RULES
from marketdata.fix.protocol.wire import plain
from marketdata.models import ConformanceReport
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.relay import enumeration
from partnerapi.graphql.scalars import Time

Part = ConformanceReport.Part
FAULT_LENGTH = 300
LONGEST_VERSION = 60
MOST_SECONDS = 86_400


class Verdict(TextChoices):
    OK = "OK"
    FAILED = "FAILED"
    NOT_TRIED = "NOT_TRIED"


SandboxConformancePart = enumeration(
    Part,
    "SandboxConformancePart",
    "What conformance.py judges in one run.",
    {
        Part.BOOKS: "A FIX program that follows order books.",
        Part.DROP_COPY: "A FIX program that follows a drop copy.",
        Part.ORDERS: "A program that places orders and reads events in GraphQL.",
    },
)
SandboxConformanceVerdict = enumeration(
    Verdict,
    "SandboxConformanceVerdict",
    "What a run found of a rule.",
    {
        Verdict.OK: "The program kept it.",
        Verdict.FAILED: "The program broke it.",
        Verdict.NOT_TRIED: "The run ended before it, or left it out.",
    },
)


class SandboxConformanceRuleInput(graphene.InputObjectType):
    """The verdict on one rule."""

    rule = graphene.String(required=True, description="Its name, such as LOST.")
    verdict = SandboxConformanceVerdict(required=True, description="What was found.")
    faults = graphene.List(
        graphene.NonNull(graphene.String),
        required=True,
        description=f"What the program did against it: at most {MOST_FAULTS} texts, of "
        f"which {FAULT_LENGTH} characters are kept.",
    )


class SandboxReportConformanceInput(graphene.InputObjectType):
    """What conformance.py found in one run."""

    part = SandboxConformancePart(required=True, description="What was judged.")
    version = graphene.String(
        required=True,
        description="Version of the rules of engagement, at most "
        f"{LONGEST_VERSION} characters.",
    )
    seconds = graphene.Int(required=True, description="How long the run took.")
    rules = graphene.List(
        graphene.NonNull(SandboxConformanceRuleInput),
        required=True,
        description="Each rule of the part, once.",
    )


class SandboxReportConformancePayload(graphene.ObjectType):
    """The report that was kept."""

    at = Time(required=True, description="When it was kept.")
    passed = graphene.Boolean(
        required=True, description="Whether each rule was tried and kept."
    )


def keep(caller: Caller, input: dict[str, Any]) -> ConformanceReport:
    """Keep a report of the caller's partner.

    Raises:
        BadUserInput: this release's conformance.py sends no such report.
    """
    part, rules = Part(input["part"]), input["rules"]
    expected = [name for name, rule in RULES.items() if part in rule.parts]
    if sorted(one["rule"] for one in rules) != sorted(expected):
        raise BadUserInput(
            f"`rules` must name each rule of {part} once; download the present "
            "conformance.py.",
            argument="input.rules",
        )
    if any(len(one["faults"]) > MOST_FAULTS for one in rules):
        raise BadUserInput(
            f"`faults` of a rule has more than {MOST_FAULTS} texts.",
            argument="input.rules",
            maximum=MOST_FAULTS,
        )
    if not 0 <= input["seconds"] <= MOST_SECONDS:
        raise BadUserInput(
            f"`seconds` is {input['seconds']}; send 0 to {MOST_SECONDS}.",
            argument="input.seconds",
            maximum=MOST_SECONDS,
        )
    if len(input["version"]) > LONGEST_VERSION:
        raise BadUserInput(
            f"`version` has more than {LONGEST_VERSION} characters.",
            argument="input.version",
            maximum=LONGEST_VERSION,
        )
    kept = [
        {
            "rule": one["rule"],
            "verdict": one["verdict"].lower().replace("_", " "),
            "faults": [plain(text)[:FAULT_LENGTH] for text in one["faults"]],
        }
        for one in rules
    ]
    report = ConformanceReport.objects.create(
        partner_id=caller.partner_id,
        part=part,
        version=plain(input["version"]),
        seconds=input["seconds"],
        passed=all(one["verdict"] == Verdict.OK for one in rules),
        rules=kept,
    )
    report.refresh_from_db(fields=["at"])
    return report
