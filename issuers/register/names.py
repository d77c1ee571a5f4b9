"""The names of holders at an instant, from their profiles.

Before the first recorded change it is the present name.
"""

from collections.abc import Sequence

from issuers.register.captable_columns import Holder
from partnerapi.core.database import array_text, fetch


def name_at(profile: str, instant: str) -> str:
    """The SQL of a name; `profile` is an alias of accounts_userholder."""
    return f"""coalesce((
        SELECT n.name FROM accounts_userholdername n
        WHERE n.holder_id = {profile}.id AND n.replaced_at > {instant}
        ORDER BY n.replaced_at, n.id LIMIT 1
    ), {profile}.name)"""


def holder_names(holders: Sequence[Holder]) -> list[str]:
    """The name of each holder at the date of its table."""
    names: dict[tuple[str, str], str] = {}
    for date in {holder.date for holder in holders}:
        users = [holder.user_id for holder in holders if holder.date == date]
        found = names_of(users, date)
        names |= {(date, user_id): name for user_id, name in found.items()}
    return [names[holder.date, holder.user_id] for holder in holders]


def names_of(users: Sequence[str], date: str) -> dict[str, str]:
    """The names at an instant of the users with a profile, by id."""
    return dict(fetch(NAMES, [date, array_text(users)], tuple))


NAMES = f"""
    SELECT h.user_id::text, {name_at("h", "%s::timestamptz")}
    FROM accounts_userholder h WHERE h.user_id = ANY (%s::uuid[])
"""
