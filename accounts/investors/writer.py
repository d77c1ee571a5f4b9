"""Writes investor profiles: partners attest, staff decide.

An attestation by a partner with that right raises or renews a profile at once. The
partner whose attestation is in force may lower it, too. Any other attestation waits
for staff, and the profile in force stays.
"""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from accounts.accounts.models import Account
from accounts.investors.models import (
    InvestorAttestation,
    InvestorChange,
    InvestorProfile,
)
from accounts.people.followers import change_and_follow
from accounts.people.models import Country, User
from partnerapi.core.database import fetch


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about an investor. Without `verified_until` they do not expire."""

    verification: str
    verified_until: datetime | None
    tax_country: Country | None
    investor_class: str
    evidence: str = ""

    def columns(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


def profile_of(user: User) -> InvestorProfile:
    """The profile in force; an unsaved one if there is none."""
    found = InvestorProfile.objects.filter(pk=user.pk).first()
    return found or InvestorProfile(user=user, verification="NONE", changes=0)


def attest(account: Account, facts: Facts) -> InvestorAttestation:
    """Record an attestation of the account's partner; apply it if the partner may.

    Open orders that the change forbids are cancelled in the same transaction.

    Raises:
        LockTimeout: a lock was not released in time.
    """
    partner, user = account.partner, account.user

    def change() -> InvestorAttestation:
        profile = lock(user)
        attestation = InvestorAttestation.objects.create(
            account=account, user=user, partner=partner, **facts.columns()
        )
        is_own = profile.changes > 0 and profile.partner_id == partner.pk
        if partner.may_attest and (is_own or raises(profile, facts)):
            write(profile, facts, partner.login, False, attestation)
        return attestation

    return change_and_follow([user.pk], None, "NOT_ELIGIBLE", change)


def decide(
    user: User,
    facts: Facts,
    actor: str,
    attestation: InvestorAttestation | None = None,
) -> InvestorChange:
    """Set the profile in force by decision of staff; this settles earlier attestations.

    `attestation` is the one that staff follow, if any: its partner may then renew and
    lower the profile in force.
    """
    return change_and_follow(
        [user.pk],
        None,
        "NOT_ELIGIBLE",
        lambda: write(lock(user), facts, actor, True, attestation),
    )


def lock(user: User) -> InvestorProfile:
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    return profile_of(user)


def write(
    profile: InvestorProfile,
    facts: Facts,
    actor: str,
    is_staff: bool,
    attestation: InvestorAttestation | None,
) -> InvestorChange:
    return InvestorChange.objects.create(
        user_id=profile.user_id,
        number=profile.changes + 1,
        actor=actor,
        is_staff=is_staff,
        attestation=attestation,
        partner=attestation.partner if attestation else None,
        **facts.columns(),
    )


def raises(profile: InvestorProfile, facts: Facts) -> bool:
    """Whether no fact is weaker than the profile in force, by the database's order."""
    country = facts.tax_country.pk if facts.tax_country else None
    [(answer,)] = fetch(
        RAISES,
        [
            profile.verification,
            profile.verified_until,
            profile.tax_country_id,
            profile.investor_class,
            facts.verification,
            facts.verified_until,
            country,
            facts.investor_class,
        ],
        tuple,
    )
    return bool(answer)


RAISES = (
    "SELECT accounts_raises(%s, %s::timestamptz, %s, %s, %s, %s::timestamptz, %s, %s)"
)
