"""The part of the schema about issuers, what they publish, and their shareholders."""

import re
from uuid import UUID

import graphene

from accounts.callers import Scope, requires
from accounts.models import User as UserModel
from accounts.schema import Country, User, UserCompanyLegalForm, read_countries
from issuers import models
from issuers.captable_schema import CapitalizationTable, read_capitalization_tables
from issuers.filters import IssuerFilter
from issuers.grants import requires_grant
from partnerapi.engine.errors import BadUserInput
from partnerapi.engine.pages import read_pages, read_rows
from partnerapi.engine.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
    enumeration,
    key_of,
)
from partnerapi.engine.resolvers import column, needs
from partnerapi.engine.scalars import Time, Uint64
from partnerapi.engine.statements import Key, List

ISSUERS = List(
    "issuers",
    "Issuer",
    models.Issuer,
    (Key('lower(issuers_issuer.trading_name) COLLATE "C"', "text"),),
)
CLASSIFICATION = List(
    "classification",
    "IndustryClassificationBenchmark",
    models.IndustryClassificationBenchmark,
    (Key("issuers_industryclassificationbenchmark.subsector_code", "text"),),
    unique=True,
)
TOKENS = List(
    "tokens",
    "Token",
    models.Token,
    (Key("issuers_token.created_at", "timestamptz"),),
    parent="issuer_id",
)
ARTICLES = List(
    "articles",
    "Article",
    models.Article,
    (Key("issuers_article.published_at", "timestamptz"),),
    descending=True,
    parent="issuer_id",
)
LEGACY_SHAREHOLDERS = List(
    "legacyShareholders",
    "IssuerLegacyShareholder",
    models.LegacyShareholder,
    (Key("issuers_legacyshareholder.created_at", "timestamptz"),),
    parent="issuer_id",
)
FINANCIAL_DATA = List(
    "financialData",
    "IssuerFinancialData",
    models.IssuerFinancialData,
    # Backwards, YEAR comes before FIRST_SEMESTER.
    (
        Key("issuers_issuerfinancialdata.year", "bigint"),
        Key("issuers_issuerfinancialdata.period_type", "text"),
    ),
    descending=True,
    unique=True,
    parent="issuer_id",
)

IN_CENTS = "euro cents, exact up to ±(2⁵³−1), which is beyond 32 bits"

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
Status = models.LegacyShareholder.Status
IssuerLegacyShareholderStatus = enumeration(
    Status,
    "IssuerLegacyShareholderStatus",
    "Whether legacy shares have become tokens.",
    {
        Status.PENDING: "Shares recorded, not yet delivered on-chain.",
        Status.DELIVERED: "Shares delivered on-chain.",
    },
)
MarketType = models.Token.MarketType
IssuerMarketType = enumeration(
    MarketType,
    "IssuerMarketType",
    "The market on which a token is sold.",
    {
        MarketType.PRIMARY_MARKET: "Initial offering phase, tokens sold directly by "
        "the issuer.",
        MarketType.SECONDARY_MARKET: "Post-offering phase, tokens traded between "
        "investors.",
    },
)
Visibility = models.Token.Visibility
TokenVisibility = enumeration(
    Visibility,
    "TokenVisibility",
    "Who can see a token.",
    {
        Visibility.PUBLIC: "Everybody.",
        Visibility.PRIVATE: "Partners with a grant for the issuer.",
    },
)


def read_issuers(ids, info):
    return read_rows("Issuer", info, models.Issuer.objects.all(), ids)


def read_users(ids, info):
    return read_rows("User", info, UserModel.objects.all(), ids)


def read_documents(ids, info):
    return read_rows("Document", info, models.Document.objects.all(), ids)


class IndustryClassificationBenchmark(ModelType):
    """Four-level taxonomy entry that categorises issuers."""

    class Meta:
        model = models.IndustryClassificationBenchmark
        fields = [
            "industry",
            "supersector",
            "sector",
            "subsector",
            "description",
            "subsector_code",
        ]
        interfaces = [Node]


class IndustryClassificationBenchmarkConnection(Connection):
    class Meta:
        node = IndustryClassificationBenchmark
        nullable_nodes = True


class Document(ModelType):
    """A file, served at its address and never changed."""

    class Meta:
        model = models.Document
        fields = ["name", "content_type", "checksum_sha256"]
        interfaces = [Node]

    size_bytes = Uint64(required=True, description="Size in bytes.")
    url = graphene.String(required=True, description="Where the file is served.")
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
    """Key figures of one period; null where the issuer has not published a figure."""

    class Meta:
        model = models.IssuerFinancialData
        fields = ()
        interfaces = [Node]

    created_at = Time(required=True, description="When the figures were recorded.")
    issuer = graphene.Field(lambda: Issuer, required=True, description="Owning issuer.")
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

    @needs("issuer_id")
    def resolve_issuer(figures, info):
        return read_issuers([figure.issuer_id for figure in figures], info)


class IssuerFinancialDataConnection(Connection):
    class Meta:
        node = IssuerFinancialData
        nullable_nodes = True


class IssuerLegacyShareholder(ModelType):
    """A line of the issuer's capitalization table from before the platform.

    It records the shares and whether they have been delivered as tokens.
    """

    class Meta:
        model = models.LegacyShareholder
        fields = ()
        interfaces = [Node]

    issuer = graphene.Field(
        lambda: Issuer,
        required=True,
        description="Issuer whose legacy table holds the record.",
    )
    user = graphene.Field(User, required=True, description="Linked user account.")
    status = IssuerLegacyShareholderStatus(
        required=True, description="Delivery status."
    )
    number_of_shares = graphene.Int(required=True, description="Legacy shares held.")
    price = graphene.Int(
        required=True,
        resolver=column("price_cents"),
        description="Price of one share at import time, euro cents.",
    )
    created_at = Time(required=True, description="When the record was imported.")

    @needs("issuer_id")
    def resolve_issuer(shareholders, info):
        return read_issuers([s.issuer_id for s in shareholders], info)

    @needs("user_id")
    def resolve_user(shareholders, info):
        return read_users([s.user_id for s in shareholders], info)


class LegacyShareholderConnection(Connection):
    class Meta:
        node = IssuerLegacyShareholder


class Token(ModelType):
    """A tokenised share class of an issuer."""

    class Meta:
        model = models.Token
        fields = ["name", "symbol", "isin", "contract_address", "network"]
        interfaces = [Node]

    issuer = graphene.Field(
        lambda: Issuer, required=True, description="Issuer of the token."
    )
    market_type = IssuerMarketType(
        required=True, description="Market on which the token is sold."
    )
    visibility = TokenVisibility(required=True, description="Who can see the token.")
    created_at = Time(required=True, description="When the token was registered.")
    current_price = Uint64(
        description="Latest unit price, euro cents; null before the first. Needs the "
        "scope `issuers:read`."
    )
    total_supply = Uint64(
        description="Units that exist now. Needs the scope `issuers:read`."
    )

    @needs("issuer_id")
    def resolve_issuer(tokens, info):
        return read_issuers([token.issuer_id for token in tokens], info)

    @requires(Scope.ISSUERS_READ)
    def resolve_current_price(tokens, info):
        heads = models.TokenLedgerHead.objects.in_bulk(ids(tokens))
        return [heads[UUID(token.id)].price_cents for token in tokens]

    @requires(Scope.ISSUERS_READ)
    def resolve_total_supply(tokens, info):
        heads = models.TokenLedgerHead.objects.in_bulk(ids(tokens))
        return [heads[UUID(token.id)].supply for token in tokens]


class TokenConnection(Connection):
    class Meta:
        node = Token


class Issuer(ModelType):
    """A company listed on the platform."""

    class Meta:
        model = models.Issuer
        fields = [
            "trading_name",
            "tag_line",
            "description",
            "website",
            "slug",
            "trading_location",
            "twitter_url",
            "youtube_url",
            "linkedin_url",
            "facebook_url",
            "discord_url",
            "instagram_url",
            "market_description",
        ]
        interfaces = [Node]

    country = graphene.Field(Country, description="Country of the issuer.")
    lei = graphene.String(
        resolver=column("owner__lei"),
        description="Legal Entity Identifier (ISO 17442) of the owner; null when the "
        "owner is an individual.",
    )
    owner = graphene.Field(
        User,
        required=True,
        description="User who owns and administers the issuer. Needs the scope "
        "`issuers:read`; an error here nulls the issuer.",
    )
    tokens = connection_field(
        TokenConnection,
        "Tokens of the issuer, oldest first; PRIVATE ones only with a grant.",
        visibility=TokenVisibility(
            description="Only tokens of this visibility; absent: all that you may see."
        ),
    )
    company_logo = graphene.Field(Document, description="Logo document.")
    industry_classification_benchmark = graphene.Field(
        IndustryClassificationBenchmark,
        description="Classification assigned to the issuer.",
    )
    articles = connection_field(
        ArticleConnection, "Published articles of the issuer, newest first."
    )
    legacy_shareholders = connection_field(
        LegacyShareholderConnection,
        "Legacy shareholders imported before the on-chain migration, in the order of "
        "their creation. Needs the scope `shareholders:read` and a grant for the "
        "issuer; an error here nulls the issuer.",
    )
    capitalization_table = graphene.Field(
        CapitalizationTable,
        required=True,
        date=Time(
            description="Instant of the snapshot; absent, or in the future: now."
        ),
        description="Who holds what at an instant: the same instant gives the same "
        "table for ever. Needs the scope `captable:read` and a grant for the issuer; "
        "an error here nulls the issuer.",
    )
    initial_number_of_shares = graphene.Int(
        description="Initial number of shares to be issued, exact up to 2⁵³−1, which "
        "is beyond 32 bits."
    )
    financial_data = connection_field(
        IssuerFinancialDataConnection,
        "Key financial data, latest year first, full year before first semester. "
        "Needs the scope `issuers:read`; an error here nulls the issuer.",
    )
    company_name = graphene.String(
        resolver=column("owner__company_name"),
        description="Company name of the legal entity; null when the owner is an "
        "individual.",
    )
    legal_form = UserCompanyLegalForm(
        resolver=column("owner__legal_form"),
        description="Legal form of the company; null when the owner is an individual.",
    )
    headquarters_address = graphene.String(
        description="Address of the company on one line; null when the owner is an "
        "individual."
    )

    @needs("country_id")
    def resolve_country(issuers, info):
        return read_countries([issuer.country_id for issuer in issuers], info)

    @requires(Scope.ISSUERS_READ)
    @needs("owner_id")
    def resolve_owner(issuers, info):
        return read_users([issuer.owner_id for issuer in issuers], info)

    def resolve_tokens(issuers, info, visibility=None, **page):
        tokens = models.Token.objects.visible_to(info.context.caller)
        if visibility is not None:
            tokens = tokens.filter(visibility=visibility)
        return read_pages(TOKENS, info, tokens, ids(issuers), **page)

    @needs("company_logo_id")
    def resolve_company_logo(issuers, info):
        return read_documents([issuer.company_logo_id for issuer in issuers], info)

    @needs("industry_classification_benchmark_id")
    def resolve_industry_classification_benchmark(issuers, info):
        return read_rows(
            "IndustryClassificationBenchmark",
            info,
            models.IndustryClassificationBenchmark.objects.all(),
            [issuer.industry_classification_benchmark_id for issuer in issuers],
        )

    def resolve_articles(issuers, info, **page):
        articles = models.Article.objects.published()
        return read_pages(ARTICLES, info, articles, ids(issuers), **page)

    @requires(Scope.SHAREHOLDERS_READ)
    @requires_grant
    def resolve_legacy_shareholders(issuers, info, **page):
        shareholders = models.LegacyShareholder.objects.all()
        return read_pages(LEGACY_SHAREHOLDERS, info, shareholders, ids(issuers), **page)

    @requires(Scope.CAPTABLE_READ)
    @requires_grant
    def resolve_capitalization_table(issuers, info, date=None):
        return read_capitalization_tables(ids(issuers), date, info)

    @requires(Scope.ISSUERS_READ)
    def resolve_financial_data(issuers, info, **page):
        figures = models.IssuerFinancialData.objects.all()
        return read_pages(FINANCIAL_DATA, info, figures, ids(issuers), **page)

    @needs(
        "owner__type",
        "owner__address",
        "owner__postal_code",
        "owner__city",
        "owner__country__name",
    )
    def resolve_headquarters_address(issuers, info):
        return [headquarters_address(issuer) for issuer in issuers]


class IssuerConnection(Connection):
    class Meta:
        node = Issuer


def ids(issuers):
    return [issuer.id for issuer in issuers]


def headquarters_address(issuer):
    if issuer.owner__type != UserModel.Type.COMPANY:
        return None
    town = f"{issuer.owner__postal_code} {issuer.owner__city}".strip()
    parts = (issuer.owner__address, town, issuer.owner__country__name)
    return ", ".join(part for part in parts if part) or None


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
            description="Only issuers of this country, ISO 3166-1 alpha-2."
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
    "IssuerLegacyShareholder": models.LegacyShareholder.objects.visible_to,
    "IndustryClassificationBenchmark": lambda caller: (
        models.IndustryClassificationBenchmark.objects.all()
    ),
    "User": models.users_visible_to,
    "UserHolder": models.holders_visible_to,
}
"""By type, the rows that a caller may read by id."""
