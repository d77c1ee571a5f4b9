"""The tables, as migrations made them: their indexes, sequences, triggers."""

from collections.abc import Iterator

from partnerapi.core.guarding import compare_guards
from partnerapi.operations.diagnosis.findings import Finding, State
from partnerapi.operations.diagnosis.server import query_rows
from partnerapi.operations.release import some

MOST_NAMED = 3
USED_SHARE = 0.8


def none(
    check: str,
    found: list[str],
    figure: str,
    says: str,
    well: str,
    remedy: str,
    state: State = State.WARNING,
) -> Finding:
    """What is there and should not be; `says` has a place for its names."""
    figures = {figure: len(found)}
    if found:
        told = says.format(some(found, MOST_NAMED))
        return Finding(check, state, told, remedy, figures)
    return Finding(check, State.OK, well, "", figures)


def triggers() -> Iterator[Finding]:
    """Whether a trigger is switched off."""
    off = [name for (name,) in query_rows(TRIGGERS_OFF)]
    yield none(
        "triggers", off, "off",
        f"{len(off)} triggers are switched off: {{}}", "None is switched off",
        "As the owner, ALTER TABLE … ENABLE TRIGGER ALL, and find out who switched "
        "them off; then run manage.py doctor --deep.",
    )  # fmt: skip


TRIGGERS_OFF = """
    SELECT format('%%s on %%s', t.tgname, c.relname) FROM pg_trigger t
    JOIN pg_class c ON c.oid = t.tgrelid
    WHERE c.relnamespace = to_regnamespace('public') AND t.tgenabled IN ('D', 'R')
    ORDER BY 1
"""


def guards() -> Iterator[Finding]:
    """Whether what guards the ledgers is what migrations have made."""
    _, wrong = compare_guards()
    yield none(
        "guards", wrong, "wrong", "{}", "All match the migrations",
        "Find out who changed them, restore them from the migrations, and run "
        "manage.py doctor --deep.",
        State.FAILED,
    )  # fmt: skip


def indexes() -> Iterator[Finding]:
    invalid = [name for (name,) in query_rows(INVALID)]
    yield none(
        "indexes", invalid, "invalid",
        "These are invalid and used by no statement: {}", "All are valid",
        "As the owner, REINDEX INDEX CONCURRENTLY NAME, unless a migration is building "
        "it now.",
    )  # fmt: skip


INVALID = """
    SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE c.relnamespace = to_regnamespace('public')
        AND NOT (i.indisvalid AND i.indisready AND i.indislive)
    ORDER BY 1
"""


def sequences() -> Iterator[Finding]:
    """Whether numbers of new rows run out."""
    rows = query_rows(SEQUENCES)
    hidden = [name for name, used, is_shown in rows if not is_shown]
    near = [f"{n} ({used:.0%} used)" for n, used, _ in rows if used >= USED_SHARE]
    figures = {"share": round(max((used for _, used, _ in rows), default=0.0), 3)}
    if near:
        yield Finding(
            "sequences", State.WARNING, f"Nearly exhausted: {some(near, MOST_NAMED)}",
            "As the owner, ALTER SEQUENCE … MAXVALUE, or change the column to bigint; "
            "at its end each new row fails, and the job that writes it.",
            figures,
        )  # fmt: skip
    elif hidden:
        yield Finding(
            "sequences", State.UNKNOWN,
            f"The role may not read {some(hidden, MOST_NAMED)}",
            "Run manage.py grant_application_role ROLE --apply, as the owner.",
        )  # fmt: skip
    else:
        yield Finding("sequences", State.OK, "None is nearly exhausted", "", figures)


# A column that is narrower than its sequence ends first.
SEQUENCES = """
    SELECT s.sequencename, coalesce(s.last_value::float
            / least(s.max_value, CASE a.atttypid WHEN 'integer'::regtype
                THEN 2147483647 WHEN 'smallint'::regtype THEN 32767
                ELSE s.max_value END), 0),
        has_sequence_privilege(c.oid, 'SELECT')
    FROM pg_sequences s
    JOIN pg_class c ON c.relname = s.sequencename
        AND c.relnamespace = to_regnamespace('public')
    LEFT JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_class'::regclass
        AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
    LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE s.schemaname = 'public' AND NOT s.cycle
    ORDER BY 1
"""
