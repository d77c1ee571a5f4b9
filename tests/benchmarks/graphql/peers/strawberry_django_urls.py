"""strawberry-django as its documentation shows it, with its query optimizer."""

import strawberry
import strawberry_django
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from strawberry import relay
from strawberry.django.views import GraphQLView
from strawberry_django.optimizer import DjangoOptimizerExtension
from strawberry_django.relay import DjangoListConnection

from tests.benchmarks.graphql.peers import models


@strawberry_django.type(models.Country)
class Country:
    name: strawberry.auto


@strawberry_django.type(models.Owner)
class Owner:
    company_name: strawberry.auto
    legal_form: strawberry.auto
    lei: strawberry.auto
    country: Country | None
    address: strawberry.auto
    postal_code: strawberry.auto
    city: strawberry.auto


@strawberry_django.type(models.FinancialData)
class FinancialData(relay.Node):
    created_at: strawberry.auto
    period_type: strawberry.auto
    year: strawberry.auto
    revenue: strawberry.auto
    ebitda: strawberry.auto
    ebit: strawberry.auto
    net_income: strawberry.auto


@strawberry_django.type(models.Issuer)
class Issuer(relay.Node):
    trading_name: strawberry.auto
    slug: strawberry.auto
    tag_line: strawberry.auto
    description: strawberry.auto
    market_description: strawberry.auto
    website: strawberry.auto
    twitter_url: strawberry.auto
    youtube_url: strawberry.auto
    linkedin_url: strawberry.auto
    facebook_url: strawberry.auto
    discord_url: strawberry.auto
    instagram_url: strawberry.auto
    trading_location: strawberry.auto
    initial_number_of_shares: strawberry.auto
    owner: Owner
    financial_data: DjangoListConnection[FinancialData] = strawberry_django.connection()


@strawberry.type
class Query:
    issuers: DjangoListConnection[Issuer] = strawberry_django.connection()


schema = strawberry.Schema(query=Query, extensions=[DjangoOptimizerExtension])
urlpatterns = [path("graphql", csrf_exempt(GraphQLView.as_view(schema=schema)))]
