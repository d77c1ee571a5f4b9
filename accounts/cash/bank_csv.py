"""Bank statements as CSV: a record is a line of the statement."""

import re
from collections.abc import Iterable
from datetime import date

from accounts.cash.models import REFERENCE_LENGTH, TEXT_LENGTH, BankLine
from partnerapi.core.csv_tables import CsvRow
from partnerapi.core.numbers import MAX_EXACT_INTEGER
from partnerapi.core.problems import Problem, Problems

COLUMNS = ("reference", "text", "amount", "date")


def read_lines(
    rows: Iterable[CsvRow], problems: Problems
) -> list[tuple[int, BankLine]]:
    """Bank lines with the lines of the file; errors are added to `problems`."""
    lines, first = [], dict[str, int]()
    for row in rows:
        reference, text = row.values["reference"], row.values["text"]
        if not 0 < len(reference) <= REFERENCE_LENGTH:
            rule = f"must have 1 to {REFERENCE_LENGTH} characters"
            problems.append(Problem(row.line, "reference", rule))
        elif (before := first.setdefault(reference, row.line)) != row.line:
            rule = f"this reference is already on line {before}; keep one"
            problems.append(Problem(row.line, "reference", rule))
        if len(text) > TEXT_LENGTH:
            rule = f"has {len(text)} characters; at most {TEXT_LENGTH} are kept"
            problems.append(Problem(row.line, "text", rule))
        amount = cents(row.values["amount"])
        if not amount:
            rule = (
                f"{row.values['amount']!r:.40} must be a non-zero whole number of "
                "cents; write digits without separators, and a minus for outgoing "
                "payments"
            )
            problems.append(Problem(row.line, "amount", rule))
        day = day_of(row.values["date"])
        if day is None:
            rule = f"{row.values['date']!r:.40} is not a valid date; use YYYY-MM-DD"
            problems.append(Problem(row.line, "date", rule))
        if amount and day:
            lines.append(
                (
                    row.line,
                    BankLine(reference=reference, text=text, amount=amount, date=day),
                )
            )
    return lines


def cents(text: str) -> int | None:
    if not re.fullmatch("[+-]?[0-9]{1,16}", text) or abs(int(text)) > MAX_EXACT_INTEGER:
        return None
    return int(text)


def day_of(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if re.fullmatch("[0-9-]{10}", text) else None
    except ValueError:
        return None
