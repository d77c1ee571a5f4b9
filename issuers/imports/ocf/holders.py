"""The users and ledger accounts of an OCF package's stakeholders."""

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from accounts.models import User, UserHolder
from issuers.imports.ocf.naming import derived, read_name
from issuers.imports.ocf.objects import Item, Package, one_line
from issuers.imports.ocf.replay import Replay
from issuers.register import ledger

MAX_PERSONAL_NAME, MAX_EMAIL = 100, 254
BATCH = 2_000
TREASURY = "TREASURY"
"""The `issuer_assigned_id` of the stakeholder that is the issuer's treasury."""


def named(item: Item, package: Package) -> tuple[str, dict[str, str | None]]:
    """A stakeholder's name in the register, and the columns of the user."""
    value = item.values.get("name")
    parts = value if isinstance(value, dict) else {"legal_name": value}
    name = read_name(item, "name.legal_name", parts.get("legal_name"), package)
    kind = item.values.get("stakeholder_type")
    if kind == "INSTITUTION":
        return name, {"type": User.Type.COMPANY, "company_name": name}
    if kind != "INDIVIDUAL":
        rule = f"stakeholder_type is {kind!r:.40}, not INDIVIDUAL or INSTITUTION"
        package.problems.append(item.problem(rule))
    first, _, last = name.rpartition(" ")
    given = [parts.get("first_name"), parts.get("last_name")]
    if all(isinstance(part, str) and one_line(part) for part in given):
        first, last = (one_line(str(part)) for part in given)
    for part in (first, last):
        if len(part) > MAX_PERSONAL_NAME:
            rule = (
                f"a first or last name of {len(part)} characters; at most "
                f"{MAX_PERSONAL_NAME} are kept: give name.first_name and last_name"
            )
            package.problems.append(item.problem(rule))
    kind = User.Type.INDIVIDUAL
    return name, {"type": kind, "first_name": first, "last_name": last}


def treasury_of(package: Package) -> str | None:
    """The stakeholder that the issuer numbers as its treasury, if it is one."""
    found = [
        item.id
        for item in package.stakeholders.values()
        if item.values.get("issuer_assigned_id") == TREASURY
    ]
    return found[0] if len(found) == 1 else None


def email_of(item: Item) -> str | None:
    """An individual's first address; an institution's addresses are its people's."""
    try:
        address = item.values["contact_info"]["emails"][0]["email_address"]
        validate_email(address)
    except (KeyError, IndexError, TypeError, ValidationError):
        return None
    individual = item.values["stakeholder_type"] == "INDIVIDUAL"
    return address.lower() if individual and len(address) <= MAX_EMAIL else None


def emails_of(items: Iterable[Item]) -> tuple[dict[str, str], int]:
    """Addresses that only one stakeholder has, by stakeholder; the number of others."""
    found = {item.id: email for item in items if (email := email_of(item))}
    times = Counter(found.values())
    alone = {id: email for id, email in found.items() if times[email] == 1}
    return alone, len(found) - len(alone)


def new_holders(
    package: Package,
    replayed: Replay,
    names: dict[str, tuple[str, dict[str, str | None]]],
    issuer_id: UUID,
) -> tuple[dict[str, int], list[str]]:
    """The ledger accounts of past and present holders, by stakeholder; and remarks.

    An individual with the e-mail address of a user is that user, who stays as stored.
    """
    held = replayed.held - {treasury_of(package)}
    emails, shared = emails_of(package.stakeholders[id] for id in sorted(held))
    stored = {u.email: u for u in User.objects.filter(email__in=emails.values())}
    users, new = {}, []
    taken = 0
    for id in sorted(held):
        email = emails.get(id)
        user = stored.get(email) if email else None
        if user and user.type == User.Type.INDIVIDUAL:
            users[id] = user
            continue
        if user:
            email, taken = None, taken + 1
        pk = derived(f"stakeholder {issuer_id} {id}")
        users[id] = User(id=pk, email=email, **names[id][1])  # type: ignore[arg-type]
        users[id].set_unusable_password()
        new.append(id)
    User.objects.bulk_create([users[id] for id in new], batch_size=BATCH)
    UserHolder.objects.bulk_create(
        [UserHolder(user=users[id], name=names[id][0]) for id in new],
        batch_size=BATCH,
    )
    accounts = ledger.holder_accounts(user.pk for user in users.values())
    remarks = {
        "holders were known by their e-mail address": len(users) - len(new),
        "e-mail addresses left out: several stakeholders have them": shared,
        "e-mail addresses left out: a company has them": taken,
    }
    said = [f"{count} {what}" for what, count in remarks.items() if count]
    return {id: accounts[user.pk] for id, user in users.items()}, said
