"""Rules of tokens: their requests, the holders they would refuse, and their effect."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from uuid_utils.compat import uuid7

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.people.followers import change_and_follow
from accounts.people.models import Country, User
from issuers.compliance.models import TokenRule
from issuers.models import Token
from issuers.register.approvals import token_facts, token_links
from issuers.register.models import HolderBalance
from partnerapi.core.database import value_of

Kind = TokenRule.Kind
Parameters = Mapping[str, Any]
MOST_JUDGED, MOST_SHOWN = 2_000, 20
"""Of a preview: the largest holders, and how many of those that it would refuse."""


class RuleRefused(Exception):
    """The rule cannot be made, or ended; the message says why."""


def rule_in_force(token: Token, kind: str) -> TokenRule | None:
    return TokenRule.objects.filter(token=token, kind=kind, ended_at=None).first()


def rule_content(
    token: Token, kind: str, parameters: Parameters | None, reason: str
) -> dict[str, Any]:
    """A rule to create or change; without `parameters`, to end.

    Raises:
        RuleRefused: there is no rule to end, or it is the same already.
    """
    present = rule_in_force(token, kind)
    check_countries(parameters)
    if parameters is None and present is None:
        raise RuleRefused(f"{token.symbol} has no rule {kind} to end.")
    if present and parameters == present.parameters:
        raise RuleRefused(f"{token.symbol} already has this rule {kind}.")
    content = {
        "token": str(token.pk),
        "kind": kind,
        "parameters": parameters,
        "replaces": present and str(present.pk),
    }
    return content if parameters is None else content | {"reason": reason}


def check_countries(parameters: Parameters | None) -> None:
    """
    Raises:
        RuleRefused: a code is not a country's.
    """
    named = parameters or {}
    codes = {*named.get("allowed", ()), *named.get("refused", ())}
    known = Country.objects.filter(pk__in=codes).values_list("pk", flat=True)
    if unknown := sorted(codes.difference(known)):
        raise RuleRefused(
            f"{', '.join(unknown)}: unknown country. Use two-letter ISO 3166-1 codes, "
            "such as FR."
        )


def rule_title(token: Token, kind: str, parameters: Parameters | None) -> str:
    said = "ends" if parameters is None else text_of(kind, parameters)
    return f"Rule of {token.symbol}: {Kind(kind).label}, {said}"[:200]


def text_of(kind: str, parameters: Parameters) -> str:
    """A rule as partners and staff read it."""
    match kind:
        case Kind.TRANSFERS_PAUSED:
            return "Transfers between holders are paused."
        case Kind.VERIFIED_HOLDERS:
            return "Only verified investors may acquire units."
        case Kind.COUNTRIES if "allowed" in parameters:
            return f"Only for tax residents of {', '.join(parameters['allowed'])}."
        case Kind.COUNTRIES:
            return f"Not for tax residents of {', '.join(parameters['refused'])}."
        case Kind.INVESTOR_CLASSES:
            return f"Only for investors of class {', '.join(parameters['classes'])}."
        case Kind.APPROVED_HOLDERS:
            return "Only holders approved by the company may acquire units."
        case Kind.MAX_HOLDERS:
            return f"At most {parameters['holders']:,} holders."
        case Kind.MAX_BALANCE if "units" in parameters:
            return f"At most {parameters['units']:,} units per holder."
    return f"At most {parameters['bps'] / 100:g} % of the supply per holder."


def set_rule(
    token: Token, kind: str, parameters: Parameters | None, reason: str, actor: str
) -> TokenRule | None:
    """End the rule of this kind, if there is one, and make a new one of `parameters`.

    Open orders that it refuses are cancelled in the same transaction, which carries its
    approval; `actor` filed the request, or decided it. Holders who do not comply keep
    their units.

    Raises:
        RuleRefused: the parameters do not fit this kind.
        LockTimeout: the token's ledger stayed locked for too long.
    """
    said = None if parameters is None else json.dumps(dict(parameters))

    def change() -> TokenRule | None:
        made = TokenRule.objects.raw(
            SET_RULE, [uuid7(), actor, token.pk, kind, said, reason]
        )
        return next(iter(made), None)

    with parameters_of(kind, parameters):
        return change_and_follow(None, [token.pk], "RULE_CHANGED", change)


SET_RULE = "SELECT * FROM binds_rule(%s, %s, %s, %s, %s, %s)"


@contextmanager
def parameters_of(kind: str, parameters: Parameters | None) -> Iterator[None]:
    """
    Raises:
        RuleRefused: the database says that the parameters do not fit this kind.
    """
    try:
        yield
    except IntegrityError as error:
        if "token_rule_is_valid" not in str(error):
            raise
        raise RuleRefused(
            f"{dict(parameters or {})} are not parameters of {kind}."
        ) from None


@dataclass(frozen=True, slots=True)
class Refused:
    """Holders who would not comply: a sample, and how many were judged."""

    some: list[User]
    count: int
    judged: int
    holders: int

    def __str__(self) -> str:
        if not self.count:
            return f"none of {self.judged:,}"
        named = ", ".join(map(str, self.some))
        more = f" and {self.count - len(self.some):,} more" if self.count > len(
            self.some) else ""  # fmt: skip
        return f"{self.count:,} of {self.judged:,}: {named}{more}"


def refused_by(token: Token, kind: str, parameters: Parameters) -> Refused:
    """Holders of the token who could not acquire its units under this rule.

    The judge examines the largest holders under a rule that is then rolled back.

    Raises:
        RuleRefused: the parameters do not fit this kind.
    """
    balances = HolderBalance.objects.filter(
        token=token, balance__gt=0, user__isnull=False
    )
    largest = balances.order_by("-balance", "account_id")[:MOST_JUDGED]
    held = {b.account_id: b for b in largest.select_related("user")}
    said = json.dumps(dict(parameters))
    with parameters_of(kind, parameters), transaction.atomic():
        accounts = value_of(
            PREVIEW, [token.pk, kind, said, [*held], CODES.get(kind, "")]
        )
    found = [held[account] for account in accounts]
    if kind == Kind.MAX_BALANCE:
        supply = int(token.ledger_head.supply)
        most = parameters.get("units", supply * parameters.get("bps", 0) // 10_000)
        found = [balance for balance in held.values() if int(balance.balance) > most]
    found.sort(key=lambda balance: (-balance.balance, balance.account_id))
    users = [b.user for b in found[:MOST_SHOWN] if b.user]
    return Refused(users, len(found), len(held), balances.count())


CODES: Mapping[str, str] = {
    Kind.VERIFIED_HOLDERS: "RECEIVER_NOT_VERIFIED",
    Kind.COUNTRIES: "COUNTRY_NOT_ALLOWED",
    Kind.INVESTOR_CLASSES: "INVESTOR_CLASS_NOT_ALLOWED",
    Kind.APPROVED_HOLDERS: "HOLDER_NOT_APPROVED",
}
PREVIEW = "SELECT binds_preview_rule(%s, %s, %s, %s::bigint[], %s)"


class SetRule:
    """A rule that is made, changed or ended; superseded if it has changed since."""

    def preview(self, request: ApprovalRequest) -> Preview:
        content = request.content
        token, present = self.read(content)
        kind, parameters = content["kind"], content["parameters"]
        before = text_of(kind, present.parameters) if present else "none"
        after = "none" if parameters is None else text_of(kind, parameters)
        rows = [
            *token_facts(token),
            ("Kind of rule", "", Kind(kind).label),
            ("Rule", before, after),
        ]
        links = token_links(token)
        if parameters is None:
            return Preview(rows, links=links)
        try:
            check_countries(parameters)
            refused = refused_by(token, kind, parameters)
        except RuleRefused as error:
            raise Superseded(str(error)) from None
        rows.append(("Holders who would not comply", "", str(refused)))
        return Preview(
            rows,
            [
                "A rule applies to movements only: holders who do not comply keep "
                "their units.",
                "Open orders that break the rule are cancelled.",
            ],
            links,
        )

    def execute(self, request: ApprovalRequest) -> TokenRule | None:
        content = request.content
        token, _ = self.read(content)
        try:
            return set_rule(
                token,
                content["kind"],
                content["parameters"],
                content.get("reason", ""),
                request.filed_by.email or "",
            )
        except RuleRefused as error:
            raise Superseded(str(error)) from None

    def read(self, content: Parameters) -> tuple[Token, TokenRule | None]:
        token = Token.objects.select_related("issuer", "ledger_head").get(
            pk=UUID(content["token"])
        )
        present = rule_in_force(token, content["kind"])
        if (present and str(present.pk)) != content["replaces"]:
            raise Superseded("The rule has changed since this was requested.")
        return token, present
