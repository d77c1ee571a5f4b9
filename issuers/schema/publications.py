"""What issuers publish: documents, articles, financial data."""

import graphene

from issuers import models
from issuers.schema.rows import read_documents, read_issuers
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    enumeration,
)
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Int64, Time, Uint64
from partnerapi.graphql.statements import OrderedList, OrderKey

ARTICLES = OrderedList(
    "articles",
    "Article",
    models.Article,
    (OrderKey("issuers_article.published_at", "timestamptz"),),
    descending=True,
    parent="issuer_id",
)


FINANCIAL_DATA = OrderedList(
    "financialData",
    "IssuerFinancialData",
    models.IssuerFinancialData,
    # Backwards, YEAR comes before FIRST_SEMESTER.
    (
        OrderKey("issuers_issuerfinancialdata.year", "bigint"),
        OrderKey("issuers_issuerfinancialdata.period_type", "text"),
    ),
    descending=True,
    unique=True,
    parent="issuer_id",
)


IN_CENTS = "euro cents, exact up to ±(2⁵³−1), so it can exceed 32 bits"


def twin(name):
    return (
        f"The amount of `{name}`, euro cents, in a type of 64 bits, for clients whose "
        "`Int` has 32."
    )


PeriodType = models.IssuerFinancialData.PeriodType


IssuerFinancialDataPeriodType = enumeration(
    PeriodType,
    "IssuerFinancialDataPeriodType",
    "The period that financial data cover.",
    {
        PeriodType.FIRST_SEMESTER: "First semester (S1) data.",
        PeriodType.YEAR: "Full-year data.",
    },
)


class Document(ModelType):
    """A file, served at its URL, that never changes."""

    class Meta:
        model = models.Document
        fields = ["name", "content_type", "checksum_sha256"]
        interfaces = [Node]

    size_bytes = Uint64(required=True, description="Size in bytes.")
    url = graphene.String(
        required=True,
        description="URL of the file. It needs no key, except for a document of an "
        "offering of a PRIVATE token: send the `X-Token-Auth` of a partner that may "
        "see the token.",
    )
    created_at = Time(required=True, description="When the file was stored.")

    @needs("name")
    def resolve_url(documents, info):
        return [
            info.context.absolute_url(f"/documents/{document.id}/{document.name}")
            for document in documents
        ]


class Article(ModelType):
    """News that an issuer has published."""

    class Meta:
        model = models.Article
        fields = ["title", "slug", "summary", "body", "url"]
        interfaces = [Node]

    published_at = Time(required=True, description="When the article was published.")
    cover_image = graphene.Field(Document, description="Picture of the article.")

    @needs("cover_image_id")
    def resolve_cover_image(articles, info):
        return read_documents([a.cover_image_id for a in articles], info)


class ArticleConnection(Connection):
    class Meta:
        node = Article


class IssuerFinancialData(ModelType):
    """Key figures of one period; a figure that the issuer has not published is null."""

    class Meta:
        model = models.IssuerFinancialData
        fields = ()
        interfaces = [Node]

    created_at = Time(required=True, description="When the figures were recorded.")
    issuer = graphene.Field(
        "issuers.schema.issuers.Issuer",
        required=True,
        description="Issuer of the figures.",
    )
    period_type = IssuerFinancialDataPeriodType(
        required=True, description="Half or full year."
    )
    year = graphene.Int(required=True, description="Calendar year.")
    revenue = graphene.Int(
        resolver=column("revenue_cents"), description=f"Revenue, {IN_CENTS}."
    )
    ebitda = graphene.Int(
        resolver=column("ebitda_cents"),
        description="Earnings before interest, taxes, depreciation and amortisation, "
        f"{IN_CENTS}.",
    )
    ebit = graphene.Int(
        resolver=column("ebit_cents"),
        description=f"Earnings before interest and taxes, {IN_CENTS}.",
    )
    net_income = graphene.Int(
        resolver=column("net_income_cents"), description=f"Net income, {IN_CENTS}."
    )

    revenue_cents = Int64(description=twin("revenue"))
    ebitda_cents = Int64(description=twin("ebitda"))
    ebit_cents = Int64(description=twin("ebit"))
    net_income_cents = Int64(description=twin("netIncome"))

    @needs("issuer_id")
    def resolve_issuer(figures, info):
        return read_issuers([figure.issuer_id for figure in figures], info)


class IssuerFinancialDataConnection(Connection):
    class Meta:
        node = IssuerFinancialData
        nullable_nodes = True
