"""What must be true of the scopes of keys."""

from accounts.access import Scope
from partnerapi.core.invariants import Invariant

KNOWN = f"ARRAY{Scope.values}::text[]"

SCOPES_ARE_KNOWN = Invariant(
    "scopes are those of this release, and keys have no others",
    f"""
    SELECT cardinality({KNOWN}), (
        SELECT count(*) FROM unnest({KNOWN}) AS known (name)
        FULL JOIN accounts_keyscope s USING (name)
        WHERE known.name IS NULL OR s.name IS NULL
    ) + (
        SELECT count(*) FROM accounts_apikey WHERE NOT scopes::text[] <@ {KNOWN}
    )
    """,
)
