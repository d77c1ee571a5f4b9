"""The caller of a request, and what needs a scope or a grant."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any
from uuid import UUID

from django.db.models import TextChoices

from partnerapi.core.errors import PartnerAPIError


class Scope(TextChoices):
    ISSUERS_READ = "issuers:read", "Issuers: owner, financial data, prices"
    CAPTABLE_READ = "captable:read", "Capitalization tables"
    SHAREHOLDERS_READ = "shareholders:read", "Legacy shareholders"
    ACCOUNTS_READ = "accounts:read", "Accounts"
    ACCOUNTS_WRITE = "accounts:write", "Accounts: open, change status"
    MARKETDATA_READ = "marketdata:read", "Order books"
    TRADING_READ = "trading:read", "Orders, executions, positions"
    TRADING_WRITE = "trading:write", "Orders: place, amend, cancel"
    CASH_READ = "cash:read", "Cash of accounts"
    CASH_WRITE = "cash:write", "Cash of accounts: request withdrawals"
    COMPLIANCE_READ = "compliance:read", "Investor profiles"
    COMPLIANCE_WRITE = "compliance:write", "Investor profiles: attest"
    WEBHOOKS_WRITE = "webhooks:write", "Webhooks: where events are sent"
    DOCUMENTS_READ = "documents:read", "Contract notes, statements, invoices"


OF_ACCOUNTS = (
    Scope.ACCOUNTS_READ,
    Scope.CASH_READ,
    Scope.COMPLIANCE_READ,
    Scope.TRADING_READ,
    Scope.DOCUMENTS_READ,
)
"""Each of them opens accounts: their ids, statuses and references."""


class Unauthenticated(PartnerAPIError):
    """A field needs a key, and the request has none."""

    code = "UNAUTHENTICATED"
    example = "{ accounts { totalCount } }"
    remedy = "Send a key in `X-Token-Auth`."


class Forbidden(PartnerAPIError):
    """The key lacks the scope (`requiredScope`) or the grant (`requiredGrant`)."""

    code = "FORBIDDEN"
    example = "{ issuers { nodes { capitalizationTable { totalValue } } } }"
    remedy = (
        "Query only what you may see, with `issuers(granted: true)`, or ask "
        "your account manager for the scope or grant."
    )


@dataclass(frozen=True, slots=True)
class Caller:
    """A partner's integration account, with the scopes of one of its keys.

    `granted_issuers` are issuers' ids as text; None means every issuer.
    `key_id` is None for staff that search, who have no key. `orders_per_second` and
    `open_value_limit`, euro cents, are limits of its orders; None: there is none.
    """

    partner_id: str
    login: str
    partner: str
    scopes: frozenset[str]
    granted_issuers: frozenset[str] | None
    budget_points: int
    budget_refill: int
    key_id: UUID | None = None
    orders_per_second: int | None = None
    open_value_limit: int | None = None

    def may_see(self, issuer_id: str) -> bool:
        """Whether the account has a grant for the issuer."""
        return self.granted_issuers is None or issuer_id in self.granted_issuers


def requires(*scopes: Scope) -> Callable[..., Any]:
    """Run a batch resolver only for a caller whose key has one of the scopes.

    Raises:
        Unauthenticated: the request has no key.
        Forbidden: the key has none of them; `requiredScope` names the first.
    """

    def decorate(resolver: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(resolver)
        def guarded(parents: list[Any], info: Any, **arguments: Any) -> list[Any]:
            check_scope(info.context.caller, *scopes)
            return resolver(parents, info, **arguments)

        guarded.scopes = scopes  # type: ignore[attr-defined]
        return guarded

    return decorate


def check_scope(caller: Caller | None, *scopes: Scope) -> None:
    """Refuse a caller whose key has none of the scopes, as `requires` does."""
    if caller is None:
        raise Unauthenticated(
            "This field needs an API key. Send it in the X-Token-Auth header."
        )
    if caller.scopes.isdisjoint(scopes):
        scope, *others = scopes
        named = f"the scope {scope}"
        if others:
            named = f"one of the scopes {', '.join(others)} and {scope}"
        raise Forbidden(
            f"This field needs {named}, which your key does not have.",
            requiredScope=scope,
        )


def requires_grant_of(column: str) -> Callable[..., Any]:
    """Resolve a field for parents of granted issuers; any other parent is FORBIDDEN.

    `column` of a parent holds the issuer's id. `requiredGrant` in the error names the
    issuer, which is public. So nothing leaks, and a missing grant cannot be mistaken
    for an empty list.
    """

    def decorate(resolver: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        @wraps(resolver)
        def guarded(parents: list[Any], info: Any, **arguments: Any) -> list[Any]:
            may_see = info.context.caller.may_see
            issuers = [getattr(parent, column) for parent in parents]
            granted = [
                parent
                for parent, issuer in zip(parents, issuers, strict=True)
                if may_see(issuer)
            ]
            values = iter(resolver(granted, info, **arguments) if granted else [])
            return [
                next(values) if may_see(issuer) else missing_grant(issuer)
                for issuer in issuers
            ]

        return guarded

    return decorate


requires_grant = requires_grant_of("id")
"""Of fields of issuers themselves."""


def missing_grant(issuer_id: str) -> Forbidden:
    return Forbidden(
        "Your integration account has no grant for this issuer; ask your account "
        "manager for one.",
        requiredGrant=f"Issuer|{issuer_id}",
    )
