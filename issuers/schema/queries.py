"""The root fields about issuers, and which rows their ids reach."""

import re

import graphene
from django.db.models.functions import Collate, Lower

from issuers import models
from issuers.filters import ClassificationFilter, IssuerFilter
from issuers.legacy.models import LegacyShareholder
from issuers.schema.classification import (
    CLASSIFICATION,
    IndustryClassificationBenchmarkConnection,
)
from issuers.schema.issuers import ISSUERS, Issuer, IssuerConnection
from issuers.schema.rows import read_issuers
from issuers.schema.search import find, search_page
from issuers.schema.tokens import Token
from issuers.search import MOST_WORDS
from issuers.visibility import holders_visible_to, users_visible_to
from issuers.visible_documents import visible_documents
from partnerapi.core.errors import BadUserInput
from partnerapi.core.filters import MOST_CODES, as_code, narrow
from partnerapi.graphql.limits import MAX_TEXT_LENGTH
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    connection_field,
    key_of,
)
from partnerapi.graphql.scalars import Time


def codes(which):
    return graphene.List(
        graphene.NonNull(graphene.String),
        description=f"Only issuers {which}, case ignored; at most {MOST_CODES}. An "
        "empty list finds none.",
    )


class Query(graphene.ObjectType):
    issuer = graphene.Field(
        Issuer,
        id=graphene.ID(description="The issuer's id."),
        slug=graphene.String(description="The issuer's slug."),
        lei=graphene.String(
            description="LEI of the issuer's owner, case-insensitive; if an owner has "
            "several issuers, the first by trading name."
        ),
        description="One issuer, by exactly one of id, slug and LEI; null if there is "
        "none.",
    )
    issuers = connection_field(
        IssuerConnection,
        "All issuers, by trading name.",
        search=graphene.String(
            description="Only issuers matching this text, best match first: an exact "
            "symbol, ISIN or LEI; then a trading name that starts with it; "
            "then words of the trading name, the company name, symbols and "
            "the LEI, where the last word may be a prefix of at least three "
            "letters. Each group is sorted by trading name. Case and "
            "accents are ignored; a blank text matches everything. At most "
            f"{MAX_TEXT_LENGTH} characters and {MOST_WORDS} words."
        ),
        country=graphene.String(
            description="Only issuers of this country, ISO 3166-1 alpha-2, "
            "case-insensitive."
        ),
        industry_code=graphene.String(
            description="Only issuers with this classification: an ICB code of 2, 4, 6 "
            "or 8 digits, for an industry, supersector, sector or subsector."
        ),
        granted=graphene.Boolean(
            description="Only issuers for which you have a grant, or, with `false`, "
            "only the others. Needs a key. With `true`, no nested field is "
            "refused for a missing grant."
        ),
        lei=codes("whose owner has one of these LEIs"),
        isin=codes("that have a token, visible to you, with one of these ISINs"),
        symbol=codes("that have a token, visible to you, with one of these symbols"),
        updated_since=Time(
            description="Only issuers whose `updatedAt` is at or after this instant. "
            "Pass the `viewer.settledAt` that you read before your last "
            "pass: you miss nothing, and may see an issuer twice."
        ),
    )
    token = graphene.Field(
        Token,
        id=graphene.ID(description="The token's id."),
        symbol=graphene.String(description="The token's symbol, case-insensitive."),
        isin=graphene.String(description="The token's ISIN, case-insensitive."),
        description="One token, by exactly one of id, symbol and ISIN; null if there "
        "is none that you may see.",
    )
    industry_classification_benchmarks = connection_field(
        IndustryClassificationBenchmarkConnection,
        "All entries of the industry classification, by subsector code.",
        code=graphene.String(
            description="Only entries under this ICB code of 2, 4, 6 or 8 digits: an "
            "industry, supersector, sector or subsector."
        ),
    )

    def resolve_issuer(roots, info, **names):
        name, value = only_one(names, ["id", "slug", "lei"])
        if name == "id":
            return read_issuers([key_of(value, "Issuer")], info)
        if name == "lei":
            owned = models.Issuer.objects.filter(owner__lei=as_code(value) or "")
            ordered = owned.order_by(Collate(Lower("trading_name"), "C"), "pk")
            first = ordered.values_list("pk", flat=True).first()
            return read_issuers([first and str(first)], info)
        slugs = [value if re.fullmatch(models.SLUG, value) else None]
        return read_rows("Issuer", info, models.Issuer.objects.all(), slugs, by="slug")

    def resolve_issuers(
        roots,
        info,
        first=None,
        last=None,
        before=None,
        after=None,
        search=None,
        **given,
    ):
        issuers = models.Issuer.objects.all()
        issuers = narrow(IssuerFilter, issuers, info.context.caller, **given)
        page = {"first": first, "last": last, "before": before, "after": after}
        if search and (found := find(search, info.context.caller, issuers)):
            return [search_page(found, info, **page)]
        return read_pages(ISSUERS, info, issuers, **page)

    def resolve_token(roots, info, **names):
        name, value = only_one(names, ["id", "symbol", "isin"])
        tokens = models.Token.objects.visible_to(info.context.caller)
        key = key_of(value, "Token") if name == "id" else as_code(value)
        return read_rows("Token", info, tokens, [key], by=name)

    def resolve_industry_classification_benchmarks(roots, info, code=None, **page):
        entries = narrow(
            ClassificationFilter,
            models.IndustryClassificationBenchmark.objects.all(),
            info.context.caller,
            code=code,
        )
        return read_pages(CLASSIFICATION, info, entries, **page)


def only_one(arguments, names):
    """The name and the value of the one argument that is given and not null.

    Raises:
        BadUserInput: none is given, or several are; `arguments` are the names.
    """
    given = [(n, v) for n, v in arguments.items() if v is not None]
    if len(given) != 1:
        listed = ", ".join(f"`{name}`" for name in names[:-1])
        raise BadUserInput(
            f"Pass exactly one of {listed} and `{names[-1]}`.", arguments=names
        )
    return given[0]


NODES = {
    "Issuer": lambda caller: models.Issuer.objects.all(),
    "Token": models.Token.objects.visible_to,
    "Article": lambda caller: models.Article.objects.published(),
    "Document": visible_documents,
    "IssuerFinancialData": models.IssuerFinancialData.objects.visible_to,
    "IssuerLegacyShareholder": LegacyShareholder.objects.visible_to,
    "IndustryClassificationBenchmark": lambda caller: (
        models.IndustryClassificationBenchmark.objects.all()
    ),
    "User": users_visible_to,
    "UserHolder": holders_visible_to,
}
"""By type, the rows that a caller may read by id."""
