"""Freezes, locks and pledges units of a holder; lifting needs a second person."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Model, Sum
from uuid_utils.compat import uuid7

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.people.followers import change_and_follow
from accounts.people.models import User
from issuers.compliance.models import Restriction
from issuers.models import Token
from issuers.register import ledger
from issuers.register.approvals import token_facts, token_links
from issuers.register.models import HolderBalance
from partnerapi.core.database import value_of
from partnerapi.core.money import plural

Kind = Restriction.Kind


@dataclass(frozen=True, slots=True)
class Terms:
    """What is restricted. Without `token`: all tokens; without `units`: all units.

    Without `until` it lasts until someone lifts it.
    """

    kind: str
    reason: str
    token: Token | None = None
    units: int | None = None
    until: datetime | None = None
    beneficiary: str = ""

    @property
    def is_whole_freeze(self) -> bool:
        return self.kind == Kind.FREEZE and self.units is None


def restrict(user: User, terms: Terms, actor: str) -> Restriction:
    """Restrict a holder from now on; cancel open orders that the restriction forbids.

    Earlier movements stay. `actor` is the e-mail address of a member of staff with the
    right to add restrictions. The first restriction of a user opens its ledger account.

    Raises:
        LockTimeout: a lock was not released in time.
    """
    account = ledger.holder_accounts([user.pk])[user.pk]

    def change() -> Restriction:
        [made] = Restriction.objects.raw(
            RESTRICT,
            [
                uuid7(),
                actor,
                account,
                terms.kind,
                terms.token and terms.token.pk,
                terms.units,
                terms.until,
                terms.beneficiary,
                terms.reason,
            ],
        )
        return made

    tokens = None if terms.token is None else [terms.token.pk]
    why = "HOLDER_FROZEN" if terms.is_whole_freeze else "UNITS_LOCKED"
    return change_and_follow([user.pk], tokens, why, change)


RESTRICT = "SELECT * FROM binds_restrict(%s, %s, %s, %s, %s, %s, %s, %s, %s)"


def lifting_content(restriction: Restriction) -> dict[str, Any]:
    return {"restriction": str(restriction.pk)}


def lifting_title(restriction: Restriction) -> str:
    token = restriction.token
    units = "all units" if restriction.units is None else f"{restriction.units:,} units"
    named = f"{units} of {token.symbol}" if token else units
    return f"Lift the {restriction}, {named}"


def end(restriction: Restriction, actor: str) -> None:
    """Lift a restriction, in a transaction that carries the approval for it.

    `actor` filed the request, or decided it.
    """
    restriction.ended_at = value_of(LIFT, [actor, restriction.pk])
    restriction.ended_by = actor


LIFT = "SELECT binds_lift(%s, %s)"


class LiftRestriction:
    def preview(self, request: ApprovalRequest) -> Preview:
        restriction = self.restriction(request)
        whose, token = restriction.ledger_account, restriction.token
        until = restriction.until
        ends = f"{until:%Y-%m-%d %H:%M} UTC" if until else "until it is lifted"
        rows = [("Holder", "", str(whose))]
        links: dict[str, Model] = {"Restriction": restriction}
        if whose.user:
            links["Holder"] = whose.user
        if token is None:
            rows.append(("Token", "", "every token of every company"))
        else:
            rows += token_facts(token)
            links |= token_links(token)
        rows += [
            ("Reason for the restriction", "", restriction.reason),
            ("Created by", "", restriction.created_by),
            ("Restriction", restriction.get_kind_display(), "none"),
            (
                "Units restricted",
                "all" if restriction.units is None else f"{restriction.units:,}",
                "none; other restrictions may still apply",
            ),
            ("Ends", ends, "now"),
        ]
        held = HolderBalance.objects.filter(
            account=whose, balance__gt=0, **({"token": token} if token else {})
        ).aggregate(units=Sum("balance"), tokens=Count("token"))
        if held["units"]:
            said = f"{held['units']:,} units of {plural(held['tokens'], 'token')}"
            rows.append(("Holdings of this holder", "", said))
        return Preview(rows, links=links)

    def execute(self, request: ApprovalRequest) -> Restriction:
        restriction = self.restriction(request)
        end(restriction, request.filed_by.email or "")
        return restriction

    def restriction(self, request: ApprovalRequest) -> Restriction:
        restriction = Restriction.objects.select_related(
            "ledger_account__holder", "ledger_account__user", "token__issuer"
        ).get(pk=UUID(request.content["restriction"]))
        if restriction.ended_at:
            raise Superseded("The restriction has already been lifted.")
        return restriction
