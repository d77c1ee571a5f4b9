"""What the user of an account owns, and what of it is free."""

from uuid import UUID

import graphene
from django.utils import timezone

from accounts.access import Scope, requires
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import Account
from issuers.models import Token as TokenModel
from issuers.register.models import HolderBalance, LedgerAccount
from issuers.schema.ledger import whole
from issuers.schema.tokens import Token
from partnerapi.core.database import array_text, fetch
from partnerapi.graphql.cost import FOUND, Field
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import Connection, connection_field
from partnerapi.graphql.resolvers import needs
from partnerapi.graphql.scalars import Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

HELD = OrderedList(
    "positions",
    "Position",
    HolderBalance,
    (OrderKey("issuers_holderbalance.token_id", "uuid"),),
    unique=True,
    parent="account_id",
    identity="token_id",
)
HELD_BY_CLIENTS = OrderedList(
    "clientPositions",
    "Position",
    HolderBalance,
    (
        OrderKey("issuers_holderbalance.account_id", "bigint"),
        OrderKey("issuers_holderbalance.token_id", "uuid"),
    ),
    unique=True,
    identity="token_id",
)
NO_ACCOUNT = 0
"""In the place of the ledger account of a user without one."""
# A holder's limits in each of its tokens, by the rules and restrictions of now.
LIMITS = """
    SELECT l.locked, l.locked_until::text, greatest(l.may_send - l.reserved, 0)
    FROM unnest(%s::uuid[], %s::bigint[]) WITH ORDINALITY AS w (token, account, place)
    LEFT JOIN LATERAL register_limits(w.token, ARRAY[w.account], %s) l ON TRUE
    ORDER BY w.place
"""


def limits(positions):
    """Of each position: units that are locked, until when, and those that are free."""
    tokens = array_text(p.token_id for p in positions)
    accounts = array_text(p.account_id for p in positions)
    return fetch(LIMITS, [tokens, accounts, timezone.now()], tuple)


class Position(graphene.ObjectType):
    """Units of a token owned by an account's user, wherever they were bought."""

    account = graphene.Field(
        Account,
        description="The user's account with you; null if it is CLOSED or REJECTED.",
    )
    token = graphene.Field(Token, required=True, description="The token.")
    quantity = Uint64(
        required=True, resolver=whole("balance"), description="Units owned."
    )
    reserved = Uint64(
        required=True,
        resolver=whole("reserved"),
        description="Units reserved by open sell orders, at any partner.",
    )
    locked = Field(
        Uint64,
        required=True,
        cost=FOUND,
        description="Units that cannot be moved: frozen, locked up or pledged; may "
        "exceed the units owned.",
    )
    available = Field(
        Uint64,
        required=True,
        cost=FOUND,
        description="Units that can be sold now.",
    )
    locked_until = Field(
        Time,
        cost=FOUND,
        description="When the last lock expires; null if nothing is locked, or if a "
        "lock has no end.",
    )

    @needs("user_id")
    def resolve_account(positions, info):
        accounts = AccountModel.objects.of_partner(info.context.caller).not_ended()
        users = [str(position.user_id) for position in positions]
        return read_rows("Account", info, accounts, users, by="user_id")

    @needs("token_id")
    def resolve_token(positions, info):
        tokens = TokenModel.objects.visible_to(info.context.caller)
        return read_rows("Token", info, tokens, [p.token_id for p in positions])

    @needs("token_id", "account_id")
    def resolve_locked(positions, info):
        return [int(locked or 0) for locked, _, _ in limits(positions)]

    @needs("token_id", "account_id")
    def resolve_available(positions, info):
        return [int(available or 0) for _, _, available in limits(positions)]

    @needs("token_id", "account_id")
    def resolve_locked_until(positions, info):
        return [until for _, until, _ in limits(positions)]


class PositionConnection(Connection):
    class Meta:
        node = Position


def held_and_visible(caller):
    tokens = TokenModel.objects.visible_to(caller)
    return HolderBalance.objects.filter(balance__gt=0, token__in=tokens.values("pk"))


@needs("user_id")
@requires(Scope.TRADING_READ)
def read_positions(accounts, info, **page):
    # Holdings are found by the holder's account in the ledger.
    holders = dict(
        LedgerAccount.objects.filter(
            user__in={account.user_id for account in accounts}
        ).values_list("user", "pk")
    )
    keys = [UUID(str(account.user_id)) for account in accounts]
    ids = [str(holders.get(key, NO_ACCOUNT)) for key in keys]
    held = held_and_visible(info.context.caller)
    return read_pages(HELD, info, held, ids, **page)


class Query(graphene.ObjectType):
    positions = connection_field(
        PositionConnection,
        "Units owned by the users of your accounts that are not CLOSED or REJECTED, in "
        "tokens that you may see, user by user. Units belong to the user, so those "
        "bought through other partners are included. Needs the scope `trading:read`.",
    )

    @requires(Scope.TRADING_READ)
    def resolve_positions(roots, info, **page):
        caller = info.context.caller
        accounts = AccountModel.objects.of_partner(caller).not_ended()
        held = held_and_visible(caller).filter(user__in=accounts.values("user_id"))
        return read_pages(HELD_BY_CLIENTS, info, held, **page)


POSITIONS = connection_field(
    PositionConnection,
    "Units owned by the account's user in tokens that you may see, by token id. "
    "Units belong to the user, so those bought through other partners are included. "
    "Needs the scope `trading:read`.",
    resolver=read_positions,
)
"""The field `positions` of an account."""
