"""An account's cash: balance, movements and withdrawals."""

import re
from dataclasses import dataclass

import graphene

from accounts.access import Scope, check_scope, requires
from accounts.accounts.schema import own_account
from accounts.applicants.models import REFERENCE
from accounts.cash import models
from accounts.cash.withdrawals import request_withdrawal, try_withdrawal
from accounts.payments.iban import WrongIban, checked_iban, sepa_name
from accounts.payments.models import Payee as PayeeRow
from partnerapi.core.errors import BadUserInput, RequestTimeout
from partnerapi.core.lock_waits import LockTimeout, name_locked_row
from partnerapi.graphql.cost import FOUND, MUTATION, Field
from partnerapi.graphql.pages import Page, read_pages, read_rows
from partnerapi.graphql.relay import (
    Connection,
    connection_field,
    enumeration,
)
from partnerapi.graphql.resolvers import check_first, column, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey
from partnerapi.graphql.trials import would_be

ENTRIES = OrderedList(
    "cashEntries",
    "CashEntry",
    models.CashPosting,
    (OrderKey("accounts_cashposting.number", "bigint"),),
    descending=True,
    unique=True,
    parent="cash_account_id",
    identity="cash_account_id",
    # A writer locks the head until its transaction ends: a number is visible only
    # when all lower ones are. So the head has the total.
    count="SELECT h.last_number FROM accounts_cashhead h"
    " WHERE h.cash_account_id = p.key",
)
WITHDRAWALS = OrderedList(
    "withdrawals",
    "Withdrawal",
    models.Withdrawal,
    (OrderKey("accounts_withdrawal.created_at", "timestamptz"),),
    descending=True,
    parent="cash_account_id",
)

Kind = models.CashTransaction.Kind
CashEntryKind = enumeration(
    Kind,
    "CashEntryKind",
    "Why an account's cash changed.",
    {
        Kind.DEPOSIT: "Money was received from the client.",
        Kind.WITHDRAWAL: "Money was paid to the client.",
        Kind.TRADE: "Units were bought or sold.",
        Kind.FEE: "The fee of a trade was paid; or, positive, came back after a bust.",
        Kind.OFFERING: "Units of an offering were allotted to the client, and paid.",
        Kind.REVERSAL: "An earlier entry is reversed.",
    },
)
Status = models.Withdrawal.Status
WithdrawalStatus = enumeration(
    Status,
    "WithdrawalStatus",
    "Status of a withdrawal.",
    {
        Status.REQUESTED: "Requested and reserved; awaiting approval by staff.",
        Status.APPROVED: "Approved and reserved; awaiting payment by the bank.",
        Status.PAID: "Paid, as confirmed by the bank. Final.",
        Status.REFUSED: "Refused by staff; the cash is released. Final.",
        Status.CANCELLED: "Approved, but not paid; the cash is released. Final.",
    },
)


@dataclass(frozen=True, slots=True)
class Cash:
    balance: int
    reserved: int
    deposit_reference: str
    entries: int
    digest: str | None

    @property
    def available(self) -> int:
        return self.balance - self.reserved


NOT_OPENED = Cash(0, 0, "", 0, None)
"""The cash of an account that a dry run would open."""
NO_CASH_ACCOUNT = "0"


class CashBalance(graphene.ObjectType):
    """An account's cash, in euro cents."""

    balance = Uint64(required=True, description="All cash of the account, euro cents.")
    reserved = Uint64(
        required=True,
        description="Cash reserved by open orders, withdrawals and subscriptions, euro "
        "cents.",
    )
    available = Uint64(
        required=True,
        description="Cash available: `balance` minus `reserved`, euro cents.",
    )
    deposit_reference = graphene.String(
        required=True,
        description="Reference (ISO 11649) that the client puts into a transfer to the "
        "platform's bank account, so that the money is credited to them. It "
        "never changes; a dry run of `openAccount` has none yet.",
    )
    entries = Uint64(required=True, description="Number of the last entry.")
    digest = graphene.String(
        description="Head of the SHA-256 chain of the entries, after the last of them, "
        "in hexadecimal digits. Anyone computes it from `cashEntries`. Null while the "
        "chain of older entries is not computed."
    )


class CashEntry(graphene.ObjectType):
    """A change of an account's cash. An entry is never altered."""

    id = graphene.ID(
        required=True,
        description="Identifier of the entry: its account's UUID and its number. "
        "`node` does not accept it.",
    )
    kind = CashEntryKind(
        required=True, resolver=column("transaction__kind"), description="Why."
    )
    amount = graphene.Int(
        required=True,
        resolver=column("delta"),
        description="Euro cents; negative if money left the account.",
    )
    balance_after = Uint64(
        required=True, description="The account's cash after the entry, euro cents."
    )
    reference = graphene.String(
        description=(
            "For a DEPOSIT, the bank's reference of the transfer; for a WITHDRAWAL, "
            "your reference; otherwise null."
        )
    )
    at = Time(required=True, resolver=column("transaction__at"), description="When.")
    number = Uint64(
        required=True, description="Number of the entry, from 1 without gaps."
    )
    line_version = graphene.Int(
        required=True,
        description="Version of its line in the chain of the account's cash.",
    )
    private_digest = graphene.String(
        description="SHA-256 of the salt and of what only the platform reads of the "
        "entry, in hexadecimal digits; null if it is older than the chains."
    )

    def resolve_line_version(entries, info):
        return [2] * len(entries)

    @needs("private_digest")
    def resolve_private_digest(entries, info):
        return [
            entry.private_digest and entry.private_digest.hex() for entry in entries
        ]

    @needs("cash_account__account_id", "number")
    def resolve_id(entries, info):
        return [f"CashEntry|{e.cash_account__account_id}.{e.number}" for e in entries]

    @needs(
        "transaction__reference",
        "transaction__assigns__reference",
        "transaction__withdrawal__reference",
    )
    def resolve_reference(entries, info):
        return [
            entry.transaction__withdrawal__reference
            or entry.transaction__assigns__reference
            or entry.transaction__reference
            for entry in entries
        ]


class CashEntryConnection(Connection):
    class Meta:
        node = CashEntry


class Payee(graphene.ObjectType):
    """The bank account that a withdrawal pays."""

    name = graphene.String(
        required=True,
        description="Name of the account's owner, in the letters of a SEPA payment.",
    )
    iban = graphene.String(required=True, description="IBAN, without spaces.")


class Withdrawal(graphene.ObjectType):
    """A payment to a client; the cash is reserved until it is paid or the withdrawal
    ends.
    """

    id = graphene.ID(
        required=True,
        description="Identifier of the withdrawal. `node` does not accept it.",
    )
    amount = Uint64(required=True, description="Euro cents.")
    reference = graphene.String(
        required=True, description="Your reference, set when you requested it."
    )
    status = WithdrawalStatus(required=True, description="Status.")
    status_reason = graphene.String(
        description="Reason given by staff if it was refused or cancelled; otherwise "
        "null."
    )
    at = Time(
        required=True,
        resolver=column("created_at"),
        description="When it was requested.",
    )
    payee = Field(
        Payee,
        cost=FOUND,
        description="The bank account that it pays; null if you stated none.",
    )

    @needs("id")
    def resolve_payee(withdrawals, info):
        keys = [withdrawal.id for withdrawal in withdrawals]
        found = {str(row.pk): row for row in PayeeRow.objects.filter(pk__in=keys)}
        for (name, id), row in (info.context.trial or {}).items():
            if name == "Payee":
                found[id] = row
        return [found.get(str(key)) for key in keys]

    @needs("id")
    def resolve_id(withdrawals, info):
        return [f"Withdrawal|{withdrawal.id}" for withdrawal in withdrawals]

    @needs("status_reason")
    def resolve_status_reason(withdrawals, info):
        return [withdrawal.status_reason or None for withdrawal in withdrawals]


class WithdrawalConnection(Connection):
    class Meta:
        node = Withdrawal


@requires(Scope.CASH_READ)
def resolve_cash(accounts, info):
    heads = models.CashHead.objects.filter(
        cash_account__account__in=[account.id for account in accounts]
    ).values_list(
        "cash_account__account_id",
        "balance",
        "reserved",
        "cash_account__deposit_reference",
        "last_number",
        "entry_digest",
    )
    found = {
        str(account): Cash(*values, digest and digest.hex())
        for account, *values, digest in heads
    }
    return [found.get(account.id, NOT_OPENED) for account in accounts]


@requires(Scope.CASH_READ)
def resolve_cash_entries(accounts, info, **page):
    return pages_of(ENTRIES, accounts, info, page)


@requires(Scope.CASH_READ)
def resolve_withdrawals(accounts, info, **page):
    return pages_of(WITHDRAWALS, accounts, info, page)


def pages_of(of, accounts, info, page) -> list[Page]:
    cash = models.CashAccount.objects.filter(
        account__in=[account.id for account in accounts]
    ).values_list("account_id", "pk")
    ids = {str(account): str(id) for account, id in cash}
    rows = of.model.objects.all()
    parents = [ids.get(account.id, NO_CASH_ACCOUNT) for account in accounts]
    return read_pages(of, info, rows, parents, **page)


NEEDS_CASH_READ = "Needs the scope `cash:read`."
CASH = Field(
    CashBalance,
    required=True,
    cost=FOUND,
    resolver=resolve_cash,
    description=f"Cash of the account. {NEEDS_CASH_READ}",
)
CASH_ENTRIES = connection_field(
    CashEntryConnection,
    f"Every change of the account's cash, newest first. {NEEDS_CASH_READ}",
    resolver=resolve_cash_entries,
)
ACCOUNT_WITHDRAWALS = connection_field(
    WithdrawalConnection,
    f"Withdrawals from the account, newest first. {NEEDS_CASH_READ}",
    resolver=resolve_withdrawals,
)


class PayeeInput(graphene.InputObjectType):
    """The bank account that a withdrawal pays."""

    name = graphene.String(
        required=True,
        description="Name of the account's owner: 1 to 70 Latin letters, digits, "
        "spaces and `/ - ? : ( ) . , ' +`. Accents are dropped, as SEPA requires.",
    )
    iban = graphene.String(
        required=True,
        description="IBAN (ISO 13616), with or without spaces. Its check digits are "
        "verified.",
    )


class RequestWithdrawalInput(graphene.InputObjectType):
    """The account, the amount and your reference."""

    account_id = graphene.ID(
        name="accountID", required=True, description="The account's id."
    )
    amount = Uint64(required=True, description="Euro cents, at least 1.")
    reference = graphene.String(
        required=True,
        description="Your reference for the withdrawal: 1 to 64 letters, digits, `.`, "
        "`_`, `:` and `-`. It can never be reused for the account.",
    )
    payee = PayeeInput(
        description="The bank account to pay. Without it, staff ask you for the "
        "account, which delays the payment."
    )


class RequestWithdrawalPayload(graphene.ObjectType):
    """The withdrawal that was requested."""

    withdrawal = graphene.Field(
        Withdrawal, required=True, description="The withdrawal; it is REQUESTED."
    )

    @needs("withdrawal_id")
    def resolve_withdrawal(payloads, info):
        ids = [payload.withdrawal_id for payload in payloads]
        return read_rows("Withdrawal", info, models.Withdrawal.objects.all(), ids)


@dataclass(frozen=True, slots=True)
class Requested:
    """The result of requestWithdrawal, which is read only where selected."""

    withdrawal_id: str


def check_request(context, input):
    """Refuse what can never succeed before the idempotency key is claimed."""
    check_scope(context.caller, Scope.CASH_WRITE)
    if not input:
        return
    if not input["amount"]:
        raise BadUserInput(
            "`amount` is 0; withdraw at least 1 cent.",
            argument="input.amount",
            minimum=1,
        )
    if not re.fullmatch(REFERENCE, input["reference"]):
        raise BadUserInput(
            "`reference` needs 1 to 64 letters, digits, `.`, `_`, `:` and `-`.",
            argument="input.reference",
        )
    if input.get("payee"):
        payee_of(input["payee"])


def payee_of(payee) -> tuple[str, str]:
    """The name and the IBAN as the bank gets them.

    Raises:
        BadUserInput
    """
    name = sepa_name(payee["name"])
    if not name:
        raise BadUserInput(
            "`name` needs 1 to 70 Latin letters, digits, spaces and `/ - ? : ( ) . , "
            "' +`.",
            argument="input.payee.name",
        )
    try:
        return name, checked_iban(payee["iban"])
    except WrongIban as error:
        raise BadUserInput(
            f"The IBAN is not valid: {error}.", argument="input.payee.iban"
        ) from None


class Mutation(graphene.ObjectType):
    request_withdrawal = Field(
        RequestWithdrawalPayload,
        cost=MUTATION,
        input=RequestWithdrawalInput(
            required=True, description="The account, the amount and your reference."
        ),
        description="Request a payment from one of your accounts to its client. The "
        "cash is reserved immediately; staff approve or refuse the payment, "
        "and it is PAID when the bank confirms it. More than "
        "`cash.available` is INSUFFICIENT_FUNDS with `available` and "
        "`required`; an account that is not ACTIVE is ACCOUNT_NOT_ACTIVE "
        "with `status`; a `reference` already used for the account is "
        "DUPLICATE_REFERENCE with `withdrawalID`. Needs the scope "
        "`cash:write`.",
    )

    @check_first(check_request)
    def resolve_request_withdrawal(roots, info, input):
        caller = info.context.caller
        account = own_account(caller, input["account_id"])
        payee = payee_of(input["payee"]) if input.get("payee") else None
        trial = info.context.trial
        if trial is not None:
            tried = try_withdrawal(account, input["amount"], input["reference"])
            would_be(trial, "Withdrawal", tried)
            if payee:
                name, iban = payee
                row = PayeeRow(withdrawal=tried, name=name, iban=iban)
                would_be(trial, "Payee", row)
            return [Requested(str(tried.pk))]
        try:
            with name_locked_row():
                withdrawal = request_withdrawal(
                    account,
                    input["amount"],
                    input["reference"],
                    caller.login,
                    payee,
                )
        except LockTimeout as error:
            raise RequestTimeout(
                "Another change of this account's cash is still running. "
                "Nothing was changed; retry the request."
            ) from error
        return [Requested(str(withdrawal.pk))]
