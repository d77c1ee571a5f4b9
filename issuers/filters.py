"""The arguments that narrow the list of issuers."""

import django_filters
from django.db.models import Value
from django.db.models.functions import Collate, Lower

from issuers.models import IndustryClassificationBenchmark, Issuer


class IssuerFilter(django_filters.FilterSet):
    search = django_filters.CharFilter(method="starting_with", strip=False)
    country = django_filters.CharFilter(method="in_country")
    industry_code = django_filters.CharFilter(method="in_industry")

    class Meta:
        model = Issuer
        fields = ["search", "country", "industry_code"]

    def starting_with(self, issuers, name, value):
        """Compare prefixes, case ignored; the index that orders the list finds them."""
        # The database lowers both: Python knows letters that a database may not know.
        return issuers.alias(lower_name=Collate(Lower("trading_name"), "C")).filter(
            lower_name__startswith=Lower(Value(value))
        )

    def in_country(self, issuers, name, value):
        """Compare codes, case ignored; they are stored in capitals."""
        return issuers.filter(country_id=value.upper())

    def in_industry(self, issuers, name, value):
        return issuers.filter(
            industry_classification_benchmark__in=(
                IndustryClassificationBenchmark.objects.filter(
                    subsector_code__startswith=value
                )
            )
        )
