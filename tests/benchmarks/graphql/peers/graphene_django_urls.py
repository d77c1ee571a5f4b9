"""graphene-django as its documentation shows it: filtered connections, its own view."""

import graphene
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from graphene import relay
from graphene_django import DjangoObjectType
from graphene_django.filter import DjangoFilterConnectionField
from graphene_django.views import GraphQLView

from tests.benchmarks.graphql.peers import models


class Country(DjangoObjectType):
    class Meta:
        model = models.Country
        fields = ["name"]


class Owner(DjangoObjectType):
    class Meta:
        model = models.Owner
        fields = [
            "company_name",
            "legal_form",
            "lei",
            "country",
            "address",
            "postal_code",
            "city",
        ]


class FinancialData(DjangoObjectType):
    class Meta:
        model = models.FinancialData
        interfaces = [relay.Node]
        filter_fields = ["year"]
        fields = [
            "id",
            "created_at",
            "period_type",
            "year",
            "revenue",
            "ebitda",
            "ebit",
            "net_income",
        ]


class Issuer(DjangoObjectType):
    class Meta:
        model = models.Issuer
        interfaces = [relay.Node]
        filter_fields = ["slug"]
        fields = [
            "id",
            "trading_name",
            "slug",
            "tag_line",
            "description",
            "market_description",
            "website",
            "twitter_url",
            "youtube_url",
            "linkedin_url",
            "facebook_url",
            "discord_url",
            "instagram_url",
            "trading_location",
            "initial_number_of_shares",
            "owner",
            "financial_data",
        ]


class Query(graphene.ObjectType):
    issuers = DjangoFilterConnectionField(Issuer)


view = GraphQLView.as_view(schema=graphene.Schema(query=Query))
urlpatterns = [path("graphql", csrf_exempt(view))]
