"""Partners that sign public statements of the register as well."""

import graphene
from django.utils import timezone

from accounts.access import Scope, check_scope
from issuers.register.statement_models import Statement
from issuers.register.witnesses import NotWitnessed, acknowledge, witnesses_of
from partnerapi.core.errors import BadUserInput, NotFound
from partnerapi.graphql.cost import FOUND, MUTATION, Field
from partnerapi.graphql.resolvers import check_first
from partnerapi.graphql.scalars import Time, Uint64

LARGEST = 2**63 - 1


class StatementWitness(graphene.ObjectType):
    """A partner's signature of a public statement."""

    partner = graphene.String(required=True, description="Login of the partner.")
    public_key = graphene.String(
        required=True, description="The partner's Ed25519 key, base64."
    )
    signature = graphene.String(
        required=True, description="Signature of the statement's line, base64."
    )
    at = Time(required=True, description="When the partner sent it.")

    def resolve_partner(witnesses, info):
        return [one.key.partner.login for one in witnesses]

    def resolve_public_key(witnesses, info):
        return [one.key_id for one in witnesses]


WITNESSES = Field(
    graphene.List(graphene.NonNull(StatementWitness)),
    cost=FOUND,
    required=True,
    description="The partners that signed the statement as well, oldest first.",
)


class AcknowledgeStatementInput(graphene.InputObjectType):
    """The statement, your key and its signature."""

    number = Uint64(required=True, description="Number of the statement.")
    public_key = graphene.String(
        required=True,
        description="Your Ed25519 key, base64 of its 32 bytes. The first signature "
        "registers it for you.",
    )
    signature = graphene.String(
        required=True,
        description="Your key's signature, base64, of the first line of "
        "`/statements/<number>` without its end.",
    )


class AcknowledgeStatementPayload(graphene.ObjectType):
    """The statement and its witnesses."""

    number = Uint64(required=True, description="Number of the statement.")
    witnesses = WITNESSES

    def resolve_witnesses(statements, info):
        found = witnesses_of([one.number for one in statements])
        return [found[one.number] for one in statements]


def check_acknowledge(context, input):
    """Refuse what can never succeed before the idempotency key is claimed."""
    check_scope(context.caller, Scope.CAPTABLE_READ)


class Mutation(graphene.ObjectType):
    acknowledge_statement = Field(
        AcknowledgeStatementPayload,
        cost=MUTATION,
        input=AcknowledgeStatementInput(
            required=True, description="The statement, your key and its signature."
        ),
        description="Sign a public statement as a witness, with a key of your own: it "
        "proves that you were shown this statement of this number. A signature that "
        "is not of this statement is BAD_USER_INPUT. Needs the scope `captable:read`.",
    )

    @check_first(check_acknowledge)
    def resolve_acknowledge_statement(roots, info, input):
        number = min(input["number"], LARGEST)
        statement = Statement.objects.filter(number=number).first()
        if statement is None:
            raise NotFound(
                "There is no statement of this number.", argument="input.number"
            )
        try:
            acknowledge(
                info.context.caller.partner_id,
                statement,
                input["public_key"],
                input["signature"],
                timezone.now(),
                info.context.trial is not None,
            )
        except NotWitnessed as error:
            raise BadUserInput(str(error), argument=f"input.{error.member}") from error
        return [statement]
