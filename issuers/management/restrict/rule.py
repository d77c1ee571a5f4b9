from typing import Any

from django.core.management.base import CommandError

from accounts.approvals.models import ApprovalKind
from accounts.investors.models import InvestorClass
from accounts.management.people import active_staff, file_for_approval
from issuers.compliance import rules
from issuers.compliance.models import TokenRule
from issuers.compliance.rules import RuleRefused
from issuers.management.register_command import (
    RegisterCommand,
    add_reason,
    token_named,
    whole,
    writing,
)
from partnerapi.core.commands import DRY_RUN

Kind = TokenRule.Kind
NONE_NEEDED = {Kind.TRANSFERS_PAUSED, Kind.VERIFIED_HOLDERS, Kind.APPROVED_HOLDERS}


def parse_list(text: str) -> list[str]:
    return [part.strip().upper() for part in text.split(",") if part.strip()]


class Command(RegisterCommand):
    help = """Create, change or end a rule for movements of a token's units.

A second member of staff approves it. It applies to movements from then on: holders keep
their units, and open orders that break the rule are cancelled. A dry run shows which of
the largest holders would not comply.

examples:
  manage.py restrict rule ACME VERIFIED_HOLDERS --staff ana@example.com \\
      --reason "Articles, section 7" --dry-run
  manage.py restrict rule ACME COUNTRIES --refused US,CA --staff ana@example.com \\
      --reason "Regulation S" --request
  manage.py restrict rule ACME COUNTRIES --refused US,CA --staff ana@example.com \\
      --reason "Regulation S" --approval 019376a2-5c1e-7b04-9c55-2f0e6f6f1d11
  manage.py restrict rule ACME MAX_BALANCE --bps 500 --staff ana@example.com \\
      --reason "At most 5 %" --request
  manage.py restrict rule ACME TRANSFERS_PAUSED --end --staff ana@example.com \\
      --reason "The merger is done" --request
"""

    def add_own_arguments(self, parser):
        parser.add_argument(
            "kind", type=str.upper, choices=Kind.values, help="kind of rule"
        )
        said = parser.add_mutually_exclusive_group()
        said.add_argument(
            "--allowed",
            type=parse_list,
            metavar="CODES",
            help=("COUNTRIES: allowed countries"),
        )
        said.add_argument(
            "--refused",
            type=parse_list,
            metavar="CODES",
            help=("COUNTRIES: refused countries"),
        )
        said.add_argument(
            "--classes",
            type=parse_list,
            metavar="CLASSES",
            help=f"INVESTOR_CLASSES: one or more of {', '.join(InvestorClass.values)}",
        )
        said.add_argument(
            "--holders", type=whole, help=("MAX_HOLDERS: number of holders")
        )
        said.add_argument("--units", type=whole, help="MAX_BALANCE: units per holder")
        said.add_argument(
            "--bps",
            type=whole,
            help="MAX_BALANCE: basis points of the supply per holder",
        )
        said.add_argument("--end", action="store_true", help="end the rule")
        add_reason(parser)

    def handle(
        self, *, symbol, kind, end, staff, reason, dry_run, request, approval, **options
    ):
        person, token = active_staff("--staff", staff), token_named(symbol)
        parameters = None if end else parameters_of(kind, options)
        try:
            content = rules.rule_content(token, kind, parameters, reason)
            refused = end or rules.refused_by(token, kind, parameters)
            if request and not dry_run:
                title = rules.rule_title(token, kind, parameters)
                return file_for_approval(
                    ApprovalKind.RULE, content, title, reason, person
                )
            if not dry_run:
                with writing(dry_run, approval):
                    rules.set_rule(token, kind, parameters, reason, person.email or "")
        except RuleRefused as error:
            raise CommandError(f"{error} Nothing was written.") from None
        said = "The rule ends." if end else rules.text_of(kind, parameters)
        told = f"{symbol} {kind}: {said}"
        if not end:
            told += f" Holders who would not comply: {refused}."
        return told + DRY_RUN if dry_run else told


def parameters_of(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    names = ("allowed", "refused", "classes", "holders", "units", "bps")
    said = {name: options[name] for name in names if options[name] is not None}
    if not said and kind not in NONE_NEEDED:
        raise CommandError(f"{kind} needs an option with its value.")
    return said
