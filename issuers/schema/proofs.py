"""What the register has of a holder, with a proof that is checked offline."""

import graphene

from accounts.access import Scope, check_scope, missing_grant, requires
from accounts.accounts.models import Account
from issuers.models import Token
from issuers.register.proofs import MOST_ENTRIES, holding_proof, stated_at
from partnerapi.graphql.cost import FOUND, Field
from partnerapi.graphql.relay import key_of
from partnerapi.graphql.scalars import Time, Uint64

FEW_HOLDERS = 64
"""A path through fewer holders shows what a neighbour has."""


class HoldingProof(graphene.ObjectType):
    """What a user had of a token by a public statement, and what came after it.

    `/docs/proof` has the programs that check it without the platform.
    """

    statement = Uint64(required=True, description="Number of the statement.")
    at = Time(required=True, description="The statement's instant.")
    units = Uint64(required=True, description="Units held at the statement's instant.")
    proof = graphene.String(
        description="The proof of these units, base64url: the user's leaf, its path, "
        "the token's record and the statement. Null for 0 units, which nothing proves, "
        "and after an erasure of the user's name."
    )
    entries_since = graphene.List(
        graphene.NonNull(graphene.String),
        required=True,
        description="The user's entries from the statement to the date: lines of the "
        f"token's chain, canonical JSON, oldest first; at most {MOST_ENTRIES}. "
        "`Token.transactions` lists all.",
    )
    unproved = graphene.String(
        description="What the proof does not cover, in words; null if it covers all "
        "until the date."
    )

    def resolve_statement(found, info):
        return [one.stated.statement_id for one in found]

    def resolve_at(found, info):
        return [one.stated.statement.at for one in found]

    def resolve_entries_since(found, info):
        return [one.entries for one in found]

    def resolve_unproved(found, info):
        return [said_unproved(one) for one in found]


def said_unproved(one):
    said = []
    if one.proof is None:
        said.append("The statement's tree has no leaf that this user can open.")
    if one.entries:
        count = f"{'More than ' * one.has_more}{len(one.entries)}"
        said.append(
            f"{count} of the user's entries are newer than statement "
            f"{one.stated.statement_id}; until the next one, only the platform says so."
        )
    return " ".join(said) or None


class Query(graphene.ObjectType):
    holding_proof = Field(
        HoldingProof,
        cost=FOUND,
        token_id=graphene.ID(
            required=True, name="tokenID", description="The token's id."
        ),
        account_id=graphene.ID(
            required=True,
            name="accountID",
            description="The id of one of your accounts.",
        ),
        date=Time(description="The instant; defaults to now, as do future instants."),
        description="What the user of an account had of a token, proved by the last "
        "public statement at the date; null if you have no such account, if you may "
        "not see the token, or if no statement has it. Needs the scope `trading:read` "
        f"or `captable:read`. With fewer than {FEW_HOLDERS} holders it needs "
        "`captable:read` and a grant for the issuer: sums in the path would tell what "
        "others have.",
    )

    @requires(Scope.CAPTABLE_READ, Scope.TRADING_READ)
    def resolve_holding_proof(roots, info, token_id, account_id, date=None):
        caller = info.context.caller
        account = Account.objects.of_partner(caller).filter(
            pk=key_of(account_id, "Account")
        )
        tokens = Token.objects.visible_to(caller).filter(pk=key_of(token_id, "Token"))
        [user_id] = account.values_list("user_id", flat=True) or [None]
        [token] = tokens.values_list("pk", "issuer_id") or [None]
        if user_id is None or token is None:
            return [None]
        stated = stated_at(token[0], date)
        if stated is None:
            return [None]
        found = holding_proof(stated, user_id, date)
        if int(found.record["holders"]) < FEW_HOLDERS:
            check_scope(caller, Scope.CAPTABLE_READ)
            if not caller.may_see(str(token[1])):
                raise missing_grant(str(token[1]))
        return [found]
