"""Financial data of many issuers and periods, from a CSV."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from django.db import transaction

from issuers.models import Issuer, IssuerFinancialData
from partnerapi.core.csv_tables import CsvRow, read_table
from partnerapi.core.problems import Problem, Problems, WrongFileError
from partnerapi.core.progress import Begin

KEY = ("issuer", "year", "period_type")
FIGURES = ("revenue_cents", "ebitda_cents", "ebit_cents", "net_income_cents")
YEARS = range(1900, 2201)
MOST = 2**53 - 1
BATCH = 1_000
Period = tuple[str, int, str]


@dataclass(slots=True)
class FinancialDataChanges:
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    ignored_columns: list[str] = field(default_factory=list)


def import_financial_data(
    content: bytes, begin: Begin, *, dry_run: bool
) -> FinancialDataChanges:
    """Publish or correct the figures of each row, all of them or none.

    A row is known by its issuer, year and period. An empty figure changes nothing.

    Raises:
        WrongFileError: the file's problems, by line, field and rule.
    """
    table = read_table(content, KEY, FIGURES)
    slugs = {row.values["issuer"] for row in table.rows}
    issuers = dict(Issuer.objects.filter(slug__in=slugs).values_list("slug", "pk"))
    problems = table.problems
    periods = check_rows(table.rows, issuers, problems)
    if problems:
        raise WrongFileError(problems)
    changes = FinancialDataChanges(ignored_columns=table.ignored_columns)
    advance = begin("Importing", len(periods))
    with transaction.atomic():
        stored = {
            (data.issuer_id, data.year, data.period_type): data
            for data in IssuerFinancialData.objects.filter(issuer__in=issuers.values())
            .order_by("pk")
            .select_for_update()
        }
        new, corrected = [], []
        for (slug, year, period_type), figures in periods.items():
            data = stored.get((issuers[slug], year, period_type))
            if data is None:
                new.append(
                    IssuerFinancialData(
                        issuer_id=issuers[slug],
                        year=year,
                        period_type=period_type,
                        **figures,
                    )
                )
            elif any(getattr(data, name) != cents for name, cents in figures.items()):
                for name, cents in figures.items():
                    setattr(data, name, cents)
                corrected.append(data)
            advance(1)
        IssuerFinancialData.objects.bulk_create(new, BATCH)
        IssuerFinancialData.objects.bulk_update(corrected, FIGURES, BATCH)
        changes.created, changes.updated = len(new), len(corrected)
        changes.unchanged = len(periods) - len(new) - len(corrected)
        transaction.set_rollback(dry_run)
    return changes


def check_rows(
    rows: list[CsvRow], slugs: Collection[str], problems: Problems
) -> dict[Period, dict[str, int]]:
    """The figures of each period; errors in rows are added to `problems`."""
    periods: dict[Period, dict[str, int]] = {}
    lines: dict[Period, int] = {}
    for row in rows:
        values, line = row.values, row.line
        if values["issuer"] not in slugs:
            rule = f"{values['issuer']!r:.60} is not the slug of an issuer; correct it"
            problems.append(Problem(line, "issuer", rule))
        year = values["year"]
        if not re.fullmatch("[0-9]{4}", year) or int(year) not in YEARS:
            rule = f"{year!r:.20} is not a year from 1900 to 2200; write four digits"
            problems.append(Problem(line, "year", rule))
            continue
        period_type = values["period_type"].upper()
        if period_type not in IssuerFinancialData.PeriodType.values:
            said = values["period_type"]
            rule = f"{said!r:.40} is unknown; use YEAR or FIRST_SEMESTER"
            problems.append(Problem(line, "period_type", rule))
        period = (values["issuer"], int(year), period_type)
        if first := lines.get(period):
            rule = f"this period of the issuer is already on line {first}; keep one"
            problems.append(Problem(line, "year", rule))
        lines[period] = line
        periods[period] = {
            name: cents
            for name in FIGURES
            if (cents := figure(line, name, values.get(name, ""), problems)) is not None
        }
    return periods


def figure(line: int, name: str, text: str, problems: Problems) -> int | None:
    """Euro cents; None if the value is empty or unreadable."""
    if not text:
        return None
    if not re.fullmatch("-?[0-9]{1,16}", text) or abs(int(text)) > MOST:
        rule = (
            f"{text!r:.40} is not a whole number of cents from −(2⁵³−1) to 2⁵³−1; "
            "write digits, without separators"
        )
        problems.append(Problem(line, name, rule))
        return None
    return int(text)
