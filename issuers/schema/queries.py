"""The root fields about issuers, and which rows their ids reach."""

import re

import graphene

from issuers import models
from issuers.filters import IssuerFilter
from issuers.legacy.models import LegacyShareholder
from issuers.schema.classification import (
    CLASSIFICATION,
    IndustryClassificationBenchmarkConnection,
)
from issuers.schema.issuers import ISSUERS, Issuer, IssuerConnection
from issuers.schema.rows import read_issuers
from issuers.schema.tokens import Token
from issuers.visibility import holders_visible_to, users_visible_to
from partnerapi.core.errors import BadUserInput
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    connection_field,
    key_of,
)


class Query(graphene.ObjectType):
    issuer = graphene.Field(
        Issuer,
        id=graphene.ID(description="The issuer's id."),
        slug=graphene.String(description="The issuer's slug."),
        description="One issuer, by exactly one of its id and its slug; null when "
        "there is none.",
    )
    issuers = connection_field(
        IssuerConnection,
        "All issuers, by trading name.",
        search=graphene.String(
            description="Only issuers whose trading name begins so, case ignored."
        ),
        country=graphene.String(
            description="Only issuers of this country, ISO 3166-1 alpha-2, case "
            "ignored."
        ),
        industry_code=graphene.String(
            description="Only issuers classified here: an ICB code of 2, 4, 6 or 8 "
            "digits, for an industry, supersector, sector or subsector."
        ),
    )
    token = graphene.Field(
        Token,
        id=graphene.ID(required=True, description="The token's id."),
        description="One token; null when there is none that you may see.",
    )
    industry_classification_benchmarks = connection_field(
        IndustryClassificationBenchmarkConnection,
        "All entries of the industry classification, by subsector code.",
    )

    def resolve_issuer(roots, info, id=None, slug=None):
        if (id is None) == (slug is None):
            raise BadUserInput(
                "Pass exactly one of `id` and `slug`.", arguments=["id", "slug"]
            )
        if id is not None:
            return read_issuers([key_of(id, "Issuer")], info)
        slugs = [slug if re.fullmatch(models.SLUG, slug) else None]
        return read_rows("Issuer", info, models.Issuer.objects.all(), slugs, by="slug")

    def resolve_issuers(
        roots, info, search=None, country=None, industry_code=None, **page
    ):
        issuers = models.Issuer.objects.all()
        given = {"search": search, "country": country, "industry_code": industry_code}
        if any(given.values()):
            check_filters(search, country, industry_code)
            issuers = IssuerFilter(given, issuers).qs
        return read_pages(ISSUERS, info, issuers, **page)

    def resolve_token(roots, info, id):
        tokens = models.Token.objects.visible_to(info.context.caller)
        return read_rows("Token", info, tokens, [key_of(id, "Token")])

    def resolve_industry_classification_benchmarks(roots, info, **page):
        entries = models.IndustryClassificationBenchmark.objects.all()
        return read_pages(CLASSIFICATION, info, entries, **page)


def check_filters(search, country, industry_code):
    if search and "\0" in search:
        raise BadUserInput(
            "`search` holds a NUL character; send text.", argument="search"
        )
    if country and not re.fullmatch(r"[A-Za-z]{2}", country):
        raise BadUserInput(
            f"`country` is {country!r}; pass two letters such as FR.",
            argument="country",
        )
    if industry_code and not re.fullmatch(r"(?:[0-9]{2}){1,4}", industry_code):
        raise BadUserInput(
            f"`industryCode` is {industry_code!r}; pass 2, 4, 6 or 8 digits.",
            argument="industryCode",
        )


NODES = {
    "Issuer": lambda caller: models.Issuer.objects.all(),
    "Token": models.Token.objects.visible_to,
    "Article": lambda caller: models.Article.objects.published(),
    "Document": lambda caller: models.public_documents(),
    "IssuerFinancialData": models.IssuerFinancialData.objects.visible_to,
    "IssuerLegacyShareholder": LegacyShareholder.objects.visible_to,
    "IndustryClassificationBenchmark": lambda caller: (
        models.IndustryClassificationBenchmark.objects.all()
    ),
    "User": users_visible_to,
    "UserHolder": holders_visible_to,
}
"""By type, the rows that a caller may read by id."""
