"""The arguments that narrow lists of issuers and of what they have."""

import django_filters
from django.core.validators import RegexValidator
from django.db.models import CharField, Func
from django.db.models.lookups import Exact

from accounts.access import Unauthenticated
from accounts.people.models import User
from issuers.legacy.models import LegacyShareholder
from issuers.models import (
    Article,
    IndustryClassificationBenchmark,
    Issuer,
    IssuerFinancialData,
    Token,
)
from partnerapi.core.filters import CodesFilter


def industry_code(name: str) -> RegexValidator:
    return RegexValidator(
        r"\A(?:[0-9]{2}){1,4}\Z",
        f"`{name}` is %(value).30r; pass 2, 4, 6 or 8 digits.",
    )


class IssuerFilter(django_filters.FilterSet):
    country = django_filters.CharFilter(
        method="in_country",
        strip=False,
        validators=[
            RegexValidator(
                r"\A[A-Za-z]{2}\Z",
                "`country` is %(value).30r; pass two letters such as FR.",
            )
        ],
    )
    industry_code = django_filters.CharFilter(
        method="in_industry", strip=False, validators=[industry_code("industryCode")]
    )
    granted = django_filters.Filter(method="with_grant")
    lei = CodesFilter("with_lei")
    isin = CodesFilter("with_isin")
    symbol = CodesFilter("with_symbol")
    updated_since = django_filters.Filter("updated_at", "gte")

    class Meta:
        model = Issuer
        fields = [
            "country",
            "industry_code",
            "granted",
            "lei",
            "isin",
            "symbol",
            "updated_since",
        ]

    def in_country(self, issuers, name, value):
        """Compare codes, case ignored; they are stored in capitals."""
        return issuers.filter(country_id=value.upper())

    def in_industry(self, issuers, name, value):
        # Literals as in the indexes: PostgreSQL does not know a parameter's value.
        beginning = Func(
            "industry_code",
            template=f"LEFT(%(expressions)s, {len(value)})",
            output_field=CharField(),
        )
        return issuers.filter(Exact(beginning, value))

    def with_grant(self, issuers, name, value):
        caller = self.request
        if caller is None:
            raise Unauthenticated(
                "`granted` needs an API key: send it in the X-Token-Auth header."
            )
        if caller.granted_issuers is None:
            return issuers if value else issuers.none()
        keep = issuers.filter if value else issuers.exclude
        return keep(pk__in=caller.granted_issuers)

    def with_lei(self, issuers, codes):
        return issuers.filter(owner__in=User.objects.filter(lei__in=codes))

    def with_isin(self, issuers, codes):
        return issuers.filter(pk__in=self.issuers_of_tokens(isin__in=codes))

    def with_symbol(self, issuers, codes):
        return issuers.filter(pk__in=self.issuers_of_tokens(symbol__in=codes))

    def issuers_of_tokens(self, **condition):
        tokens = Token.objects.visible_to(self.request).filter(**condition)
        return tokens.values("issuer_id")


class LegacyShareholderFilter(django_filters.FilterSet):
    status = django_filters.Filter()
    updated_since = django_filters.Filter("updated_at", "gte")

    class Meta:
        model = LegacyShareholder
        fields = ["status", "updated_since"]


class FinancialDataFilter(django_filters.FilterSet):
    year = django_filters.Filter()
    period_type = django_filters.Filter()

    class Meta:
        model = IssuerFinancialData
        fields = ["year", "period_type"]


class ArticleFilter(django_filters.FilterSet):
    published_after = django_filters.Filter("published_at", "gt")

    class Meta:
        model = Article
        fields = ["published_after"]


class ClassificationFilter(django_filters.FilterSet):
    code = django_filters.CharFilter(
        "subsector_code", "startswith", strip=False, validators=[industry_code("code")]
    )

    class Meta:
        model = IndustryClassificationBenchmark
        fields = ["code"]
