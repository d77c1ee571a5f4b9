"""The users and ledger accounts of an OCF package's stakeholders."""

from collections import Counter
from collections.abc import Callable, Iterable
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models.functions import Lower

from accounts.people.imports import is_email
from accounts.people.models import WALLET as WALLET_FORM
from accounts.people.models import User, UserHolder, validate_lei
from issuers.ocf.comments import EMAIL, LEI, WALLET, facts
from issuers.ocf.naming import derive_id, read_name
from issuers.ocf.objects import Item, Package, one_line
from issuers.ocf.replay import Replay
from issuers.register import ledger

MAX_PERSONAL_NAME = 100
BATCH = 2_000
TREASURY = "TREASURY"
"""The `issuer_assigned_id` of the stakeholder that is the issuer's treasury."""


def name_and_columns(item: Item, package: Package) -> tuple[str, dict[str, str | None]]:
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
                f"a first or last name of {len(part)} characters; the limit is "
                f"{MAX_PERSONAL_NAME}: give name.first_name and last_name"
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
    """An individual's first address. An institution's addresses belong to its people;
    its own is in a comment.
    """
    if item.values["stakeholder_type"] == "INDIVIDUAL":
        try:
            address = item.values["contact_info"]["emails"][0]["email_address"]
        except (KeyError, IndexError, TypeError):
            return None
    else:
        address = facts(item.values).get(EMAIL)
    return address.lower() if isinstance(address, str) and is_email(address) else None


def lei_of(item: Item) -> str | None:
    lei = facts(item.values).get(LEI)
    if lei is None or item.values["stakeholder_type"] == "INDIVIDUAL":
        return None
    try:
        validate_lei(lei)
    except ValidationError:
        return None
    return lei


def wallet_of(item: Item) -> str | None:
    wallet = facts(item.values).get(WALLET, "")
    return wallet if WALLET_FORM.fullmatch(wallet) else None


def found_once(
    read: Callable[[Item], str | None], items: Iterable[Item]
) -> tuple[dict[str, str], int]:
    """What is read of only one stakeholder, by stakeholder; how many others have it."""
    found = {item.id: value for item in items if (value := read(item))}
    times = Counter(map(str.lower, found.values()))
    alone = {id: value for id, value in found.items() if times[value.lower()] == 1}
    return alone, len(found) - len(alone)


def new_holders(
    package: Package,
    replayed: Replay,
    names: dict[str, tuple[str, dict[str, str | None]]],
    issuer_id: UUID,
) -> tuple[dict[str, int], list[str]]:
    """The ledger accounts of past and present holders, by stakeholder; and remarks.

    An individual with the e-mail address of a user is that user, who stays as stored.
    Values that another user already has are left out.
    """
    held = sorted(replayed.held - {treasury_of(package)})
    items = [package.stakeholders[id] for id in held]
    emails, shared = found_once(email_of, items)
    leis, shared_leis = found_once(lei_of, items)
    wallets, shared_wallets = found_once(wallet_of, items)
    stored = {u.email: u for u in User.objects.filter(email__in=emails.values())}
    taken_leis = set(
        User.objects.filter(lei__in=leis.values()).values_list("lei", flat=True)
    )
    taken_wallets = set(
        UserHolder.objects.annotate(letters=Lower("wallet_address"))
        .filter(letters__in=[wallet.lower() for wallet in wallets.values()])
        .values_list("letters", flat=True)
    )
    users, new, profiles = {}, [], []
    taken: Counter[str] = Counter()
    for id in held:
        email, lei, wallet = emails.get(id), leis.get(id), wallets.get(id)
        name, columns = names[id]
        user = stored.get(email) if email else None
        if user and user.type == columns["type"] == User.Type.INDIVIDUAL:
            users[id] = user
            continue
        if user:
            email, taken["email"] = None, taken["email"] + 1
        if lei in taken_leis:
            lei, taken["lei"] = None, taken["lei"] + 1
        if wallet and wallet.lower() in taken_wallets:
            wallet, taken["wallet"] = None, taken["wallet"] + 1
        pk = derive_id(f"stakeholder {issuer_id} {id}")
        user = User(id=pk, email=email, lei=lei, **columns)  # type: ignore[misc]
        user.set_unusable_password()
        users[id] = user
        new.append(user)
        profiles.append(UserHolder(user=user, name=name, wallet_address=wallet))
    User.objects.bulk_create(new, batch_size=BATCH)
    UserHolder.objects.bulk_create(profiles, batch_size=BATCH)
    accounts = ledger.holder_accounts(user.pk for user in users.values())
    remarks = {
        "holders were matched by e-mail address": len(users) - len(new),
        "e-mail addresses omitted: shared by several stakeholders": shared,
        "e-mail addresses omitted: they belong to companies": taken["email"],
        "LEIs omitted: shared by stakeholders, or taken by a user": shared_leis
        + taken["lei"],
        "wallets omitted: shared by stakeholders, or taken by a holder": shared_wallets
        + taken["wallet"],
    }
    said = [f"{count} {what}" for what, count in remarks.items() if count]
    return {id: accounts[user.pk] for id, user in users.items()}, said
