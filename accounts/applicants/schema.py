"""Accounts that partners open for their clients."""

import re

import graphene
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone

from accounts.access import Scope, check_scope
from accounts.accounts.models import Account as AccountModel
from accounts.accounts.schema import Account
from accounts.applicants import models
from accounts.applicants.models import REFERENCE
from accounts.people import models as people
from accounts.people.schema import UserType
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.cost import FOUND, MUTATION, Field
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.resolvers import check_first, needs
from partnerapi.graphql.trials import would_be

Type = people.User.Type
LONGEST_NAME = 200
LONGEST_PART = 100
"""Of a first or a last name."""


class OpenAccountInput(graphene.InputObjectType):
    """The client, and your reference for the account."""

    type = UserType(required=True, description="Person or company.")
    name = graphene.String(
        description="For a person: first names, then the last name; at most 100 "
        "characters each. The last word is the last name."
    )
    company_name = graphene.String(
        description="For a company: its name; at most 200 characters."
    )
    email = graphene.String(required=True, description="Email address of the client.")
    lei = graphene.String(
        description="For a company: its Legal Entity Identifier (ISO 17442), if it has "
        "one."
    )
    country_code = graphene.String(
        required=True,
        description="Country of residence or seat: ISO 3166-1 alpha-2, such as FR, or "
        "XK.",
    )
    reference = graphene.String(
        required=True,
        description="Your reference for the account: 1 to 64 letters, digits, `.`, "
        "`_`, `:` and `-`. It can never be reused.",
    )


class OpenAccountPayload(graphene.ObjectType):
    """The account that was opened."""

    account = graphene.Field(
        Account, required=True, description="The account; it is PENDING."
    )

    @needs("account_id")
    def resolve_account(payloads, info):
        accounts = AccountModel.objects.of_partner(info.context.caller)
        return read_rows("Account", info, accounts, [p.account_id for p in payloads])


class Opened:
    """The result of openAccount; the account is read only where selected."""

    def __init__(self, account):
        self.account_id = str(account.pk)


def check_open(context, input):
    """Refuse what can never succeed before the idempotency key is claimed."""
    check_scope(context.caller, Scope.ACCOUNTS_WRITE)
    if not input:
        return
    for name, value in input.items():
        if isinstance(value, str) and "\0" in value:
            raise wrong(name, "contains a NUL character; send plain text.")
    person = input["type"] == Type.INDIVIDUAL
    given, other = ("name", "companyName") if person else ("companyName", "name")
    if input.get(as_argument(other)) is not None:
        raise wrong(other, f"does not apply to {input['type']}; omit it.")
    name = (input.get(as_argument(given)) or "").strip()
    if not name or len(name) > LONGEST_NAME:
        raise wrong(given, f"needs 1 to {LONGEST_NAME} characters.")
    if person and max(map(len, parts_of(name))) > LONGEST_PART:
        raise wrong(given, f"has a part of more than {LONGEST_PART} characters.")
    check_identifiers(input, person)
    if not re.fullmatch(REFERENCE, input["reference"]):
        raise wrong(
            "reference", "needs 1 to 64 letters, digits, `.`, `_`, `:` and `-`."
        )


def check_identifiers(input, person):
    try:
        validate_email(input["email"])
    except ValidationError:
        raise wrong("email", "is not an email address.") from None
    if len(input["email"]) > people.User._meta.get_field("email").max_length:
        raise wrong("email", "has more than 254 characters.")
    lei = input.get("lei")
    if lei is None:
        return
    if person:
        raise wrong("lei", "does not apply to INDIVIDUAL; omit it.")
    try:
        people.validate_lei(lei)
    except ValidationError as error:
        raise wrong("lei", f"is refused. {error.message}") from None


def as_argument(name):
    return "company_name" if name == "companyName" else name


def wrong(name, why):
    field = "companyName" if name == "company_name" else name
    field = "countryCode" if field == "country_code" else field
    return BadUserInput(f"`{field}` {why}", argument=f"input.{field}")


def parts_of(name):
    """The first names and the last name; its last word is the last name."""
    first, _, last = " ".join(name.split()).rpartition(" ")
    return first, last


def description_of(input):
    code = input["country_code"]
    country = people.Country.objects.filter(pk=code).first()
    if country is None:
        raise wrong(
            "countryCode", "is not an ISO 3166-1 country code; send one such as FR."
        )
    person = input["type"] == Type.INDIVIDUAL
    first, last = parts_of(input["name"]) if person else ("", "")
    return models.Description(
        type=input["type"],
        first_name=first,
        last_name=last,
        company_name=None if person else input["company_name"].strip(),
        email=input["email"],
        lei=input.get("lei"),
        country=country,
    )


class Mutation(graphene.ObjectType):
    open_account = Field(
        OpenAccountPayload,
        cost=MUTATION,
        input=OpenAccountInput(
            required=True, description="The client, and your reference for the account."
        ),
        description="Open an account for a client. It is PENDING until staff activate "
        "or reject it, which an event reports. The account gets a new user; "
        "if staff find that the client already exists, they assign the "
        "account to the existing user, and `Account.user` changes. A "
        "`reference` already used is DUPLICATE_REFERENCE with `accountID`. "
        "Needs the scope `accounts:write`; the account's `user` and "
        "`statusHistory` also need `accounts:read`.",
    )

    @check_first(check_open)
    def resolve_open_account(roots, info, input):
        client, trial = description_of(input), info.context.trial
        asked = info.context.caller, input["reference"], client, timezone.now()
        if trial is None:
            return [Opened(models.Applicant.objects.open(*asked))]
        applicant = models.Applicant.objects.try_to_open(*asked)
        would_be(trial, "Account", applicant.account)
        would_be(trial, "User", applicant.user)
        would_be(trial, "Applicant", applicant)
        return [Opened(applicant.account)]


def read_references(accounts, info):
    of = models.Applicant.objects.filter(pk__in=[a.id for a in accounts])
    found = {str(pk): reference for pk, reference in of.values_list("pk", "reference")}
    for (type_, id), row in (info.context.trial or {}).items():
        if type_ == "Applicant":
            found[id] = row.reference
    return [found.get(account.id) for account in accounts]


REFERENCE_FIELD = Field(
    graphene.String,
    cost=FOUND,
    resolver=read_references,
    description="Your reference for the account, set when you opened it; null if staff "
    "opened it.",
)
"""The field `reference` of an account."""
