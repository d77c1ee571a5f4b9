"""Four years of key figures for an invented company."""

from datetime import UTC, datetime

from issuers.models import Issuer, IssuerFinancialData
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.chance import dice, moment_after
from partnerapi.sandbox.data.companies import Company

YEARS = (2022, 2023, 2024, 2025)
Period = IssuerFinancialData.PeriodType


def financial_data(company: Company, issuer: Issuer) -> list[IssuerFinancialData]:
    """Every year with its first semester: losses among them, and gaps."""
    chance = dice("figures", company.slug)
    margin = chance.uniform(-0.12, 0.3)
    revenue = company.revenue_cents * chance.uniform(0.6, 0.9)
    rows = []
    for year in YEARS:
        revenue *= chance.uniform(0.97, 1.22)
        margin += chance.uniform(-0.05, 0.05)
        semester = revenue * chance.uniform(0.42, 0.55)
        for period, amount, published in (
            (Period.FIRST_SEMESTER, semester, datetime(year, 9, 20, tzinfo=UTC)),
            (Period.YEAR, revenue, datetime(year + 1, 4, 15, tzinfo=UTC)),
        ):
            ebitda = amount * margin
            ebit = ebitda - amount * 0.06
            net_income = ebit * 0.75 if ebit > 0 else ebit
            figures = [
                None if chance.random() < 0.08 else round(figure)
                for figure in (amount, ebitda, ebit, net_income)
            ]
            at = moment_after(published, 0, company.slug, year, period)
            at = max(at, issuer.created_at)
            name = f"{company.slug} {year} {period}"
            rows.append(
                IssuerFinancialData(
                    id=derived_uuid7(at, name),
                    issuer=issuer,
                    period_type=period,
                    year=year,
                    revenue_cents=figures[0],
                    ebitda_cents=figures[1],
                    ebit_cents=figures[2],
                    net_income_cents=figures[3],
                    created_at=at,
                )
            )
    return rows
