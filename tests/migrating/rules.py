"""What a migration may not do to tables that requests use meanwhile.

A rule is judged by the SQL of a migration, as `sqlmigrate` prints it. What the old
release still needs goes only in a migration that says so: its docstring begins with
"Contract:".
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

CONTRACT = "Contract:"


class Rule(NamedTuple):
    """`pattern` finds what is refused; its group `table`, if any, names the table."""

    name: str
    pattern: re.Pattern[str]
    remedy: str
    may_contract: bool = False


def rule(name: str, pattern: str, remedy: str, may_contract: bool = False) -> Rule:
    return Rule(name, re.compile(pattern, re.IGNORECASE), remedy, may_contract)


TABLE = r'(?:ONLY )?(?:public\.)?"?(?P<table>\w+)"?'
ALTER = rf"^ALTER TABLE (?:IF EXISTS )?{TABLE}.*?"
RULES = (
    rule(
        "an index is built while writers wait",
        rf"^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY).*? ON {TABLE}",
        "use AddIndexBeside (partnerapi.core.migrating) in a migration of its own with "
        "atomic = False",
    ),
    rule(
        "an index is dropped while all wait",
        r"^DROP INDEX (?!CONCURRENTLY)",
        "use RemoveIndexConcurrently in a migration of its own with atomic = False",
    ),
    rule(
        "a constraint is checked while all wait",
        rf"{ALTER}ADD CONSTRAINT \S+ (?:CHECK|FOREIGN KEY)(?!.*NOT VALID)",
        "add it NOT VALID (AddConstraintNotValid), and VALIDATE it in the next "
        "migration (ValidateConstraint)",
    ),
    rule(
        "a foreign key is checked while all wait",
        rf"{ALTER}ADD COLUMN .*\bREFERENCES\b",
        "add the column with db_constraint=False, then the key NOT VALID, and VALIDATE "
        "it in the next migration",
    ),
    rule(
        "a unique constraint builds its index while all wait",
        rf"{ALTER}ADD CONSTRAINT \S+ (?:UNIQUE|PRIMARY KEY|EXCLUDE)(?!.*USING INDEX)",
        "build a unique index CONCURRENTLY, then ADD CONSTRAINT … USING INDEX",
    ),
    rule(
        "every row is looked at while all wait",
        rf"{ALTER}SET NOT NULL",
        "add CHECK (… IS NOT NULL) NOT VALID, VALIDATE it, then SET NOT NULL, each in "
        "a migration of its own",
    ),
    rule(
        "every row is written anew while all wait",
        rf"{ALTER}ALTER COLUMN \S+ (?:SET DATA )?TYPE",
        "add a column, fill it in batches, and let the next release read it",
    ),
    rule(
        "the old release cannot insert rows",
        rf"{ALTER}ADD COLUMN (?!.*\bDEFAULT\b).*\bNOT NULL",
        "give the column a db_default, or let it be null",
    ),
    rule(
        "the old release loses the default",
        rf"{ALTER}ALTER COLUMN \S+ DROP DEFAULT",
        "use db_default in place of default",
    ),
    rule(
        "all rows are changed in one transaction",
        rf"^(?:UPDATE|DELETE FROM) {TABLE}",
        "change them in batches: RunPython with atomic=False, in a migration with "
        "atomic = False",
    ),
    rule(
        "a table is locked",
        rf"^LOCK (?:TABLE )?{TABLE}",
        "leave the lock to the statement that needs it",
    ),
    rule(
        "the old release misses what is gone",
        r"^(?:DROP (?:TABLE|VIEW|FUNCTION|TRIGGER)|ALTER TABLE .*?"
        r"(?:DROP COLUMN|DROP CONSTRAINT|RENAME))",
        "let the code of one release do without it first; then begin the migration's "
        f'docstring with "{CONTRACT}"',
        may_contract=True,
    ),
)


def broken(sql: str, is_contract: bool) -> Iterator[str]:
    """Which rules the SQL of a migration breaks, where and what to do instead."""
    made: set[str] = set()
    said = [*statements(sql)]
    for place, statement in enumerate(said):
        # A constraint trigger is replaced by dropping it, in the same transaction.
        again = statement.replace("DROP TRIGGER IF EXISTS", "CREATE CONSTRAINT TRIGGER")
        trigger = again.partition(" ON ")[0] + " "
        if again != statement and any(x.startswith(trigger) for x in said[place:]):
            continue
        # One that waits only briefly, for all tables that the migration changes.
        if statement.startswith("LOCK") and "SET LOCAL lock_timeout" in said[place - 1]:
            continue
        if new := re.match(rf"CREATE TABLE {TABLE}", statement, re.IGNORECASE):
            made.add(new["table"])
        for tried in RULES:
            found = tried.pattern.search(statement)
            if found is None or (tried.may_contract and is_contract):
                continue
            # No one else sees a table that the migration makes.
            if found.groupdict().get("table") in made:
                continue
            yield f"{tried.name}: {statement[:100]} — {tried.remedy}"


def statements(sql: str) -> Iterator[str]:
    """The statements, each in one line, without comments and bodies of functions."""
    bare = re.sub(r"\$(\w*)\$.*?\$\1\$", "''", sql, flags=re.DOTALL)
    bare = re.sub(r"--[^\n]*", "", bare)
    for statement in bare.split(";"):
        if line := " ".join(statement.split()):
            yield line
