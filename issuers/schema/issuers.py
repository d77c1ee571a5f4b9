"""The issuer, from which everything else is reached."""

import graphene

from accounts.access import Scope, requires, requires_grant
from accounts.people.models import User as UserModel
from accounts.people.schema import Country, User, UserCompanyLegalForm, read_countries
from accounts.totals import Listed, totals
from issuers import models
from issuers.filters import (
    ArticleFilter,
    FinancialDataFilter,
    LegacyShareholderFilter,
)
from issuers.legacy.models import LegacyShareholder
from issuers.schema.captable import (
    CapitalizationTable,
    read_capitalization_tables,
)
from issuers.schema.classification import IndustryClassificationBenchmark
from issuers.schema.legacy import (
    LEGACY_SHAREHOLDERS,
    IssuerLegacyShareholderStatus,
    LegacyShareholderConnection,
)
from issuers.schema.publications import (
    ARTICLES,
    FINANCIAL_DATA,
    ArticleConnection,
    Document,
    IssuerFinancialDataConnection,
    IssuerFinancialDataPeriodType,
)
from issuers.schema.rows import NULLS_ISSUER, ids, read_documents, read_users
from issuers.schema.tokens import (
    TOKENS,
    TokenConnection,
    TokenVisibility,
)
from partnerapi.core.filters import narrow
from partnerapi.graphql.cost import FOUND, Field
from partnerapi.graphql.pages import read_pages, read_rows
from partnerapi.graphql.relay import (
    Connection,
    ModelType,
    Node,
    connection_field,
)
from partnerapi.graphql.resolvers import column, needs
from partnerapi.graphql.scalars import Time
from partnerapi.graphql.statements import OrderedList, OrderKey

ISSUERS = OrderedList(
    "issuers",
    "Issuer",
    models.Issuer,
    (OrderKey('lower(issuers_issuer.trading_name) COLLATE "C"', "text"),),
)


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
        description="Legal Entity Identifier (ISO 17442) of the owner; null if the "
        "owner is an individual.",
    )
    owner = graphene.Field(
        User,
        required=True,
        description="User who owns and administers the issuer. Needs the scope "
        f"`issuers:read`; {NULLS_ISSUER}.",
    )
    tokens = connection_field(
        TokenConnection,
        "Tokens of the issuer, oldest first; PRIVATE tokens require a grant.",
        visibility=TokenVisibility(
            description="Only tokens of this visibility; defaults to all that you may "
            "see."
        ),
    )
    company_logo = graphene.Field(Document, description="Logo document.")
    industry_classification_benchmark = graphene.Field(
        IndustryClassificationBenchmark,
        description="Classification assigned to the issuer.",
    )
    articles = connection_field(
        ArticleConnection,
        "Published articles of the issuer, newest first; each appears at its "
        "`publishedAt`.",
        published_after=Time(description="Only articles published after this instant."),
    )
    legacy_shareholders = connection_field(
        LegacyShareholderConnection,
        "Legacy shareholders imported before the on-chain migration, oldest first. "
        "Needs the scope `shareholders:read` and a grant for the issuer; "
        f"{NULLS_ISSUER}.",
        status=IssuerLegacyShareholderStatus(
            description="Only legacy shareholders with this status."
        ),
        updated_since=Time(
            description="Only legacy shareholders imported, corrected or delivered at "
            "or after this instant. Pass the `viewer.settledAt` that you "
            "read before your last pass."
        ),
    )
    capitalization_table = Field(
        CapitalizationTable,
        cost=FOUND,
        required=True,
        date=Time(
            description="Instant of the snapshot; defaults to now, as do future "
            "instants."
        ),
        description=(
            "Holders and their holdings at an instant: the same instant always gives "
            "the same table. Needs the scope `captable:read` and a grant for the "
            f"issuer; {NULLS_ISSUER}."
        ),
    )
    initial_number_of_shares = graphene.Int(
        description="Initial number of shares to be issued, exact up to 2⁵³−1, so it "
        "can exceed 32 bits."
    )
    financial_data = connection_field(
        IssuerFinancialDataConnection,
        "Key financial data, latest year first, full year before first semester. "
        f"Needs the scope `issuers:read`; {NULLS_ISSUER}.",
        year=graphene.Int(description="Only data of this calendar year."),
        period_type=IssuerFinancialDataPeriodType(
            description="Only data of this period type."
        ),
    )
    company_name = graphene.String(
        resolver=column("owner__company_name"),
        description="Company name of the legal entity; null if the owner is an "
        "individual.",
    )
    legal_form = UserCompanyLegalForm(
        resolver=column("owner__legal_form"),
        description="Legal form of the company; null if the owner is an individual.",
    )
    headquarters_address = graphene.String(
        description="Address of the company on one line; null if the owner is an "
        "individual."
    )
    updated_at = Time(
        required=True,
        description="When a field of the issuer, or one derived from its owner, last "
        "changed; changes of its lists do not count.",
    )
    viewer_grant = graphene.Boolean(
        required=True,
        description="Whether you have a grant for the issuer; false without a key.",
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

    def resolve_articles(issuers, info, published_after=None, **page):
        articles = narrow(
            ArticleFilter,
            models.Article.objects.published(),
            info.context.caller,
            published_after=published_after,
        )
        return read_pages(ARTICLES, info, articles, ids(issuers), **page)

    @requires(Scope.SHAREHOLDERS_READ)
    @requires_grant
    def resolve_legacy_shareholders(
        issuers, info, status=None, updated_since=None, **page
    ):
        shareholders = narrow(
            LegacyShareholderFilter,
            LegacyShareholder.objects.all(),
            info.context.caller,
            status=status,
            updated_since=updated_since,
        )
        of_issuers = ids(issuers)
        is_whole = status is None and updated_since is None
        known = totals(Listed.LEGACY_SHAREHOLDERS, of_issuers) if is_whole else None
        return read_pages(
            LEGACY_SHAREHOLDERS, info, shareholders, of_issuers, known=known, **page
        )

    @requires(Scope.CAPTABLE_READ)
    @requires_grant
    def resolve_capitalization_table(issuers, info, date=None):
        return read_capitalization_tables(ids(issuers), date, info)

    @requires(Scope.ISSUERS_READ)
    def resolve_financial_data(issuers, info, year=None, period_type=None, **page):
        figures = narrow(
            FinancialDataFilter,
            models.IssuerFinancialData.objects.all(),
            info.context.caller,
            year=year,
            period_type=period_type,
        )
        return read_pages(FINANCIAL_DATA, info, figures, ids(issuers), **page)

    def resolve_viewer_grant(issuers, info):
        caller = info.context.caller
        return [bool(caller and caller.may_see(issuer.id)) for issuer in issuers]

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


def headquarters_address(issuer):
    if issuer.owner__type != UserModel.Type.COMPANY:
        return None
    town = f"{issuer.owner__postal_code} {issuer.owner__city}".strip()
    parts = (issuer.owner__address, town, issuer.owner__country__name)
    return ", ".join(part for part in parts if part) or None
