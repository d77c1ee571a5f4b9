"""A user's account with a partner: its status, and every change of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import uuid_utils.compat as uuid
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from accounts.access import OF_ACCOUNTS, Caller
from accounts.keys.models import Partner
from accounts.people.followers import change_and_follow
from accounts.people.models import User
from partnerapi.core.constraints import check
from partnerapi.core.database import constraint_of, rows_of
from partnerapi.core.errors import PartnerAPIError
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH
from partnerapi.core.locks import lock


class InvalidStatusTransition(PartnerAPIError):
    """The account cannot take this status, or this caller may not set it.

    `allowedStatuses` lists those that the caller may set.
    """

    code = "INVALID_STATUS_TRANSITION"
    example = "`status: PENDING` for an account that is ACTIVE"
    remedy = "Choose one of `allowedStatuses`, if any."


class AccountNotActive(PartnerAPIError):
    """The account is not ACTIVE; see `status`."""

    code = "ACCOUNT_NOT_ACTIVE"
    example = "a withdrawal from an account that is SUSPENDED"
    remedy = "Wait for staff, or reactivate the account if you suspended it."


class AccountNotEmpty(PartnerAPIError):
    """The account has cash and cannot be CLOSED."""

    code = "ACCOUNT_NOT_EMPTY"
    example = "`status: CLOSED` for an account with cash"
    remedy = "Withdraw the cash first, and wait until the withdrawal is PAID."


class AccountStatus(models.TextChoices):
    PENDING = "PENDING", "Pending"
    ACTIVE = "ACTIVE", "Active"
    SUSPENDED = "SUSPENDED", "Suspended"
    CLOSED = "CLOSED", "Closed"
    REJECTED = "REJECTED", "Rejected"


class Right(models.TextChoices):
    """The right to make a move: partner, staff, or staff with a second person."""

    PARTNER = "PARTNER", "Partner"
    STAFF = "STAFF", "Staff"
    STAFF_APPROVED = "STAFF_APPROVED", "Staff with a second person"


TRANSITIONS: dict[tuple[AccountStatus, AccountStatus], set[Right]] = {
    (AccountStatus.PENDING, AccountStatus.ACTIVE): {Right.STAFF},
    (AccountStatus.PENDING, AccountStatus.REJECTED): {Right.STAFF},
    (AccountStatus.ACTIVE, AccountStatus.SUSPENDED): {Right.PARTNER, Right.STAFF},
    (AccountStatus.SUSPENDED, AccountStatus.ACTIVE): {Right.PARTNER, Right.STAFF},
    (AccountStatus.ACTIVE, AccountStatus.CLOSED): {Right.PARTNER, Right.STAFF_APPROVED},
    (AccountStatus.SUSPENDED, AccountStatus.CLOSED): {
        Right.PARTNER,
        Right.STAFF_APPROVED,
    },
}
"""Every move that exists, and who may make it. CLOSED and REJECTED are final."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The author of a change: a partner, by login, or staff, by e-mail address.

    `approved_by` is the second member of staff, if one has approved the change.
    """

    name: str
    is_staff: bool
    approved_by: str = ""

    @property
    def rights(self) -> set[Right]:
        if not self.is_staff:
            return {Right.PARTNER}
        return (
            {Right.STAFF, Right.STAFF_APPROVED} if self.approved_by else {Right.STAFF}
        )


def allowed_statuses(status: str, rights: set[Right]) -> list[AccountStatus]:
    """The statuses to which these rights allow an account to move from this one."""
    return [
        target
        for (source, target), required in TRANSITIONS.items()
        if source == status and required & rights
    ]


DIGITS = (
    "left(encode(sha256(('Account|' || {id}::text)::bytea), 'hex'), 8) COLLATE \"C\""
)
"""The first 8 hexadecimal digits of the SHA-256 of an account's id in the API, in SQL.
"""


class Digits(models.Func):
    template = f"({DIGITS.format(id='%(expressions)s')})"
    output_field = models.TextField()


class AccountQuerySet(models.QuerySet["Account"]):
    def visible_to(self, caller: Caller | None) -> "AccountQuerySet":
        """The caller's own accounts, given a scope that opens them."""
        if caller is None or caller.scopes.isdisjoint(OF_ACCOUNTS):
            return self.none()
        return self.of_partner(caller)

    def of_partner(self, caller: Caller) -> "AccountQuerySet":
        return self.filter(partner_id=caller.partner_id)

    def not_ended(self) -> "AccountQuerySet":
        """A partner has at most one of these for a user."""
        return self.exclude(status__in=[AccountStatus.CLOSED, AccountStatus.REJECTED])

    def open(
        self, partner: Partner, user: User, actor: Actor, at: datetime
    ) -> "Account":
        """Create a PENDING account with the first entry of its history."""
        account = Account(partner=partner, user=user)
        opening = account.entry(AccountStatus.PENDING, actor, None)
        opening.created_at = at
        [account] = self.write([opening])
        account.partner, account.user = partner, user
        return account

    def write(self, entries: Sequence["AccountStatusChange"]) -> list["Account"]:
        """Enter changes in histories, in their order; return the accounts as they are.

        The entry that is PENDING opens its account. The database numbers the entries,
        and one without `created_at` gets the time of its clock.

        Raises:
            IntegrityError: a rule of accounts_write refuses one.
        """
        rows = [
            (
                entry.pk,
                entry.account_id,
                entry.account.partner_id,
                entry.account.user_id,
                entry.status,
                entry.reason,
                entry.actor,
                entry.is_staff,
                entry.approved_by,
                entry.created_at if isinstance(entry.created_at, datetime) else None,
            )
            for entry in entries
        ]
        return list(self.raw(WRITE, [[*column] for column in zip(*rows, strict=True)]))


class Account(models.Model):
    Status = AccountStatus

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="accounts", db_index=False
    )
    user = models.ForeignKey(User, models.PROTECT, related_name="accounts")
    status = models.CharField(
        max_length=9,
        choices=AccountStatus,
        default=AccountStatus.PENDING,
        editable=False,
    )
    status_reason = models.CharField(
        max_length=REASON_LENGTH,
        null=True,
        blank=True,
        editable=False,
        help_text="Reason given with the last change of status.",
    )
    changes = models.PositiveIntegerField(
        default=0, editable=False, help_text="Entries of the status history."
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    updated_at = models.DateTimeField(db_default=Now(), editable=False)
    recorded_at = models.DateTimeField(
        db_default=Now(),
        editable=False,
        help_text="When the row was last written, by the database's clock.",
    )

    objects = AccountQuerySet.as_manager()

    class Meta:
        constraints = [
            check("account_status_is_known", Q(status__in=AccountStatus.values)),
            models.UniqueConstraint(
                fields=["partner", "user"],
                condition=~Q(status__in=["CLOSED", "REJECTED"]),
                name="one_open_account_per_partner_and_user",
            ),
        ]
        indexes = [
            models.Index(
                fields=["partner", "created_at", "id"], name="account_list_order"
            ),
            models.Index(
                fields=["partner", "status", "created_at", "id"],
                name="account_list_by_status",
            ),
            models.Index(fields=["partner", "recorded_at"], name="account_recorded"),
            models.Index("partner", Digits("id"), name="account_by_digits"),
        ]

    def __str__(self):
        return f"{self.user} at {self.partner}"

    def change_status(
        self, status: str, actor: Actor, reason: str | None
    ) -> AccountStatus:
        """Move the account and record the move; return the status before.

        The status of the locked row decides, so the later of two concurrent moves sees
        the result of the earlier one. The same status again succeeds and writes
        nothing. The database's clock dates the move once no order of the account can
        trade any more.

        An account that leaves ACTIVE takes its open orders out of the books.

        Raises:
            InvalidStatusTransition: the move does not exist or is not allowed for
                this actor; or the client's email or LEI belongs to another user.
            AccountNotEmpty: the account has cash and cannot be closed.
            LockTimeout: the books stayed locked for too long.
        """

        def hold() -> None:
            [_] = lock(LOCKED, [self.pk])

        def move() -> AccountStatus:
            locked = Account.objects.get(pk=self.pk)
            previous = AccountStatus(locked.status)
            if status != previous:
                locked.check_move(status, actor)
                if status == AccountStatus.CLOSED:
                    check_empty(lock(HELD_CASH, [self.pk]))
                entry = locked.entry(AccountStatus(status), actor, reason)
                Account.objects.write([entry])
            return previous

        try:
            if status in (AccountStatus.SUSPENDED, AccountStatus.CLOSED):
                previous = change_and_follow(
                    [self.user_id], None, "ACCOUNT_NOT_ACTIVE", move, hold
                )
            else:
                with transaction.atomic():
                    hold()
                    previous = move()
        except IntegrityError as error:
            if constraint_of(error) not in KNOWN_BY:
                raise
            raise InvalidStatusTransition(IS_KNOWN, allowedStatuses=[]) from None
        self.refresh_from_db()
        return previous

    def try_status(self, status: str, actor: Actor, reason: str | None) -> None:
        """Make this object what `change_status` would leave; lock and write nothing.

        Raises:
            InvalidStatusTransition, AccountNotEmpty
        """
        if status == self.status:
            return
        self.check_move(status, actor)
        if status == AccountStatus.CLOSED:
            check_empty(rows_of(CASH, [self.pk]))
        self.status, self.status_reason = status, reason
        self.updated_at = max(self.updated_at, timezone.now())

    def check_move(self, status: str, actor: Actor) -> None:
        allowed = allowed_statuses(self.status, actor.rights)
        if status not in allowed:
            raise refused_move(AccountStatus(self.status), status, allowed)

    def entry(
        self, status: AccountStatus, actor: Actor, reason: str | None
    ) -> "AccountStatusChange":
        """The next entry of its history, not written yet."""
        return AccountStatusChange(
            account=self,
            status=status,
            reason=reason,
            actor=actor.name,
            is_staff=actor.is_staff,
            approved_by=actor.approved_by if status == AccountStatus.CLOSED else "",
        )


WRITE = """
    SELECT * FROM accounts_write(%s::uuid[], %s::uuid[], %s::uuid[], %s::uuid[],
        %s::text[], %s::text[], %s::text[], %s::boolean[], %s::text[],
        %s::timestamptz[])
"""
LOCKED = "SELECT * FROM accounts_lock(%s)"
HELD_CASH = """
    SELECT h.balance FROM accounts_cashaccount c, accounts_hold_cash(ARRAY[c.id]) h
    WHERE c.account_id = %s
"""
CASH = """
    SELECT h.balance FROM accounts_cashaccount c
    JOIN accounts_cashhead h ON h.cash_account_id = c.id WHERE c.account_id = %s
"""
KNOWN_BY = ("accounts_user_email_key", "accounts_user_lei_key")
IS_KNOWN = (
    "Another user has the client's email or LEI. Assign the account to that user, or "
    "reject it."
)


def check_empty(found: Sequence[tuple[int]]) -> None:
    [(cents,)] = found
    if cents:
        raise AccountNotEmpty(
            "The account has cash and cannot be CLOSED. Withdraw the cash first."
        )


def refused_move(
    previous: AccountStatus, status: str, allowed: list[AccountStatus]
) -> InvalidStatusTransition:
    listed = " or ".join(allowed) or (
        "none: the status is final, or you do not have the right to change it"
    )
    return InvalidStatusTransition(
        f"The account is {previous}. You cannot set {status}; allowed: {listed}.",
        allowedStatuses=allowed,
    )


class AccountStatusChange(models.Model):
    """An entry of an account's history; entries are numbered from 1 without gaps."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    account = models.ForeignKey(
        Account, models.PROTECT, related_name="history", db_index=False
    )
    number = models.PositiveIntegerField()
    previous_status = models.CharField(max_length=9, choices=AccountStatus, null=True)
    status = models.CharField(max_length=9, choices=AccountStatus)
    reason = models.CharField(
        max_length=REASON_LENGTH,
        null=True,
        blank=True,
        help_text="Reason given by the caller.",
    )
    actor = models.CharField(
        max_length=ACTOR_LENGTH,
        help_text="A partner's login, or a member of staff's e-mail.",
    )
    is_staff = models.BooleanField()
    approved_by = models.CharField(
        max_length=ACTOR_LENGTH,
        blank=True,
        help_text="The second person, where one is needed.",
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering = ["account", "number"]
        # For the log.
        indexes = [models.Index(fields=["recorded_at"], name="status_change_recorded")]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "number"], name="status_changes_are_numbered"
            ),
            check(
                "status_change_is_a_known_move",
                Q(previous_status__isnull=True, status="PENDING", number=1)
                | Q(
                    *(
                        Q(previous_status=source, status=target, number__gt=1)
                        for source, target in TRANSITIONS
                    ),
                    _connector=Q.OR,
                ),
            ),
        ]

    def __str__(self):
        return f"{self.previous_status or 'opened'} → {self.status}"
