"""What must be true of tables, each rule as one SQL statement, and what was found.

A statement gives a figure (how many things it compared, or the number that it found)
and how many breaches there are.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.core.management.base import BaseCommand, CommandError

from partnerapi.core.database import unshadowed_cursor
from partnerapi.core.guarding import compare_guards


@dataclass(frozen=True, slots=True)
class Invariant:
    rule: str
    statement: str


@dataclass(frozen=True, slots=True)
class Finding:
    rule: str
    figure: int
    breaches: int
    details: Sequence[str] = ()


def check_invariants_and_guards(invariants: Sequence[Invariant]) -> Iterator[Finding]:
    """Check every invariant, then the guards, each difference in a sentence."""
    yield from check_invariants(invariants)
    number, wrong = compare_guards()
    yield Finding("the guards equal those of the migrations", number, len(wrong), wrong)


def check_invariants(invariants: Sequence[Invariant]) -> list[Finding]:
    """Check every invariant; in one statement, so that all see one state."""
    counted = " UNION ALL ".join(
        f"SELECT {place}, found.* FROM ({invariant.statement}) AS found (figure, wrong)"
        for place, invariant in enumerate(invariants)
    )
    with unshadowed_cursor() as cursor:
        cursor.execute(f"{counted} ORDER BY 1")
        return [
            Finding(invariants[place].rule, int(figure or 0), int(breaches or 0))
            for place, figure, breaches in cursor.fetchall()
        ]


def check_constraints() -> Finding:
    """Evaluate every CHECK again, of all rows; a sentence for each table that fails."""
    with unshadowed_cursor() as cursor:
        cursor.execute(CHECKS)
        # Names and expressions are the catalogue's own.
        cursor.execute(
            " UNION ALL ".join(
                f"SELECT '{table}', count(*), count(*) FILTER (WHERE {broken})"
                f" FROM {table}"
                for table, broken in cursor.fetchall()
            )
        )
        found = cursor.fetchall()
    wrong = [f"{count:,} rows of {table} fail." for table, _, count in found if count]
    rows, breaches = (sum(each[place] for each in found) for place in (1, 2))
    return Finding("every row passes the checks of its table", rows, breaches, wrong)


CHECKS = """
    SELECT c.conrelid::regclass::text,
        string_agg(format('(%s) IS FALSE', pg_get_expr(c.conbin, c.conrelid)), ' OR ')
    FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
    WHERE c.contype = 'c' AND c.convalidated
        AND t.relnamespace = 'public'::regnamespace
    GROUP BY c.conrelid ORDER BY 1
"""


def tell(command: BaseCommand, findings: Iterable[Finding]) -> str:
    """Write a line for each rule; what to say at the end.

    Raises:
        CommandError: a rule is broken.
    """
    rules = broken = 0
    for finding in findings:
        rules += 1
        broken += finding.breaches > 0
        said = (
            command.style.ERROR(f"BROKEN {finding.breaches:,} times")
            if finding.breaches
            else command.style.SUCCESS("ok")
        )
        command.stdout.write(f"{finding.rule}: {finding.figure:,}, {said}")
        for detail in finding.details:
            command.stdout.write(f"  {detail}")
    if broken:
        raise CommandError(
            f"{broken} of {rules} rules are broken, marked above. Compare with a "
            "backup, and find out who can write to the database directly."
        )
    return f"All {rules} rules hold."
