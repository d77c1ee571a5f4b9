"""Writes investor profiles: partners attest, staff decide.

An attestation by a partner with that right raises or renews a profile at once. The
partner whose attestation is in force may lower it, too. Any other attestation waits
for staff, and the profile in force stays.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from uuid_utils.compat import uuid7

from accounts.accounts.models import Account
from accounts.investors.models import (
    InvestorAttestation,
    InvestorChange,
    InvestorProfile,
)
from accounts.people.followers import change_and_follow
from accounts.people.models import Country, User
from partnerapi.core.database import rows_of
from partnerapi.core.locks import lock


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about an investor. Without `verified_until` they do not expire."""

    verification: str
    verified_until: datetime | None
    tax_country: Country | None
    investor_class: str
    evidence: str = ""

    def columns(self) -> list[Any]:
        """In the order of the writers' arguments."""
        return [
            self.verification,
            self.verified_until,
            self.tax_country and self.tax_country.pk,
            self.investor_class,
            self.evidence,
        ]


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

    def change() -> InvestorAttestation:
        [made] = InvestorAttestation.objects.raw(
            ATTEST,
            [uuid7(), uuid7(), account.partner.login, account.pk, *facts.columns()],
        )
        return made

    def lock_user() -> None:
        # The writer locks them, too, but its statement is billed.
        lock(LOCK_USER, [account.user_id])

    users = [account.user_id]
    return change_and_follow(users, None, "NOT_ELIGIBLE", change, lock_user)


def try_attest(account: Account, facts: Facts) -> InvestorProfile | None:
    """The profile that `attest` would put in force, or None where staff are waited for;
    nothing is locked or written."""
    before = profile_of(account.user)
    verification, until, country, investor_class, _ = facts.columns()
    [(is_raised,)] = rows_of(
        RAISES,
        [
            before.verification, before.verified_until, before.tax_country_id,
            before.investor_class, verification, until, country, investor_class,
        ],
    )  # fmt: skip
    is_own = before.partner_id == account.partner_id
    if not (account.partner.may_attest and (is_own or is_raised)):
        return None
    return InvestorProfile(
        user=account.user,
        verification=verification,
        verified_until=until,
        tax_country_id=country,
        investor_class=investor_class,
    )


RAISES = """
    SELECT accounts_raises(%s, %s::timestamptz, %s, %s, %s, %s::timestamptz, %s, %s)
"""
LOCK_USER = "SELECT id FROM accounts_user WHERE id = %s FOR NO KEY UPDATE"
ATTEST = "SELECT * FROM binds_attest(%s, %s, %s, %s, %s, %s, %s, %s, %s)"


def decide(
    user: User,
    facts: Facts,
    actor: str,
    attestation: InvestorAttestation | None = None,
) -> InvestorChange:
    """Set the profile in force by decision of staff; this settles earlier attestations.

    `actor` is the e-mail address of a member of staff with the right to add changes of
    investors. `attestation` is the one that staff follow, if any: its partner may then
    renew and lower the profile in force.

    Raises:
        LockTimeout: a lock was not released in time.
    """

    def change() -> InvestorChange:
        [made] = InvestorChange.objects.raw(
            DECIDE,
            [
                uuid7(),
                actor,
                user.pk,
                attestation and attestation.pk,
                *facts.columns(),
            ],
        )
        return made

    return change_and_follow([user.pk], None, "NOT_ELIGIBLE", change)


DECIDE = "SELECT * FROM binds_decide(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
