"""Accounts: to read them, and to change their status."""

import graphene

from accounts.access import OF_ACCOUNTS, Scope, check_scope, requires
from accounts.accounts import models
from accounts.accounts.filters import AccountFilter
from accounts.people import models as people
from accounts.people.schema import User
from accounts.totals import Listed, totals
from partnerapi.core.errors import BadUserInput, NotFound, RequestTimeout
from partnerapi.core.filters import narrow
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.core.lock_waits import LockTimeout, name_locked_row
from partnerapi.graphql.cost import MUTATION, Field
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
    enumeration,
    key_of,
)
from partnerapi.graphql.resolvers import check_first, needs
from partnerapi.graphql.scalars import Time
from partnerapi.graphql.statements import OrderedList, OrderKey
from partnerapi.graphql.trials import would_be

ACCOUNTS = OrderedList(
    "accounts",
    "Account",
    models.Account,
    (OrderKey("accounts_account.created_at", "timestamptz"),),
)
STATUS_HISTORY = OrderedList(
    "statusHistory",
    "AccountStatusChange",
    models.AccountStatusChange,
    (OrderKey("accounts_accountstatuschange.number", "bigint"),),
    parent="account_id",
)
NEEDS_ONE = f"Needs one of the scopes {', '.join(f'`{each}`' for each in OF_ACCOUNTS)}."

Status = models.Account.Status
AccountStatus = enumeration(
    Status,
    "AccountStatus",
    "Status of an account.",
    {
        Status.PENDING: "Opened, not yet reviewed by staff.",
        Status.ACTIVE: "May trade.",
        Status.SUSPENDED: "May not trade until it is ACTIVE again.",
        Status.CLOSED: "Closed permanently.",
        Status.REJECTED: "Rejected by staff permanently.",
    },
)


class AccountStatusChange(ModelType):
    """An entry of an account's history."""

    class Meta:
        model = models.AccountStatusChange
        fields = ["reason"]

    id = graphene.ID(required=True, description="Identifier of the entry.")
    previous_status = AccountStatus(
        description="Previous status; null for the opening."
    )
    status = AccountStatus(required=True, description="New status.")
    actor = graphene.String(
        required=True,
        description="Login of the integration account that made the change, or "
        "`staff`.",
    )
    created_at = Time(required=True, description="When the status changed.")

    @needs("actor", "is_staff")
    def resolve_actor(changes, info):
        return ["staff" if c.is_staff else c.actor for c in changes]


class AccountStatusChangeConnection(Connection):
    class Meta:
        node = AccountStatusChange


class Account(ModelType):
    """A client's account with the partner whose key is used."""

    class Meta:
        model = models.Account
        fields = ["status_reason"]
        interfaces = [Node]

    status = AccountStatus(required=True, description="Status of the account.")
    created_at = Time(required=True, description="When the account was opened.")
    updated_at = Time(required=True, description="When its status last changed.")
    allowed_statuses = graphene.List(
        graphene.NonNull(AccountStatus),
        required=True,
        description="The statuses that you can set now with `updateAccountStatus`.",
    )
    user = graphene.Field(
        User,
        required=True,
        description="The client who owns the account. Needs the scope `accounts:read`, "
        "also in the response to `updateAccountStatus`.",
    )
    status_history = connection_field(
        AccountStatusChangeConnection,
        "Every change of the status, oldest first; the opening is the first. Needs "
        "the scope `accounts:read`, also in the response to `updateAccountStatus`.",
    )

    @needs("status")
    def resolve_allowed_statuses(accounts, info):
        rights = {models.Right.PARTNER}
        return [models.allowed_statuses(a.status, rights) for a in accounts]

    @requires(Scope.ACCOUNTS_READ)
    @needs("user_id")
    def resolve_user(accounts, info):
        users = people.User.objects.all()
        return read_rows("User", info, users, [a.user_id for a in accounts])

    @requires(Scope.ACCOUNTS_READ)
    def resolve_status_history(accounts, info, **page):
        changes = models.AccountStatusChange.objects.all()
        ids = [account.id for account in accounts]
        return read_pages(STATUS_HISTORY, info, changes, ids, **page)


class AccountConnection(Connection):
    class Meta:
        node = Account


class Query(graphene.ObjectType):
    account = graphene.Field(
        Account,
        id=graphene.String(required=True, description="The account's id."),
        description="One of your accounts; null if you have none with this id. "
        + NEEDS_ONE,
    )
    accounts = connection_field(
        AccountConnection,
        f"Your accounts, oldest first. {NEEDS_ONE}",
        user_id=graphene.ID(
            name="userID",
            description="Only accounts of this user. Needs the scope `accounts:read`.",
        ),
        status=AccountStatus(description="Only accounts with this status."),
        created_after=Time(description="Only accounts opened after this instant."),
        updated_since=Time(
            description="Only accounts whose opening or last change of status was "
            "recorded at or after this instant; `updatedAt` is earlier if "
            "the change was recorded after it took effect. Pass the "
            "`viewer.settledAt` that you read before your last pass: you "
            "miss nothing, and may see an account twice."
        ),
    )

    @requires(*OF_ACCOUNTS)
    def resolve_account(roots, info, id):
        accounts = models.Account.objects.visible_to(info.context.caller)
        return read_rows("Account", info, accounts, [key_of(id, "Account")])

    @requires(*OF_ACCOUNTS)
    def resolve_accounts(
        roots,
        info,
        user_id=None,
        status=None,
        created_after=None,
        updated_since=None,
        **page,
    ):
        caller = info.context.caller
        if user_id is not None:
            check_scope(caller, Scope.ACCOUNTS_READ)
        accounts = models.Account.objects.visible_to(caller)
        is_whole = (user_id, status, created_after, updated_since) == (None,) * 4
        known = totals(Listed.ACCOUNTS, [caller.partner_id]) if is_whole else None
        user = key_of(user_id, "User")
        if user_id is not None and user is None:
            accounts = accounts.none()
        accounts = narrow(
            AccountFilter,
            accounts,
            caller,
            user_id=user,
            status=status,
            created_after=created_after,
            updated_since=updated_since,
        )
        return read_pages(ACCOUNTS, info, accounts, known=known, **page)


class UpdateAccountStatusInput(graphene.InputObjectType):
    """The account, the new status and the reason."""

    account_id = graphene.ID(
        name="accountID", required=True, description="The account's id."
    )
    status = AccountStatus(
        required=True,
        description="The new status: one of the account's `allowedStatuses`. Setting "
        "the current status succeeds and changes nothing.",
    )
    reason = graphene.String(
        description=f"Why, for the history; at most {REASON_LENGTH} characters."
    )


class UpdateAccountStatusPayload(graphene.ObjectType):
    """The account after the change."""

    account = graphene.Field(
        Account, required=True, description="The account after the change."
    )
    previous_status = AccountStatus(required=True, description="Its previous status.")
    changed_at = Time(required=True, description="When it took its current status.")

    @needs("account_id")
    def resolve_account(payloads, info):
        accounts = models.Account.objects.of_partner(info.context.caller)
        return read_rows("Account", info, accounts, [p.account_id for p in payloads])


class Change:
    """The result of updateAccountStatus; the account is read only where selected."""

    def __init__(self, account, previous_status):
        self.account_id = str(account.id)
        self.previous_status = previous_status
        self.changed_at = account.updated_at


def check_update(context, input):
    """Refuse what can never succeed before the idempotency key is claimed."""
    check_scope(context.caller, Scope.ACCOUNTS_WRITE)
    reason = input.get("reason")
    if reason and len(reason) > REASON_LENGTH:
        raise BadUserInput(
            f"`reason` has {len(reason)} characters; the maximum is {REASON_LENGTH}.",
            argument="input.reason",
            maximum=REASON_LENGTH,
        )
    if reason and "\0" in reason:
        raise BadUserInput(
            "`reason` contains a NUL character; send plain text.",
            argument="input.reason",
        )


def own_account(caller, text):
    """An account of the caller's, as it is.

    Raises:
        NotFound
    """
    key = key_of(text, "Account")
    account = models.Account.objects.of_partner(caller).filter(pk=key).first()
    if account is None:
        raise NotFound("You have no account with this id.", argument="input.accountID")
    return account


class Mutation(graphene.ObjectType):
    update_account_status = Field(
        UpdateAccountStatusPayload,
        cost=MUTATION,
        input=UpdateAccountStatusInput(
            required=True, description="The account, the new status and the reason."
        ),
        description="Change the status of one of your accounts. Needs the scope "
        "`accounts:write`; the account's `user` and `statusHistory` also need "
        "`accounts:read`: selecting them without it refuses the mutation, and "
        "nothing changes. A status that the account cannot take is "
        "INVALID_STATUS_TRANSITION with `allowedStatuses`.",
    )

    @check_first(check_update)
    def resolve_update_account_status(roots, info, input):
        caller = info.context.caller
        account = own_account(caller, input["account_id"])
        actor = models.Actor(caller.login, is_staff=False)
        trial = info.context.trial
        if trial is not None:
            previous = account.status
            account.try_status(input["status"], actor, input.get("reason"))
            would_be(trial, "Account", account)
            return [Change(account, previous)]
        try:
            with name_locked_row():
                previous = account.change_status(
                    input["status"], actor, input.get("reason")
                )
        except LockTimeout as error:
            raise RequestTimeout(
                "Another change of this account is still running. Nothing was "
                "changed; retry the request."
            ) from error
        return [Change(account, previous)]


NODES = {"Account": models.Account.objects.visible_to}
"""By type, the rows that a caller may read by id."""
