"""The product's tables as a peer's own Django models; nothing of the product's code.

Ordered by primary key, the cheapest order there is: the rows are made so that it is
also the order in which the product lists them.
"""

from django.db import models


class Country(models.Model):
    code = models.CharField(max_length=2, primary_key=True)
    name = models.CharField(max_length=100)

    class Meta:
        managed = False
        db_table = "accounts_country"


class Owner(models.Model):
    id = models.UUIDField(primary_key=True)
    company_name = models.CharField(max_length=200, null=True)
    legal_form = models.CharField(max_length=12, null=True)
    lei = models.CharField(max_length=20, null=True)
    country = models.ForeignKey(Country, models.PROTECT, null=True, related_name="+")
    address = models.CharField(max_length=200)
    postal_code = models.CharField(max_length=20)
    city = models.CharField(max_length=100)

    class Meta:
        managed = False
        db_table = "accounts_user"


class Issuer(models.Model):
    id = models.UUIDField(primary_key=True)
    trading_name = models.CharField(max_length=200)
    slug = models.SlugField(max_length=100)
    tag_line = models.CharField(max_length=200, null=True)
    description = models.TextField(null=True)
    market_description = models.TextField(null=True)
    website = models.URLField(null=True)
    twitter_url = models.URLField(null=True)
    youtube_url = models.URLField(null=True)
    linkedin_url = models.URLField(null=True)
    facebook_url = models.URLField(null=True)
    discord_url = models.URLField(null=True)
    instagram_url = models.URLField(null=True)
    trading_location = models.CharField(max_length=100)
    initial_number_of_shares = models.IntegerField(null=True)
    owner = models.ForeignKey(Owner, models.PROTECT, related_name="+")

    class Meta:
        managed = False
        db_table = "issuers_issuer"
        ordering = ["id"]


class FinancialData(models.Model):
    id = models.UUIDField(primary_key=True)
    issuer = models.ForeignKey(Issuer, models.CASCADE, related_name="financial_data")
    created_at = models.DateTimeField()
    period_type = models.CharField(max_length=14)
    year = models.IntegerField()
    revenue = models.IntegerField(null=True, db_column="revenue_cents")
    ebitda = models.IntegerField(null=True, db_column="ebitda_cents")
    ebit = models.IntegerField(null=True, db_column="ebit_cents")
    net_income = models.IntegerField(null=True, db_column="net_income_cents")

    class Meta:
        managed = False
        db_table = "issuers_issuerfinancialdata"
        ordering = ["id"]
