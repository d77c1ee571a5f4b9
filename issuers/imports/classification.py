"""The Industry Classification Benchmark, from a CSV of its subsectors."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.db import transaction

from issuers.models import IndustryClassificationBenchmark
from partnerapi.core.csv_tables import CsvRow, CsvTable, read_table
from partnerapi.core.problems import Problem, WrongFileError
from partnerapi.core.uuids import derived_uuid7

PACKAGED_FILE = Path(__file__).parent.parent / "data" / "icb.csv"
# The start of the current edition: a subsector has the same id in every installation.
EDITION = datetime(2021, 3, 22, tzinfo=UTC)

LEVELS = {"industry": 2, "supersector": 4, "sector": 6, "subsector": 8}
CODES = tuple(f"{level}_code" for level in LEVELS)
FIELDS = (*CODES, *LEVELS, "description")
NAME_LENGTH = 100


@dataclass(frozen=True, slots=True)
class ClassificationChanges:
    created: int
    updated: int
    unchanged: int
    not_in_file: int
    ignored_columns: list[str]


def import_classification(content: bytes, *, dry_run: bool) -> ClassificationChanges:
    """Make the stored classification equal to the file, in one transaction.

    A stored subsector that the file lacks stays: issuers may have it.

    Raises:
        WrongFileError: it names every line, field and rule; nothing was changed.
    """
    table = read_table(content, required=FIELDS)
    problems = [*table.problems, *wrong_values(table), *contradictions(table)]
    if problems:
        raise WrongFileError(problems)

    with transaction.atomic():
        stored = {
            entry.subsector_code: entry
            for entry in IndustryClassificationBenchmark.objects.select_for_update()
        }
        new, changed = [], []
        for row in table.rows:
            values = {field: row.values[field] for field in FIELDS}
            entry = stored.pop(values["subsector_code"], None)
            if entry is None:
                new.append(new_entry(values))
            elif any(getattr(entry, field) != values[field] for field in FIELDS):
                for field in FIELDS:
                    setattr(entry, field, values[field])
                changed.append(entry)
        if not dry_run:
            IndustryClassificationBenchmark.objects.bulk_create(new)
            IndustryClassificationBenchmark.objects.bulk_update(changed, FIELDS)
    return ClassificationChanges(
        created=len(new),
        updated=len(changed),
        unchanged=len(table.rows) - len(new) - len(changed),
        not_in_file=len(stored),
        ignored_columns=table.ignored_columns,
    )


def new_entry(values: dict[str, str]) -> IndustryClassificationBenchmark:
    id = derived_uuid7(EDITION, f"ICB subsector {values['subsector_code']}")
    return IndustryClassificationBenchmark(id=id, **values)


def wrong_values(table: CsvTable) -> list[Problem]:
    return [
        Problem(row.line, field, rule)
        for row in table.rows
        for field, rule in broken_rules(row.values)
    ]


def broken_rules(values: dict[str, str]) -> list[tuple[str, str]]:
    broken = []
    for level, digits in LEVELS.items():
        code = values[f"{level}_code"]
        if len(code) != digits or not (code.isascii() and code.isdigit()):
            rule = f"{code!r} is not {digits} digits"
            broken.append((f"{level}_code", rule))
        elif not values["subsector_code"].startswith(code):
            subsector = values["subsector_code"]
            rule = f"{code} is not a prefix of the subsector code {subsector}"
            broken.append((f"{level}_code", rule))
        name = values[level]
        if not name:
            broken.append((level, "is empty"))
        elif len(name) > NAME_LENGTH:
            rule = f"has {len(name)} characters; the limit is {NAME_LENGTH}"
            broken.append((level, rule))
    if not values["description"]:
        broken.append(("description", "is empty"))
    return broken


def contradictions(table: CsvTable) -> list[Problem]:
    """Subsector codes that occur twice, and codes that have two names."""
    problems = []
    first: dict[str, CsvRow] = {}
    for row in table.rows:
        code = row.values["subsector_code"]
        if code in first:
            rule = f"{code} is already on line {first[code].line}"
            problems.append(Problem(row.line, "subsector_code", rule))
            continue
        for level in LEVELS:
            code = row.values[f"{level}_code"]
            other = first.setdefault(code, row)
            if row.values[level] != other.values[level]:
                rule = (
                    f"{code} is {row.values[level]!r} here "
                    f"and {other.values[level]!r} on line {other.line}"
                )
                problems.append(Problem(row.line, level, rule))
    return problems
