"""Refusals of subscriptions, each with its published code."""

from accounts.accounts.models import AccountNotActive
from accounts.cash.writer import InsufficientFunds
from issuers.compliance.errors import TransferRefused
from partnerapi.core.errors import PartnerAPIError

__all__ = ["AccountNotActive", "InsufficientFunds", "TransferRefused"]


class OfferingNotOpen(PartnerAPIError):
    """The offering takes no subscription now: its `status` is not OPEN, or `opensAt`
    lies ahead, or `closesAt` has passed.
    """

    code = "OFFERING_NOT_OPEN"
    example = "`subscribe` after `closesAt`"
    remedy = "Wait until `opensAt`, or choose an offering that is OPEN."


class TicketSize(PartnerAPIError):
    """The units are fewer than the offering's `smallestTicket`, or more than its
    `largestTicket`.
    """

    code = "TICKET_SIZE"
    example = "`quantity: 1` where `smallestTicket` is 10"
    remedy = "Choose units between `smallestTicket` and `largestTicket`."


class PriceOutsideBand(PartnerAPIError):
    """The limit price is not the offering's price, or is outside its band, from `floor`
    to `cap`.
    """

    code = "PRICE_OUTSIDE_BAND"
    example = "a `limitPrice` below `priceFloor`"
    remedy = "Choose a limit price between `floor` and `cap`."


class AlreadySubscribed(PartnerAPIError):
    """The account has an active subscription to the offering, `subscriptionID`."""

    code = "ALREADY_SUBSCRIBED"
    example = "`subscribe` twice for one account"
    remedy = "Amend the subscription with `amendSubscription`."


class SubscriptionNotActive(PartnerAPIError):
    """The subscription has ended; its `status` is not ACTIVE."""

    code = "SUBSCRIPTION_NOT_ACTIVE"
    example = "`withdrawSubscription` after the settlement"
    remedy = "Read the subscription's `status`."


class SubscriptionChanged(PartnerAPIError):
    """The subscription has another version (`version`) than the one that was sent."""

    code = "SUBSCRIPTION_CHANGED"
    example = "`amendSubscription` with the version before the last amendment"
    remedy = "Read the subscription, and send its `version`."


class ReflectionPeriodEnded(PartnerAPIError):
    """The subscription has been binding since `reflectsUntil`: it can be raised, but
    neither lowered nor withdrawn.
    """

    code = "REFLECTION_PERIOD_ENDED"
    example = "`withdrawSubscription` five days after `subscribe`"
    remedy = "Withdraw or lower a subscription before `reflectsUntil`."
