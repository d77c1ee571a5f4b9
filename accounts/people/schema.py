"""Users, their countries, and the profiles under which they hold tokens."""

import graphene

from accounts.people import models
from partnerapi.graphql.pages import read_rows
from partnerapi.graphql.relay import ModelType, Node, enumeration
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time

Type = models.User.Type
UserType = enumeration(
    Type,
    "UserType",
    "The kind of user.",
    {Type.INDIVIDUAL: "A natural person.", Type.COMPANY: "A legal entity."},
)
UserCompanyLegalForm = enumeration(
    models.User.LegalForm,
    "UserCompanyLegalForm",
    "Legal form of a company.",
    {form: f"{form.label.removesuffix('.')}." for form in models.User.LegalForm}
    | {
        models.User.LegalForm.COOPERATIVE: "A cooperative.",
        models.User.LegalForm.ASSOCIATION: "An association.",
        models.User.LegalForm.OTHER: "Any other legal form.",
    },
)


class Country(ModelType):
    """A country of ISO 3166-1, or Kosovo (XK)."""

    class Meta:
        model = models.Country
        fields = ["code", "alpha3", "name"]


def read_countries(codes, info):
    return read_rows("Country", info, models.Country.objects.all(), codes, by="code")


class User(ModelType):
    """A person or company: an owner, a shareholder, a holder of tokens."""

    class Meta:
        model = models.User
        fields = ["company_name", "lei"]
        interfaces = [Node]

    display_name = graphene.String(
        required=True, description="Company name, or first and last name."
    )
    type = UserType(required=True, description="Person or company.")
    company_name = graphene.String(description="Company name; null for a person.")
    legal_form = UserCompanyLegalForm(description="Legal form; null for a person.")
    lei = graphene.String(
        description="Legal Entity Identifier (ISO 17442); null for a person."
    )
    country = graphene.Field(Country, description="Country of residence or seat.")
    created_at = Time(required=True, description="When the user was registered.")

    @needs("company_name", "first_name", "last_name")
    def resolve_display_name(users, info):
        return [
            user.company_name or f"{user.first_name} {user.last_name}".strip()
            for user in users
        ]

    @needs("country_id")
    def resolve_country(users, info):
        return read_countries([user.country_id for user in users], info)


class UserHolder(ModelType):
    """The profile under which a user holds tokens; one per user."""

    class Meta:
        model = models.UserHolder
        fields = ["name", "wallet_address"]
        interfaces = [Node]

    user = graphene.Field(
        User, required=True, description="The user whose profile this is."
    )
    type = UserType(
        required=True,
        resolver=column("user__type"),
        description="Person or company.",
    )
    country = graphene.Field(Country, description="Country of residence or seat.")

    @needs("user_id")
    def resolve_user(holders, info):
        return read_rows(
            "User", info, models.User.objects.all(), [h.user_id for h in holders]
        )

    @needs("user__country_id")
    def resolve_country(holders, info):
        return read_countries([h.user__country_id for h in holders], info)
