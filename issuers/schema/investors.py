"""What is known of an account's user as an investor, and what partners attest."""

import graphene
from django.utils import timezone

from accounts.access import Scope, check_scope, requires
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.models import AccountNotActive
from accounts.accounts.schema import Account
from accounts.investors import models
from accounts.investors import writer as investors
from accounts.investors.models import EVIDENCE_LENGTH
from accounts.people import models as people
from accounts.people.schema import Country, read_countries
from issuers.compliance.models import Restriction
from partnerapi.core.errors import BadUserInput, NotFound, RequestTimeout
from partnerapi.core.lock_waits import LockTimeout, name_locked_row
from partnerapi.graphql.cost import FOUND, MUTATION, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.relay import enumeration, key_of
from partnerapi.graphql.resolvers import check_first, needs
from partnerapi.graphql.scalars import Time
from partnerapi.graphql.trials import would_be

Verified = models.Verification
InvestorVerification = enumeration(
    Verified,
    "InvestorVerification",
    "Whether an investor's identity is verified.",
    {
        Verified.NONE: "Not verified.",
        Verified.PENDING: "Verification is under way.",
        Verified.VERIFIED: "Verified.",
        Verified.REFUSED: "Verification was refused.",
    },
)
Class = models.InvestorClass
InvestorClass = enumeration(
    Class,
    "InvestorClass",
    "Class of investor, from most to least protection.",
    {
        Class.RETAIL: "A retail client.",
        Class.INFORMED: "A retail client who has been informed of the risks of private "
        "shares.",
        Class.PROFESSIONAL: "A professional client.",
        Class.ELIGIBLE_COUNTERPARTY: "An eligible counterparty, such as a bank.",
    },
)


class InvestorProfile(graphene.ObjectType):
    """The investor profile in force for an account's user, whatever its source."""

    pending = graphene.Boolean(
        required=True,
        description="Whether one of your attestations is waiting for staff.",
    )
    verification = InvestorVerification(
        required=True, description="Whether the investor's identity is verified."
    )
    verified_until = Time(
        description="When the verification ends; null if it has no end, or if there is "
        "none."
    )
    country = graphene.Field(
        Country, description="Country of tax residence; null if unknown."
    )
    investor_class = InvestorClass(
        required=True, description="The class of investor; RETAIL if unknown."
    )
    frozen = graphene.Boolean(
        required=True,
        description="Whether this investor is frozen for all tokens.",
    )

    def resolve_country(profiles, info):
        return read_countries([profile.tax_country_id for profile in profiles], info)


class Profile:
    """A profile as one partner sees it."""

    def __init__(self, profile, is_pending, is_frozen):
        self.pending, self.frozen = is_pending, is_frozen
        self.verification = profile.verification
        self.verified_until = profile.verified_until
        self.tax_country_id = profile.tax_country_id
        self.investor_class = profile.investor_class


NOTHING_KNOWN = models.InvestorProfile(verification=Verified.NONE, changes=0)


@requires(Scope.COMPLIANCE_READ)
@needs("user_id")
def resolve_investors(accounts, info):
    users = [account.user_id for account in accounts]
    profiles = {
        str(profile.pk): profile
        for profile in models.InvestorProfile.objects.filter(pk__in=users)
    }
    pending = models.InvestorAttestation.objects.waiting().filter(
        user__in=users, partner=info.context.caller.partner_id
    )
    waiting = {str(user) for user in pending.values_list("user", flat=True)}
    for (name, _), row in (info.context.trial or {}).items():
        if name == "InvestorProfile":
            profiles[row.user_id] = row
        elif name == "InvestorAttestation":
            waiting.add(row.user_id)
    frozen = Restriction.objects.in_force(timezone.now()).filter(
        kind=Restriction.Kind.FREEZE,
        token=None,
        units=None,
        ledger_account__user__in=users,
    )
    still = {str(u) for u in frozen.values_list("ledger_account__user", flat=True)}
    return [
        Profile(profiles.get(user, NOTHING_KNOWN), user in waiting, user in still)
        for user in users
    ]


INVESTOR = Field(
    InvestorProfile,
    required=True,
    cost=FOUND,
    resolver=resolve_investors,
    description="The investor profile of the account's user. Needs the scope "
    "`compliance:read`.",
)


class AttestInvestorInput(graphene.InputObjectType):
    """The account, and your attestation about its user."""

    account_id = graphene.ID(
        name="accountID", required=True, description="The account's id."
    )
    verification = InvestorVerification(
        required=True, description="Whether you have verified the investor's identity."
    )
    verified_until = Time(
        description="When the verification ends, in the future; only for VERIFIED. If "
        "omitted, it has no end."
    )
    country_code = graphene.String(
        required=True,
        description="Country of tax residence: ISO 3166-1 alpha-2, such as FR, or XK.",
    )
    investor_class = InvestorClass(required=True, description="The class of investor.")
    evidence = graphene.String(
        description="Where you keep the evidence, such as a file number: at most "
        f"{EVIDENCE_LENGTH} characters. Never send the evidence itself."
    )


class AttestInvestorPayload(graphene.ObjectType):
    """The account whose user the attestation concerns."""

    account = graphene.Field(
        Account,
        required=True,
        description="The account; `investor` shows the profile in force.",
    )

    @needs("account_id")
    def resolve_account(payloads, info):
        accounts = AccountModel.objects.of_partner(info.context.caller)
        return read_rows("Account", info, accounts, [p.account_id for p in payloads])


class Attested:
    """The result of attestInvestor; the account is read only where selected."""

    def __init__(self, account):
        self.account_id = str(account.pk)


def check_attest(context, input):
    """Refuse what can never succeed before the idempotency key is claimed."""
    check_scope(context.caller, Scope.COMPLIANCE_WRITE)
    evidence = input.get("evidence") or ""
    if len(evidence) > EVIDENCE_LENGTH or "\0" in evidence:
        raise BadUserInput(
            f"`evidence` needs at most {EVIDENCE_LENGTH} characters, without NUL.",
            argument="input.evidence",
            maximum=EVIDENCE_LENGTH,
        )
    until = input.get("verified_until")
    if until is not None and input["verification"] != Verified.VERIFIED:
        raise BadUserInput(
            "`verifiedUntil` only applies to VERIFIED; omit it.",
            argument="input.verifiedUntil",
        )


def facts_of(input):
    until, code = input.get("verified_until"), input["country_code"]
    if until is not None and until <= timezone.now():
        raise BadUserInput(
            "`verifiedUntil` is in the past; send a later time, or omit it.",
            argument="input.verifiedUntil",
        )
    # PostgreSQL takes no NUL.
    country = people.Country.objects.filter(pk=code.replace("\0", "?")).first()
    if country is None:
        raise BadUserInput(
            "`countryCode` is not an ISO 3166-1 country code; send one such as FR.",
            argument="input.countryCode",
        )
    return investors.Facts(
        input["verification"],
        until,
        country,
        input["investor_class"],
        (input.get("evidence") or "").strip(),
    )


class Mutation(graphene.ObjectType):
    attest_investor = Field(
        AttestInvestorPayload,
        cost=MUTATION,
        input=AttestInvestorInput(
            required=True,
            description="The account, and your attestation about its user.",
        ),
        description="Attest the investor profile of the user of one of your accounts. "
        "If the operator lets you attest, VERIFIED takes effect immediately "
        "unless it weakens the profile in force; you can also downgrade "
        "your own attestation. Everything else waits for staff: "
        "`investor.pending` is true, and the profile in force stays. Open "
        "orders that the new profile forbids are cancelled. An account that "
        "is CLOSED or REJECTED is ACCOUNT_NOT_ACTIVE. Needs the scope "
        "`compliance:write`; `account.investor` also needs "
        "`compliance:read`.",
    )

    @check_first(check_attest)
    def resolve_attest_investor(roots, info, input):
        of = AccountModel.objects.of_partner(info.context.caller)
        key = key_of(input["account_id"], "Account")
        account = of.select_related("partner", "user").filter(pk=key).first()
        if account is None:
            raise NotFound(
                "You have no account with this id.", argument="input.accountID"
            )
        if account.status in (AccountModel.Status.CLOSED, "REJECTED"):
            raise AccountNotActive(
                f"The account is {account.status}; its user can no longer be attested.",
                argument="input.accountID",
                status=account.status,
            )
        facts, trial = facts_of(input), info.context.trial
        if trial is not None:
            if profile := investors.try_attest(account, facts):
                would_be(trial, "InvestorProfile", profile)
            else:
                waits = models.InvestorAttestation(user=account.user)
                would_be(trial, "InvestorAttestation", waits)
            return [Attested(account)]
        try:
            with name_locked_row():
                investors.attest(account, facts)
        except LockTimeout as error:
            raise RequestTimeout(
                "Another change of this investor is still running. Nothing was "
                "attested; retry the request."
            ) from error
        return [Attested(account)]
