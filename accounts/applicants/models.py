"""The clients for whom partners open accounts, as the partners describe them."""

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, connection, models, transaction
from django.db.models import Q
from django.db.models.functions import Lower, Now

from accounts.access import Caller
from accounts.accounts.models import Account, Actor
from accounts.keys.models import Partner
from accounts.people.models import Country, LEIIsValid, User
from partnerapi.core.constraints import check
from partnerapi.core.database import constraint_of, execute
from partnerapi.core.errors import PartnerAPIError

REFERENCE = r"^[A-Za-z0-9._:-]{1,64}$"
"""Names that partners may give to their requests."""


class DuplicateReference(PartnerAPIError):
    """The `reference` was used before, for `accountID` or `withdrawalID`, whatever the
    content.
    """

    code = "DUPLICATE_REFERENCE"
    example = (
        "two `openAccount` with the same `reference` and different `Idempotency-Key`s"
    )
    remedy = "Read the object that exists. Use a new reference for a new one."


class NotJoined(Exception):
    """The account cannot be joined to the user; the message says why."""


@dataclass(frozen=True, slots=True)
class Description:
    """A partner's description of a client. A person has no company name and no LEI."""

    type: str
    first_name: str
    last_name: str
    company_name: str | None
    email: str
    lei: str | None
    country: Country

    def user(self) -> User:
        """A new user, without what staff check first: the email and the LEI."""
        return User(
            type=self.type,
            first_name=self.first_name,
            last_name=self.last_name,
            company_name=self.company_name,
            country=self.country,
        )


class ApplicantQuerySet(models.QuerySet["Applicant"]):
    def search(self, text: str, most: int) -> "ApplicantQuerySet":
        """Applicants whose email begins with the text, or whose LEI or reference it is.

        Returns at most `most`; each of the three conditions reads an index.
        """
        # The index of references is each partner's own.
        each = Partner.objects.order_by().values("pk")
        parts = (
            self.filter(email__startswith=text.lower()),
            self.filter(lei=text.upper()),
            self.filter(partner__in=each, reference=text),
        )
        one, *others = (part[:most] for part in parts)
        return one.union(*others)[:most]

    def open(
        self, caller: Caller, reference: str, client: Description, at: datetime
    ) -> Account:
        """Create a PENDING account of a new user, even if another user has this email.

        The user gets the email and the LEI when staff activate the account.

        Raises:
            DuplicateReference
        """
        actor = Actor(caller.login, is_staff=False)
        partner = Partner(pk=caller.partner_id)
        try:
            with transaction.atomic():
                user = client.user()
                user.save(force_insert=True)
                account = Account.objects.open(partner, user, actor, at)
                said = [account.pk, reference, client.email.lower(), client.lei]
                execute(STATE, said)
        except IntegrityError as error:
            if constraint_of(error) != "reference_is_unique_per_partner":
                raise
            self.check_reference(partner, reference)
            raise
        return account

    def try_to_open(
        self, caller: Caller, reference: str, client: Description, at: datetime
    ) -> "Applicant":
        """The applicant of the account that `open` would create; nothing is written.

        Raises:
            DuplicateReference
        """
        partner = Partner(pk=caller.partner_id)
        self.check_reference(partner, reference)
        user = client.user()
        account = Account(partner=partner, user=user, created_at=at, updated_at=at)
        return self.model(account=account, user=user, reference=reference)

    def check_reference(self, partner: Partner, reference: str) -> None:
        first = self.filter(partner=partner, reference=reference).first()
        if first is not None:
            raise DuplicateReference(
                "You have already opened an account with this reference.",
                argument="input.reference",
                accountID=f"Account|{first.pk}",
            ) from None


class Applicant(models.Model):
    """A partner's description of the client of an account that it opened.

    `user` is a newly created user. The account belongs to it until staff join the
    account to another user.
    """

    account = models.OneToOneField(
        Account, models.PROTECT, primary_key=True, related_name="applicant"
    )
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="+", db_index=False
    )
    user = models.OneToOneField(User, models.PROTECT, related_name="+")
    reference = models.CharField(max_length=64)
    email = models.EmailField()
    lei = models.CharField("LEI", max_length=20, null=True)
    created_at = models.DateTimeField(db_default=Now())

    objects = ApplicantQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["email"],
                opclasses=["varchar_pattern_ops"],
                name="applicant_email_prefix",
            ),
            models.Index(
                fields=["lei"], condition=Q(lei__isnull=False), name="applicant_lei"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "reference"], name="reference_is_unique_per_partner"
            ),
            check("reference_is_short", Q(reference__regex=REFERENCE)),
            check("applicant_email_is_lower_case", Q(email=Lower("email"))),
            check(
                "applicant_lei_follows_iso_17442",
                Q(lei__isnull=True) | Q(LEIIsValid("lei")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reference} of {self.partner_id}"

    def known_users(self) -> models.QuerySet[User]:
        """Other users who have this email or LEI; two at most."""
        same = Q(email=self.email)
        if self.lei:
            same |= Q(lei=self.lei)
        return User.objects.filter(same).exclude(pk=self.user_id).order_by("pk")

    def join(self, user: User) -> None:
        """Give the account to an existing user with the same email or LEI.

        Raises:
            NotJoined: the account is not PENDING, or was joined before; the user has
                neither this email nor this LEI, or has an account with the partner.
        """
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(JOIN, [self.pk, user.pk])
        except IntegrityError as error:
            if constraint_of(error) == "one_open_account_per_partner_and_user":
                raise NotJoined(
                    f"{user} already has an account with this partner. Reject this one."
                ) from None
            raise NotJoined(str(error).splitlines()[0]) from None


STATE = "SELECT accounts_state_client(%s, %s, %s, %s)"
JOIN = "SELECT accounts_join(%s, %s)"
