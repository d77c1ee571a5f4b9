"""Fields of an issuer that need a grant for that issuer, besides a scope."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from accounts.access import Forbidden


def requires_grant(resolver: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Resolve the field for granted issuers; for each other one it is FORBIDDEN.

    `requiredGrant` in the error names the issuer, which is public, so that nothing
    leaks and nobody mistakes a missing grant for an empty list.
    """

    @wraps(resolver)
    def guarded(issuers: list[Any], info: Any, **arguments: Any) -> list[Any]:
        caller = info.context.caller
        granted = [issuer for issuer in issuers if caller.may_see(issuer.id)]
        values = iter(resolver(granted, info, **arguments) if granted else [])
        return [
            next(values) if caller.may_see(issuer.id) else missing_grant(issuer.id)
            for issuer in issuers
        ]

    return guarded


def missing_grant(issuer_id: str) -> Forbidden:
    return Forbidden(
        "Your integration account has no grant for this issuer; ask your account "
        "manager for one.",
        requiredGrant=f"Issuer|{issuer_id}",
    )
