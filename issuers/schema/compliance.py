"""The rules of tokens, and whether units may go from one account to another."""

import graphene
from django.utils import timezone

from accounts.access import Scope, requires
from accounts.accounts import models as accounts
from accounts.people.schema import Country, read_countries
from issuers import models
from issuers.compliance import judge
from issuers.compliance.models import TokenRule
from issuers.compliance.rules import text_of
from issuers.register.models import HolderBalance, LedgerAccount
from issuers.schema.investors import InvestorClass
from issuers.schema.rows import ids
from partnerapi.core.errors import BadUserInput, NotFound
from partnerapi.graphql.cost import CHECK, Cost, Field
from partnerapi.graphql.relay import key_of
from partnerapi.graphql.scalars import Time, Uint64

Kind = TokenRule.Kind
MOST_COUNTRIES = 300
REFUSALS = Cost(most=25)
"""At most each kind of rule and of restriction refuses."""


class TransferRule(graphene.ObjectType):
    """A rule that every movement of a token's units must keep."""

    kind = graphene.String(
        required=True,
        description="TRANSFERS_PAUSED, VERIFIED_HOLDERS, COUNTRIES_ALLOWED, "
        "COUNTRIES_REFUSED, INVESTOR_CLASSES, APPROVED_HOLDERS, MAX_HOLDERS or "
        "MAX_BALANCE; more may be added.",
    )
    text = graphene.String(required=True, description="The rule in words.")
    countries = Field(
        graphene.List(graphene.NonNull(Country)),
        cost=Cost(reads=True, most=MOST_COUNTRIES),
        description="For COUNTRIES_ALLOWED and COUNTRIES_REFUSED: the countries of tax "
        "residence.",
    )
    classes = graphene.List(
        graphene.NonNull(InvestorClass),
        description="For INVESTOR_CLASSES: the classes that may acquire units.",
    )
    maximum = Uint64(
        description="For MAX_HOLDERS: holders. For MAX_BALANCE: units; null if it is a "
        "share of the supply, which the text states."
    )

    def resolve_kind(rules, info):
        return [name_of(rule) for rule in rules]

    def resolve_text(rules, info):
        return [text_of(rule.kind, rule.parameters) for rule in rules]

    def resolve_countries(rules, info):
        codes = [rule.parameters for rule in rules]
        listed = [said.get("allowed") or said.get("refused") for said in codes]
        flat = [code for each in listed for code in each or ()]
        found = dict(zip(flat, read_countries(flat, info), strict=True))
        return [
            None if each is None else [found[code] for code in each if found[code]]
            for each in listed
        ]

    def resolve_classes(rules, info):
        return [rule.parameters.get("classes") for rule in rules]

    def resolve_maximum(rules, info):
        said = [rule.parameters for rule in rules]
        return [each.get("holders") or each.get("units") for each in said]


def name_of(rule):
    if rule.kind != Kind.COUNTRIES:
        return rule.kind
    return "COUNTRIES_ALLOWED" if "allowed" in rule.parameters else "COUNTRIES_REFUSED"


def resolve_rules(tokens, info):
    by_token = {key: [] for key in ids(tokens)}
    rules = TokenRule.objects.filter(token__in=[*by_token], ended_at=None)
    for rule in rules.order_by("created_at", "id"):
        by_token[str(rule.token_id)].append(rule)
    return [by_token[key] for key in ids(tokens)]


TRANSFER_RULES = Field(
    graphene.List(graphene.NonNull(TransferRule)),
    required=True,
    cost=Cost(reads=True, most=len(Kind)),
    resolver=resolve_rules,
    description="The rules that every movement of the token's units must keep, oldest "
    "first. They apply to movements: existing holders keep their units.",
)


class TransferRefusal(graphene.ObjectType):
    """A rule that a movement would break, with details."""

    code = graphene.String(
        required=True,
        description="SENDER_FROZEN, RECEIVER_FROZEN, UNITS_LOCKED, UNITS_RESERVED, "
        "TRANSFERS_PAUSED, RECEIVER_NOT_VERIFIED, COUNTRY_NOT_ALLOWED, "
        "INVESTOR_CLASS_NOT_ALLOWED, HOLDER_NOT_APPROVED, MAX_HOLDERS_EXCEEDED, "
        "MAX_BALANCE_EXCEEDED or INSUFFICIENT_UNITS; more may be added.",
    )
    message = graphene.String(required=True, description="The rule in words.")
    available = Uint64(
        description="For UNITS_LOCKED, UNITS_RESERVED and INSUFFICIENT_UNITS: units "
        "that can be moved."
    )
    maximum = Uint64(
        description="For MAX_HOLDERS_EXCEEDED: holders. For MAX_BALANCE_EXCEEDED: "
        "units."
    )
    until = Time(
        description="When the freeze or lock ends, or when the verification ended; "
        "null if it has no end."
    )
    country = graphene.Field(
        Country,
        description="For COUNTRY_NOT_ALLOWED: the receiver's country of tax residence; "
        "null if unknown.",
    )

    def resolve_message(refusals, info):
        return [refusal.text for refusal in refusals]

    def resolve_available(refusals, info):
        return [refusal.details.get("available") for refusal in refusals]

    def resolve_maximum(refusals, info):
        return [refusal.details.get("maximum") for refusal in refusals]

    def resolve_until(refusals, info):
        return [refusal.until for refusal in refusals]

    def resolve_country(refusals, info):
        codes = [refusal.details.get("country") for refusal in refusals]
        return read_countries(codes, info)


class TransferCheck(graphene.ObjectType):
    """Whether units may move under the rules and balances at an instant."""

    allowed = graphene.Boolean(
        required=True, description="Whether the movement is allowed."
    )
    refusals = Field(
        graphene.List(graphene.NonNull(TransferRefusal)),
        required=True,
        cost=REFUSALS,
        description="Every rule that the movement would break, not only the first.",
    )
    at = Time(required=True, description="The instant.")


class Check:
    """The result of checkTransfer."""

    def __init__(self, refusals, at):
        self.allowed, self.refusals, self.at = not refusals, refusals, at


class CheckTransferInput(graphene.InputObjectType):
    """The units that would move, with sender and receiver."""

    token_id = graphene.ID(name="tokenID", required=True, description="The token's id.")
    quantity = Uint64(required=True, description="Number of units, at least 1.")
    from_account_id = graphene.ID(
        name="fromAccountID",
        description="Your account whose user sends the units; if omitted, the sender "
        "is not checked.",
    )
    to_account_id = graphene.ID(
        name="toAccountID",
        description="Your account whose user receives the units; if omitted, the "
        "receiver is not checked.",
    )


class Query(graphene.ObjectType):
    check_transfer = Field(
        TransferCheck,
        required=True,
        cost=CHECK,
        input=CheckTransferInput(
            required=True,
            description="The units that would move, with sender and receiver.",
        ),
        description="Whether units of a token may move from one holder to another now. "
        "Nothing is changed. Name at least one of the accounts. Needs the scope "
        "`compliance:read`.",
    )

    @requires(Scope.COMPLIANCE_READ)
    def resolve_check_transfer(roots, info, input):
        caller, quantity = info.context.caller, input["quantity"]
        if not quantity:
            raise BadUserInput(
                "`quantity` is 0; send 1 or more.", argument="input.quantity"
            )
        token = visible_token(caller, input["token_id"])
        gives = user_of(caller, input, "from_account_id", "fromAccountID")
        takes = user_of(caller, input, "to_account_id", "toAccountID")
        if gives == takes:
            raise BadUserInput(
                "Name `fromAccountID`, `toAccountID`, or both, of different users.",
                argument="input",
            )
        found = LedgerAccount.objects.filter(user__in=[u for u in (gives, takes) if u])
        held = dict(found.values_list("user", "pk"))
        at = timezone.now()
        refusals = judge.ask(
            token.pk,
            "TRANSFER",
            held.get(gives),
            held.get(takes),
            quantity,
            newcomer=takes if takes not in held else None,
        )
        if gives:
            refusals += missing_units(token, held.get(gives), quantity)
        return [Check(refusals, at)]


def visible_token(caller, id):
    tokens = models.Token.objects.visible_to(caller)
    token = tokens.filter(pk=key_of(id, "Token")).first()
    if token is None:
        raise NotFound(
            "There is no token with this id that you may see.", argument="input.tokenID"
        )
    return token


def user_of(caller, input, name, argument):
    """The user of an account that is named; None where none is."""
    if input.get(name) is None:
        return None
    found = accounts.Account.objects.of_partner(caller)
    account = found.filter(pk=key_of(input[name], "Account")).first()
    if account is None:
        raise NotFound(
            "You have no account with this id.", argument=f"input.{argument}"
        )
    return account.user_id


def missing_units(token, account, quantity):
    balance = HolderBalance.objects.filter(token=token, account=account).first()
    units = balance.balance if balance else 0
    if units >= quantity:
        return []
    return [
        judge.Refusal("INSUFFICIENT_UNITS", {"available": units, "required": quantity})
    ]
