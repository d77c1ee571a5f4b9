"""The part of the schema about capitalization tables."""

import graphene
from django.conf import settings

from accounts.people.models import User as UserModel
from accounts.people.models import UserHolder as UserHolderModel
from accounts.people.schema import User, UserHolder
from issuers.models import Token as TokenModel
from issuers.register.captable import (
    capitalization_tables,
    listed_at_most,
    read_all_holders,
    too_much,
)
from issuers.register.captable_pages import holder_counts
from issuers.register.names import holder_names
from issuers.schema.holders import holder_pages, instant_of_cursors
from issuers.schema.rows import NULLS_ISSUER
from issuers.schema.tokens import Token
from partnerapi.core.numbers import MAX_UINT64
from partnerapi.graphql.cost import COUNTED, FOUND, LIST, Cost, Counter, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.relay import Connection, connection_field
from partnerapi.graphql.resolvers import column
from partnerapi.graphql.scalars import Time, Uint64


def read_capitalization_tables(issuer_ids, date, info):
    tables = capitalization_tables(issuer_ids, date, with_holders=False)
    instant = instant_of_cursors(info)
    if instant is None or not all(table.is_present for table in tables):
        return tables
    # What the cursors are of is all that the object answers.
    return capitalization_tables(issuer_ids, instant, with_holders=False)


def numbers_of_holders(tables):
    """How many holders each table lists; none where they are too many."""
    most = settings.PARTNER_API_MAX_HOLDERS
    return [
        0 if listed_at_most(table) > most else count
        for table, count in zip(tables, holder_counts(tables), strict=True)
    ]


def read_tokens(rows, info):
    # The table's grant, which covers private tokens, has been checked.
    tokens = TokenModel.objects.all()
    return read_rows("Token", info, tokens, [row.token_id for row in rows])


def token_ids(rows, info):
    return ["Token|" + row.token_id for row in rows]


class OfToken:
    # Balances and summaries have these fields.
    token_id = graphene.ID(
        name="tokenID",
        required=True,
        resolver=token_ids,
        description="Identifier of the token.",
    )
    token = graphene.Field(
        Token, required=True, resolver=read_tokens, description="The token."
    )


class CapitalizationTableTokenBalance(OfToken, graphene.ObjectType):
    """A holder's balance of one token."""

    balance_specific_token = Uint64(
        required=True,
        resolver=column("balance"),
        description="Units held of this token.",
    )
    current_price = Uint64(
        required=True,
        resolver=column("price"),
        description="Latest unit price at the table's date, euro cents; 0 before the "
        "first price.",
    )
    total_token_value = Uint64(
        required=True,
        resolver=column("value"),
        description="Balance times price, euro cents.",
    )


class CapitalizationTableHolder(graphene.ObjectType):
    """One holder's position in the issuer's tokens."""

    user = graphene.Field(User, required=True, description="The holder.")
    user_id = graphene.ID(
        name="userID", required=True, description="Identifier of the user."
    )
    user_holder = graphene.Field(
        UserHolder, required=True, description="Holder's profile."
    )
    holder_name = Field(
        graphene.String,
        required=True,
        cost=FOUND,
        description="The holder's name at the table's date; `userHolder.name` is "
        "today's.",
    )
    total_value = Uint64(
        required=True, description="Value of all tokens held, euro cents."
    )
    percentage = graphene.Float(
        required=True,
        description="Ownership as a fraction of the total value, unrounded; as a "
        "fraction of the units while no token has a price.",
    )
    token_balances = Field(
        graphene.List(graphene.NonNull(CapitalizationTableTokenBalance)),
        required=True,
        cost=LIST,
        description="Balance per token, oldest token first.",
    )

    def resolve_user(holders, info):
        users = UserModel.objects.all()
        return read_rows("User", info, users, [h.user_id for h in holders])

    def resolve_user_id(holders, info):
        return ["User|" + holder.user_id for holder in holders]

    def resolve_user_holder(holders, info):
        profiles = UserHolderModel.objects.all()
        users = [holder.user_id for holder in holders]
        return read_rows("UserHolder", info, profiles, users, by="user_id")

    def resolve_holder_name(holders, info):
        return holder_names(holders)

    def resolve_total_value(holders, info):
        # The list is by value: where the first fits, all do.
        return within_uint64([h.total_value for h in holders], "totalValue")


class CapitalizationTableHolderConnection(Connection):
    class Meta:
        node = CapitalizationTableHolder


class CapitalizationTableToken(OfToken, graphene.ObjectType):
    """A token of the issuer, summed over its holders."""

    current_price = Uint64(
        required=True,
        resolver=column("price"),
        description="Latest unit price at the table's date, euro cents; 0 before the "
        "first price.",
    )
    total_balance_specific_token = Uint64(
        required=True,
        resolver=column("held"),
        description="Total units held across all holders, excluding the treasury.",
    )
    total_balances_supply = Uint64(
        required=True,
        resolver=column("supply"),
        description="Total minted supply, including the treasury's units.",
    )
    total_token_value = Uint64(
        required=True,
        resolver=column("held_value"),
        description="Held units times price, euro cents.",
    )
    total_supply_value = Uint64(
        required=True,
        resolver=column("supply_value"),
        description="Full supply times price, euro cents.",
    )


class CapitalizationTable(graphene.ObjectType):
    """Point-in-time snapshot of an issuer: total value, holders and tokens."""

    date = Time(
        required=True,
        description="Reference date of the snapshot: the instant used. Querying it "
        "again returns the same table.",
    )
    total_value = Uint64(
        required=True,
        description="Combined value of all tokens held, euro cents, excluding the "
        f"treasury; {NULLS_ISSUER}.",
    )
    holders = Field(
        graphene.List(graphene.NonNull(CapitalizationTableHolder)),
        required=True,
        cost=Cost(
            reads=True,
            counter=Counter(
                numbers_of_holders,
                "Select less of each, walk `holdersConnection`, or have all of them as "
                "a file: `createExport`.",
            ),
        ),
        description="All holders, by value descending, then by user id. More than "
        "50,000 are CAPITALIZATION_TABLE_TOO_LARGE; a list that would cost "
        "more than one request may is MAX_COST_EXCEEDED before it is read; "
        "`createExport` returns all of them as a file. "
        f"{NULLS_ISSUER.capitalize()}.",
    )
    holder_count = Field(
        Uint64,
        required=True,
        cost=COUNTED,
        description="Number of users who held units.",
    )
    holders_connection = connection_field(
        CapitalizationTableHolderConnection,
        "All holders, by user id, without a limit. A cursor contains the instant: pass "
        "it with the `date` of the table's first page, or without a date. The whole "
        "object is then as of that instant; any other date is INVALID_CURSOR. "
        f"{NULLS_ISSUER.capitalize()}.",
    )
    tokens = Field(
        graphene.List(graphene.NonNull(CapitalizationTableToken)),
        required=True,
        cost=LIST,
        description="Summary per token across holders, oldest token first.",
    )

    def resolve_total_value(tables, info):
        return within_uint64([table.total_value for table in tables], "totalValue")

    def resolve_holders(tables, info):
        return read_all_holders(tables)

    def resolve_holder_count(tables, info):
        return holder_counts(tables)

    def resolve_holders_connection(tables, info, **page):
        return holder_pages(tables, info, **page)


def within_uint64(values, name):
    """The values; in place of each above 2⁶⁴−1 the error that says so."""
    if max(values, default=0) <= MAX_UINT64:
        return values
    return [value if value <= MAX_UINT64 else too_much(name) for value in values]
