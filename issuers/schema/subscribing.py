"""Mutations of subscriptions, and the dry run of one."""

from contextlib import contextmanager
from dataclasses import dataclass

import graphene
from django.utils import timezone

from accounts.access import Scope, check_scope, requires
from accounts.accounts.schema import own_account
from issuers.compliance.errors import refusals_of
from issuers.offerings import models, subscriptions
from issuers.offerings.subscriptions import Terms, limit_of
from issuers.schema.compliance import REFUSALS, TransferRefusal
from issuers.schema.subscriptions import OfferingSubscription
from partnerapi.core.errors import (
    BadUserInput,
    NotFound,
    PartnerAPIError,
    RequestTimeout,
)
from partnerapi.core.lock_waits import LockTimeout, name_locked_row
from partnerapi.graphql.cost import CHECK, MUTATION, OBJECT, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.relay import key_of
from partnerapi.graphql.resolvers import check_first, needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.trials import would_be


class SubscribeInput(graphene.InputObjectType):
    """The offering, the account, and units at a limit."""

    offering_id = graphene.ID(
        name="offeringID", required=True, description="The offering's id."
    )
    account_id = graphene.ID(
        name="accountID", required=True, description="The account's id."
    )
    quantity = Uint64(required=True, description="Units, within the tickets.")
    limit_price = Uint64(
        description="Most that a unit may cost, euro cents. An offering with a book "
        "needs it; otherwise it is the offering's price."
    )


class AmendSubscriptionInput(graphene.InputObjectType):
    """The subscription and its new values."""

    subscription_id = graphene.ID(
        name="subscriptionID", required=True, description="The subscription's id."
    )
    version = graphene.Int(required=True, description="The version that you read last.")
    quantity = Uint64(description="Units; left out, they stay.")
    limit_price = Uint64(description="Limit price, euro cents; left out, it stays.")


class WithdrawSubscriptionInput(graphene.InputObjectType):
    """The subscription to withdraw."""

    subscription_id = graphene.ID(
        name="subscriptionID", required=True, description="The subscription's id."
    )


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of a mutation, which is read only where selected."""

    subscription_id: str


class SubscriptionPayload:
    subscription = Field(
        OfferingSubscription,
        required=True,
        cost=OBJECT,
        description="The subscription as it is now.",
    )

    @needs("subscription_id")
    def resolve_subscription(payloads, info):
        rows = models.Subscription.objects.filter(
            partner_id=info.context.caller.partner_id
        )
        ids = [payload.subscription_id for payload in payloads]
        return read_rows("OfferingSubscription", info, rows, ids)


class SubscribePayload(SubscriptionPayload, graphene.ObjectType):
    """The subscription that was made."""


class AmendSubscriptionPayload(SubscriptionPayload, graphene.ObjectType):
    """The subscription that was amended."""


class WithdrawSubscriptionPayload(SubscriptionPayload, graphene.ObjectType):
    """The subscription that was withdrawn."""


class SubscriptionCheck(graphene.ObjectType):
    """The outcome of a subscription now; nothing is stored."""

    allowed = graphene.Boolean(
        required=True, description="Whether the subscription would be accepted."
    )
    code = graphene.String(
        description="Error code if it would be refused; null if it would be accepted."
    )
    message = graphene.String(description="The reason in words.")
    refusals = Field(
        graphene.List(graphene.NonNull(TransferRefusal)),
        required=True,
        cost=REFUSALS,
        description="For TRANSFER_REFUSED: each rule that refuses it.",
    )
    reserves = Uint64(required=True, description="Euro cents that it would reserve.")
    reflects_until = Time(
        description="Until when it could be withdrawn; null if it would be refused."
    )
    at = Time(required=True, description="The instant.")

    def resolve_allowed(checks, info):
        return [check.refused is None for check in checks]

    def resolve_code(checks, info):
        return [check.refused and check.refused.code for check in checks]

    def resolve_message(checks, info):
        return [check.refused and str(check.refused) for check in checks]

    def resolve_refusals(checks, info):
        return [refusals_of(c.refused) if c.refused else [] for c in checks]


@dataclass(frozen=True, slots=True)
class Checked:
    refused: PartnerAPIError | None
    reserves: int
    reflects_until: object
    at: object


def check_terms(input):
    for name, field in (("quantity", "quantity"), ("limit_price", "limitPrice")):
        if input.get(name) == 0:
            raise BadUserInput(
                f"`{field}` is 0; send 1 or more.", argument=f"input.{field}"
            )
        if (input.get(name) or 0) >= 2**63:
            raise BadUserInput(
                f"`{field}` is too large.", argument=f"input.{field}", maximum=2**63 - 1
            )


def check_subscribe(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)
    if input:
        check_terms(input)


def check_amend(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)
    if not input:
        return
    if input.get("quantity") is None and input.get("limit_price") is None:
        raise BadUserInput(
            "`quantity` and `limitPrice` are both left out; send one of them, or both.",
            argument="input",
        )
    check_terms(input)


def check_withdraw(context, input):
    check_scope(context.caller, Scope.TRADING_WRITE)


def offering_named(caller, text):
    """
    Raises:
        NotFound
    """
    key = key_of(text, "Offering")
    visible = models.Offering.objects.visible_to(caller)
    offering = visible.filter(pk=key).first() if key else None
    if offering is None:
        raise NotFound(
            "There is no offering of this id that you may see.",
            argument="input.offeringID",
        )
    return offering


def own_subscription(caller, text):
    """
    Raises:
        NotFound
    """
    key = key_of(text, "OfferingSubscription")
    own = models.Subscription.objects.filter(partner_id=caller.partner_id)
    subscription = own.filter(pk=key).first() if key else None
    if subscription is None:
        raise NotFound(
            "You have no subscription of this id.", argument="input.subscriptionID"
        )
    return subscription


@contextmanager
def in_time():
    """
    Raises:
        RequestTimeout: another change held the account or its cash for too long.
    """
    try:
        with name_locked_row():
            yield
    except LockTimeout as error:
        raise RequestTimeout(
            "Another change of this account's cash is still running. Nothing was "
            "changed; retry the request."
        ) from error


def changed(info, subscription):
    """The payload of a change, or of the trial of one."""
    trial = info.context.trial
    if trial is not None:
        would_be(trial, "OfferingSubscription", subscription)
    return [Changed(str(subscription.pk))]


def subscribed(caller, input, is_trial):
    offering = offering_named(caller, input["offering_id"])
    account = own_account(caller, input["account_id"])
    terms = Terms(input["quantity"], limit_of(offering, input.get("limit_price")))
    return subscriptions.subscribe(offering, account, terms, caller.login, is_trial)


NEEDS_WRITE = "Needs the scope `trading:write`."


class Mutation(graphene.ObjectType):
    subscribe = Field(
        SubscribePayload,
        cost=MUTATION,
        input=SubscribeInput(
            required=True, description="The offering, the account and the units."
        ),
        description="Subscribe one of your accounts to an offering. `quantity` times "
        "`limitPrice` is reserved at once. If it is refused, with OFFERING_NOT_OPEN, "
        "ALREADY_SUBSCRIBED, ACCOUNT_NOT_ACTIVE, TICKET_SIZE, PRICE_OUTSIDE_BAND, "
        "TRANSFER_REFUSED, INSUFFICIENT_FUNDS or UNAVAILABLE, it does not exist. "
        f"{NEEDS_WRITE}",
    )
    amend_subscription = Field(
        AmendSubscriptionPayload,
        cost=MUTATION,
        input=AmendSubscriptionInput(
            required=True, description="The subscription and its new values."
        ),
        description="Change the units or the limit price of an ACTIVE subscription "
        "while its offering is open. More units or a higher limit get a new place in "
        "time and a new reflection period; less is possible inside the period alone, "
        "then REFLECTION_PERIOD_ENDED. Another version is SUBSCRIPTION_CHANGED with "
        "`version`, one that has ended SUBSCRIPTION_NOT_ACTIVE; all else is refused "
        f"as by `subscribe`, and it stays as it was. {NEEDS_WRITE}",
    )
    withdraw_subscription = Field(
        WithdrawSubscriptionPayload,
        cost=MUTATION,
        input=WithdrawSubscriptionInput(
            required=True, description="The subscription to withdraw."
        ),
        description="Withdraw an ACTIVE subscription before `reflectsUntil`, and free "
        "its cash; later it is REFLECTION_PERIOD_ENDED, and one that has ended is "
        f"SUBSCRIPTION_NOT_ACTIVE. {NEEDS_WRITE}",
    )

    @check_first(check_subscribe)
    def resolve_subscribe(roots, info, input):
        is_trial = info.context.trial is not None
        with in_time():
            made = subscribed(info.context.caller, input, is_trial)
        return changed(info, made)

    @check_first(check_amend)
    def resolve_amend_subscription(roots, info, input):
        caller = info.context.caller
        subscription = own_subscription(caller, input["subscription_id"])
        with in_time():
            amended = subscriptions.amend(
                subscription,
                input["version"],
                input.get("quantity"),
                input.get("limit_price"),
                caller.login,
                info.context.trial is not None,
            )
        return changed(info, amended)

    @check_first(check_withdraw)
    def resolve_withdraw_subscription(roots, info, input):
        caller = info.context.caller
        subscription = own_subscription(caller, input["subscription_id"])
        with in_time():
            ended = subscriptions.withdraw(
                subscription, caller.login, info.context.trial is not None
            )
        return changed(info, ended)


class Query(graphene.ObjectType):
    check_subscription = Field(
        SubscriptionCheck,
        required=True,
        cost=CHECK,
        input=SubscribeInput(
            required=True, description="The subscription that would be made."
        ),
        description="A dry run of `subscribe`: the same verdict and codes. Nothing is "
        "stored or reserved. An invalid subscription, or one that names an object "
        "that is not yours, is an error here too. Needs the scope `trading:read`.",
    )

    @requires(Scope.TRADING_READ)
    def resolve_check_subscription(roots, info, input):
        check_terms(input)
        try:
            tried = subscribed(info.context.caller, input, is_trial=True)
        except (BadUserInput, NotFound):
            raise
        except PartnerAPIError as refusal:
            return [Checked(refusal, 0, None, timezone.now())]
        cents = tried.quantity * tried.limit_price
        return [Checked(None, cents, tried.reflects_until, tried.created_at)]
