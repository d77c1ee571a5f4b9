"""The connection of the tables' owner, for what only it may do."""

from django.db import DEFAULT_DB_ALIAS, connections

OWNER = "owner"
NAMED = ("USER", "PASSWORD", "HOST", "PORT")


def owner_alias() -> str:
    """The alias of the connection that owns the tables.

    It is the usual one where DATABASE_OWNER_URL is not set.
    """
    if OWNER not in connections.settings:
        return DEFAULT_DB_ALIAS
    usual, owner = connections[DEFAULT_DB_ALIAS], connections[OWNER]
    same = all(usual.settings_dict[n] == owner.settings_dict[n] for n in NAMED)
    return DEFAULT_DB_ALIAS if same else OWNER


def as_owner(alias: str) -> str:
    """In place of the usual connection the owner's; any other as it is."""
    return owner_alias() if alias == DEFAULT_DB_ALIAS else alias


NO_OWNER = (
    "DATABASE_OWNER_URL is not set: the role of DATABASE_URL is used, and owns the "
    "tables."
)
