"""What a user holds of all tokens, for its profile and for a partner's account."""

import graphene

from accounts.access import Scope, requires
from issuers.models import Token as TokenModel
from issuers.register.holdings import MOST_BALANCES, balances_of
from issuers.schema.issuers import Issuer
from issuers.schema.rows import read_issuers
from issuers.schema.tokens import Token
from partnerapi.graphql.cost import Cost, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.resolvers import needs
from partnerapi.graphql.scalars import Time, Uint64


class HolderBalance(graphene.ObjectType):
    """A user's balance of one token at an instant."""

    issuer = graphene.Field(Issuer, required=True, description="Issuer of the token.")
    token = graphene.Field(Token, required=True, description="The token.")
    balance = Uint64(required=True, description="Units held of this token.")
    price = Uint64(
        required=True,
        description="Latest unit price at the instant, euro cents; 0 before the first "
        "price.",
    )
    value = Uint64(required=True, description="Balance times price, euro cents.")

    def resolve_issuer(balances, info):
        return read_issuers([balance.issuer_id for balance in balances], info)

    def resolve_token(balances, info):
        # The grant for its issuer covers private tokens.
        tokens = TokenModel.objects.all()
        return read_rows("Token", info, tokens, [b.token_id for b in balances])


@needs("user_id")
@requires(Scope.CAPTABLE_READ)
def resolve_balances(rows, info, date=None):
    granted = info.context.caller.granted_issuers
    return balances_of([row.user_id for row in rows], date, granted)


def balances_field(whose):
    return Field(
        graphene.List(graphene.NonNull(HolderBalance)),
        required=True,
        cost=Cost(reads=True, most=MOST_BALANCES),
        resolver=resolve_balances,
        date=Time(description="The instant; defaults to now, as do future instants."),
        description=(
            f"Units that {whose} held at an instant, of the tokens of issuers for "
            f"which you have a grant, by token id. More than {MOST_BALANCES:,} are "
            "CAPITALIZATION_TABLE_TOO_LARGE. Needs the scope `captable:read`."
        ),
    )


HOLDER_BALANCES = balances_field("the holder")
ACCOUNT_HOLDINGS = balances_field("the account's user")
