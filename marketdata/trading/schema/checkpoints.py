"""Digests of a partner's accounts, by which it finds what is wrong in its mirror."""

import re

import graphene

from accounts.access import OF_ACCOUNTS, Scope, check_scope, requires
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import NEEDS_ONE, Account
from marketdata.trading.checkpoints import LINES, MOST_DIGITS, groups_at
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.cost import CHECK, Cost, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.scalars import Uint64

SCOPES = {
    "cash": Scope.CASH_READ,
    "orders": Scope.TRADING_READ,
    "holdings": Scope.CAPTABLE_READ,
}


def digest_of(what, name=None):
    needed = f" Needs the scope `{SCOPES[name].value}`." if name else ""
    return graphene.String(
        required=True,
        description=f"SHA-256 of the lines of {what}, in hexadecimal digits.{needed}",
    )


class CheckpointGroup(graphene.ObjectType):
    """Your accounts, the SHA-256 of whose ids begins with the same digits.

    [Tasks](/docs/tasks#compare-a-mirror) has the lines of each digest.
    """

    prefix = graphene.String(
        required=True,
        description="The first hexadecimal digits of the SHA-256 of the accounts' ids.",
    )
    accounts = Uint64(required=True, description="Number of accounts of the group.")
    account = graphene.Field(
        Account,
        description="The account as it is now, if the group has one only; otherwise "
        "null.",
    )
    statuses = digest_of("the accounts' statuses")
    cash = digest_of("the accounts' cash", "cash")
    orders = digest_of("the accounts' OPEN orders", "orders")
    holdings = digest_of(
        "the units that the accounts' users have of tokens of issuers for which you "
        "have a grant, up to the last REGISTER_CHANGED",
        "holdings",
    )

    def resolve_account(groups, info):
        accounts = AccountModel.objects.visible_to(info.context.caller)
        return read_rows("Account", info, accounts, [g.account for g in groups])


class Checkpoint(graphene.ObjectType):
    """Digests of your accounts in one state of the database."""

    sequence = Uint64(
        required=True,
        description="Number of your last event. The digests are of what it left.",
    )
    groups = Field(
        graphene.List(graphene.NonNull(CheckpointGroup)),
        required=True,
        cost=Cost(most=16),
        description="The 16 groups of accounts, by the digit after the prefix.",
    )

    def resolve_sequence(checkpoints, info):
        return [groups[0].sequence for groups in checkpoints]

    def resolve_groups(checkpoints, info):
        return checkpoints


@requires(*OF_ACCOUNTS)
def resolve_checkpoint(callers, info, prefix):
    prefix = prefix or ""  # null is as good as none
    if not re.fullmatch(f"[0-9a-f]{{0,{MOST_DIGITS}}}", prefix):
        raise BadUserInput(
            f"`prefix` needs 0 to {MOST_DIGITS} digits 0 to 9 and a to f.",
            argument="prefix",
        )
    wanted = {
        field.name
        for groups in info.selection.fields("Checkpoint")
        if groups.name == "groups"
        for field in groups.selection.fields("CheckpointGroup")
    }
    for name, scope in SCOPES.items():
        if name in wanted:
            check_scope(info.context.caller, scope)
    return [
        groups_at(c.partner_id, c.granted_issuers, prefix, wanted & LINES.keys())
        for c in callers
    ]


CHECKPOINT = Field(
    Checkpoint,
    required=True,
    cost=CHECK,
    resolver=resolve_checkpoint,
    prefix=graphene.String(
        default_value="",
        description=f"The first hexadecimal digits of the SHA-256 of accounts' ids, at "
        f"most {MOST_DIGITS}; none for all accounts.",
    ),
    description="Digests of your accounts, to compare with a mirror: a wrong value "
    "among 100,000 accounts is found in six requests, each with one digit more. It "
    f"costs {CHECK.points} points, and server time by the number of accounts below the "
    f"prefix. {NEEDS_ONE}",
)
"""The field `checkpoint` of the viewer."""
