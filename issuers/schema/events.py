"""The feed of what has changed."""

import re
from functools import partial

import graphene

from accounts.access import Unauthenticated
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import Account
from issuers import models
from issuers.events import EventPlace, TypedEvents
from issuers.models.events import EventType as Type
from issuers.models.events import number_of_events, types_shown_to
from issuers.schema.issuers import Issuer
from issuers.schema.rows import read_issuers
from issuers.schema.tokens import Token
from partnerapi.core.errors import BadUserInput, InvalidCursor
from partnerapi.graphql.cursors import decode_cursor, encode_cursor
from partnerapi.graphql.pages import (
    Page,
    compile_condition,
    found_page,
    make_window,
    read_pages,
    read_rows,
)
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    connection_field,
    enumeration,
    key_of,
)
from partnerapi.graphql.resolvers import needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

EVENTS = OrderedList(
    "events",
    "Event",
    models.Event,
    (OrderKey("issuers_event.sequence", "bigint"),),
    unique=True,
)
NO_EVENT = "00000000-0000-0000-0000-000000000000"
"""Of an event the cursor needs the number only."""

EventType = enumeration(
    Type,
    "EventType",
    "Type of event. More will be added: ignore those that you do not know.",
    {
        Type.ACCOUNT_STATUS_CHANGED: "One of your accounts was opened, or its status "
        "changed. Subject: the account. Needs the scope `accounts:read`.",
        Type.LEGACY_SHARES_DELIVERED: "Legacy shares were delivered. Subject: the "
        "legacy shareholder. Needs the scope `shareholders:read` and a grant.",
        Type.REGISTER_CHANGED: "Entries were added to a token's ledger, up to "
        "`ledgerSequence`: one event for any number of entries, and at most "
        "one a second for trades. Subject: the token. Needs the scope "
        "`captable:read` and a grant.",
        Type.TOKEN_PRICE_CHANGED: "A token has a new price that does not come from a "
        "trade. Subject: the token. Needs the scope `issuers:read`.",
        Type.FINANCIAL_DATA_PUBLISHED: "Financial data were published, corrected, or "
        "withdrawn, in which case the subject is null. Needs the scope "
        "`issuers:read`.",
        Type.ARTICLE_PUBLISHED: "An article was published, changed, or withdrawn, in "
        "which case the subject is null.",
        Type.GRANT_CHANGED: "You were given a grant, or a grant ended. Subject: the "
        "issuer; null for a grant for every issuer.",
        Type.KEY_CHANGED: "One of your keys was issued or revoked, or its scopes or "
        "expiry changed. No subject.",
        Type.ORDER_ACCEPTED: "An order was accepted. Subject: the order, as for all "
        "following types. Needs the scope `trading:read`.",
        Type.ORDER_AMENDED: "An order was amended. Needs the scope `trading:read`.",
        Type.ORDER_TRADED: "An order traded, and the trade has settled: one event per "
        "execution. Needs the scope `trading:read`.",
        Type.ORDER_CANCELLED: "The untraded units of an order were cancelled; "
        "`reason` says why. Needs the scope `trading:read`.",
        Type.ORDER_EXPIRED: "The untraded units of an order have expired. Needs the "
        "scope `trading:read`.",
        Type.CASH_CHANGED: "The cash of one of your accounts changed, other than by "
        "a trade (see ORDER_TRADED), or a withdrawal changed. Subject: the "
        "account. Needs the scope `cash:read`.",
        Type.DEPOSIT_UNASSIGNED: "Money arrived with the deposit reference of one of "
        "your accounts, but could not be credited, because the account is neither "
        "ACTIVE nor SUSPENDED or the text names several references. Staff assign it. "
        "Subject: the account. Needs the scope `cash:read`.",
        Type.INVESTOR_CHANGED: "The investor profile of one of your clients changed. "
        "Subject: the account. Needs the scope `compliance:read`.",
        Type.TRADE_BUSTED: "Staff busted a trade: units and cash were returned. "
        "Needs the scope `trading:read`.",
        Type.TRADE_BUST_REQUESTED: "A bust of a trade was requested, and staff decide "
        "on it. `price` is that of the trade which would take its place; null: none "
        "would. Needs the scope `trading:read`.",
        Type.MARKET_PHASE_CHANGED: "The market of a token entered another `phase`. "
        "Subject: the token. Needs the scope `marketdata:read`.",
        Type.MARKET_PARAMETERS_CHANGED: "New parameters of a token's market were "
        "decided; `Market.parameters` has them. Subject: the token. Needs the scope "
        "`marketdata:read`.",
        Type.ORDER_ENDS_AT_OPENING: "The market's next parameters do not admit an open "
        "order: it ends at the next opening, unless you cancel or amend it before. "
        "Comes the evening before. Needs the scope `trading:read`.",
        Type.AUCTION_INDICATED: "A call of a market would end at another `price`, with "
        "another `quantity` or `imbalance`: at most one event a second and market. "
        "Subject: the token. Needs the scope `marketdata:read`.",
        Type.ORDERS_BLOCKED: "Orders were blocked, by you or by staff. Subject: the "
        "account, null for all. Needs the scope `trading:read`.",
        Type.ORDERS_RELEASED: "A block of orders was released. Subject: the account, "
        "null for all. Needs the scope `trading:read`.",
        Type.OFFERING_CHANGED: "An offering has a new `status`, or a price. Subject: "
        "the offering.",
        Type.SUBSCRIPTION_CHANGED: "A subscription was made, amended, withdrawn, "
        "allotted units, settled or released. Subject: the subscription. Needs the "
        "scope `trading:read`.",
    },
)
SUBJECTS = {
    Type.ACCOUNT_STATUS_CHANGED: "Account",
    Type.LEGACY_SHARES_DELIVERED: "IssuerLegacyShareholder",
    Type.REGISTER_CHANGED: "Token",
    Type.TOKEN_PRICE_CHANGED: "Token",
    Type.FINANCIAL_DATA_PUBLISHED: "IssuerFinancialData",
    Type.ARTICLE_PUBLISHED: "Article",
    Type.GRANT_CHANGED: "Issuer",
    Type.ORDER_ACCEPTED: "Order",
    Type.ORDER_AMENDED: "Order",
    Type.ORDER_TRADED: "Order",
    Type.ORDER_CANCELLED: "Order",
    Type.ORDER_EXPIRED: "Order",
    Type.TRADE_BUSTED: "Order",
    Type.TRADE_BUST_REQUESTED: "Order",
    Type.CASH_CHANGED: "Account",
    Type.DEPOSIT_UNASSIGNED: "Account",
    Type.INVESTOR_CHANGED: "Account",
    Type.MARKET_PHASE_CHANGED: "Token",
    Type.MARKET_PARAMETERS_CHANGED: "Token",
    Type.ORDER_ENDS_AT_OPENING: "Order",
    Type.AUCTION_INDICATED: "Token",
    Type.ORDERS_BLOCKED: "Account",
    Type.ORDERS_RELEASED: "Account",
    Type.OFFERING_CHANGED: "Offering",
    Type.SUBSCRIPTION_CHANGED: "OfferingSubscription",
}
"""The GraphQL type of what events are about; the others are about nothing."""


class Event(ModelType):
    """Something that has changed. The objects it refers to are shown as they are now,
    not as they were.
    """

    class Meta:
        model = models.Event
        fields = ()

    sequence = Uint64(
        required=True,
        description="Number of the event among yours, in commit order, from 1, without "
        "gaps. Numbers that you do not see belong to events that your key's "
        "scopes or your grants do not cover.",
    )
    type = EventType(required=True, description="Type of event.")
    at = Time(
        required=True,
        description="Commit time; never earlier than that of a preceding event.",
    )
    issuer = graphene.Field(Issuer, description="The issuer concerned.")
    token = graphene.Field(Token, description="The token concerned, if you may see it.")
    account = graphene.Field(
        Account, description="The account concerned, if you may see it."
    )
    ledger_sequence = Uint64(
        description="Number of the last ledger entry of the change, or of the "
        "delivery's entry."
    )

    @needs("issuer_id")
    def resolve_issuer(events, info):
        return read_issuers([event.issuer_id for event in events], info)

    @needs("token_id")
    def resolve_token(events, info):
        tokens = models.Token.objects.visible_to(info.context.caller)
        return read_rows("Token", info, tokens, [e.token_id for e in events])

    @needs("account_id")
    def resolve_account(events, info):
        accounts = AccountModel.objects.visible_to(info.context.caller)
        return read_rows("Account", info, accounts, [e.account_id for e in events])


class EventConnection(Connection):
    class Meta:
        node = Event


class Query(graphene.ObjectType):
    events = connection_field(
        EventConnection,
        "Events, oldest first, within the current scopes of your key and your grants. "
        "To follow them, keep the last `endCursor` and pass it as `after`. Like "
        '`before`, it also accepts a `sequence`, such as "0". Events are numbered as '
        "they are committed: a new event never appears before one that you have read. "
        "An `after` older than the retention is INVALID_CURSOR with `oldest`, the "
        "sequence of the oldest event that is kept: read your lists again. An empty "
        "page without `totalCount` costs 1 point. Needs a key.",
        follows="after",
        wait=graphene.Int(
            description="If no event follows `after`, the response waits for one, at "
            "most so many seconds, 0 to 20. It needs `after`; `events` is then the "
            "only root field, without `before`, `last` and `totalCount`. The wait "
            "costs 1 point at its beginning, 1 for each commit whose events of your "
            "feed are not in the list, and 1 at its end if the page is empty. At most "
            "20 requests of a key and 100 of an address wait in one server process; "
            "one more, or one of more than 16,384 bytes, is answered after a second."
        ),
        types=graphene.List(
            graphene.NonNull(EventType),
            description="Only events of these types; an empty list matches none.",
        ),
        account_id=graphene.ID(
            name="accountID", description="Only events of this account."
        ),
    )

    def resolve_events(
        roots,
        info,
        types=None,
        account_id=None,
        after=None,
        before=None,
        wait=None,  # Of the gateway.
        **page,
    ):
        caller = info.context.caller
        if caller is None:
            raise Unauthenticated(
                "`events` needs an API key: send it in the X-Token-Auth header."
            )
        if types is not None and len(types) > len(Type):
            raise BadUserInput(
                f"`types` contains {len(types)} types; there are only {len(Type)}.",
                argument="types",
                maximum=len(Type),
            )
        after, before = as_cursor(after), as_cursor(before)
        if after is not None:
            check_kept(caller, after)
        page |= {"after": after, "before": before}
        shown = types_shown_to(caller)
        wanted = shown if types is None else [t for t in shown if t in types]
        events = models.Event.objects.visible_to(caller)
        known = partial(numbers_of_events, caller, wanted)
        if account_id is not None:
            key = key_of(account_id, "Account")
            events = events.filter(account_id=key) if key else events.none()
            known = None
        if account_id is None and len(wanted) < len(Type):
            found = page_of_types(wanted, events, info, **page)
        else:
            events = events.filter(type__in=wanted)
            [found] = read_pages(EVENTS, info, events, known=known, **page)
        return [found]


def numbers_of_events(caller, types):
    return [number_of_events(caller, types)]


def as_cursor(place):
    """The cursor of a place, which may be a sequence."""
    if place is None or not re.fullmatch("[0-9]{1,18}", place):
        return place
    return encode_cursor(EVENTS.name, f"{NO_EVENT}|{int(place)}")


def page_of_types(types, events, info, **arguments):
    window = make_window(EVENTS, info, **arguments)
    if not types:
        return Page([], False, False, 0)
    condition = compile_condition(events.filter(type__in=types))
    found = TypedEvents(types, *condition, info.context.caller)
    after, before = (
        place and EventPlace(int(place[0]), NO_EVENT)
        for place in (window.after, window.before)
    )
    return found_page(EVENTS, info, found, window, after, before)


def check_kept(caller, after):
    """Refuse a cursor behind which events are missing.

    Raises:
        InvalidCursor: `oldest` is the sequence of the oldest event that is kept.
    """
    try:
        _, sequence = decode_cursor(after, EVENTS.name, EVENTS.key_types)
    except InvalidCursor as error:
        error.details["argument"] = "after"
        raise
    head = models.EventHead.objects.filter(
        partner=caller.partner_id, pruned_sequence__gt=int(sequence)
    ).first()
    if head is not None:
        raise InvalidCursor(
            f"Events up to {head.pruned_sequence} are no longer kept. Read your lists "
            "again, then the events from the oldest one.",
            argument="after",
            oldest=head.pruned_sequence + 1,
        )
