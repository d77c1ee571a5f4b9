"""Amounts in the types of 64 bits, beside those of the same value in `Int`."""

from issuers.legacy.models import LegacyShareholder
from issuers.models import IssuerFinancialData
from tests.characters import Ask, World, on

FIGURES = """{ issuer(slug: "arbor") { financialData { nodes { year
    revenue revenueCents ebitda ebitdaCents ebit ebitCents netIncome netIncomeCents
} } } }"""
PRICES = """{ issuer(slug: "lumen") { legacyShareholders(last: 2) { nodes {
    price priceCents } } } }"""
MOST = 2**53 - 1


def test_figures_have_an_amount_of_64_bits_beside_each_int(world: World, partner: Ask):
    IssuerFinancialData.objects.bulk_create(
        [
            IssuerFinancialData(
                issuer=world.quiet,
                year=2024,
                period_type="YEAR",
                revenue_cents=MOST,
                ebitda_cents=-MOST,
                ebit_cents=-(2**31) - 1,
                net_income_cents=0,
            ),
            IssuerFinancialData(issuer=world.quiet, year=2023, period_type="YEAR"),
        ]
    )
    nodes = partner(FIGURES).data["issuer"]["financialData"]["nodes"]
    twins = ["revenue", "ebitda", "ebit", "netIncome"]
    expected = {2024: [MOST, -MOST, -(2**31) - 1, 0], 2023: [None] * 4}
    assert {
        node["year"]: [node[f"{name}Cents"] for name in twins] for node in nodes
    } == expected
    assert {node["year"]: [node[name] for name in twins] for node in nodes} == expected


def test_prices_of_legacy_shares_have_one_too(world: World, partner: Ask):
    LegacyShareholder.objects.create(
        issuer=world.listed,
        user=world.owner,
        number_of_shares=1,
        price_cents=2**31 - 1,
        created_at=on(9),
    )
    nodes = partner(PRICES).data["issuer"]["legacyShareholders"]["nodes"]
    assert nodes == [
        {"price": 125, "priceCents": 125},
        {"price": 2**31 - 1, "priceCents": 2**31 - 1},
    ]
