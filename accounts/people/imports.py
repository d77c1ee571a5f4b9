"""Holders in bulk, from a CSV.

Lines are loaded into a temporary table, and statements check and write all of them at
once. So a quarter of a million lines need as much memory as a few.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import uuid_utils.compat as uuid
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import connection, transaction

from accounts.people.models import WALLET, Country, HolderImport, User, validate_lei
from partnerapi.core.csv_tables import CsvStream, stream_table
from partnerapi.core.database import broken_rules, copy, execute, make_temporary
from partnerapi.core.problems import Problem, Problems, WrongFileError
from partnerapi.core.progress import Advance, Begin

REQUIRED = ("name", "kind")
OPTIONAL = ("email", "wallet", "lei", "country")
LONGEST_NAME, LONGEST_PERSONAL_NAME, LONGEST_EMAIL = 200, 100, 254
STEP = 5_000


@dataclass(slots=True)
class HolderChanges:
    created: int = 0
    completed: int = 0
    unchanged: int = 0
    other_names: int = 0
    """Known holders whom the file calls by another name, which the register keeps."""
    was_imported: bool = False
    ignored_columns: list[str] = field(default_factory=list)


def import_holders(
    file_name: str, content: bytes, actor: str, begin: Begin, *, dry_run: bool
) -> HolderChanges:
    """Create the users and profiles of a file's holders, all of them or none.

    A holder with the e-mail address, wallet or LEI of a user is that user. The user
    gets the missing values; stored values stay. A file that was imported before changes
    nothing.

    Raises:
        WrongFileError: the file's problems, by line, field and rule; for a file that
            was imported before, the holders that are missing.
    """
    checksum = hashlib.sha256(content).hexdigest()
    with transaction.atomic():
        before = HolderImport.objects.filter(checksum_sha256=checksum).first()
        stream = stream_table(content, REQUIRED, OPTIONAL)
        make_incoming()
        told = begin("Reading", stream.line_count)
        checks = Checks(stream.problems)
        count = copy("incoming_holder", COLUMNS, read_lines(stream, checks, told))
        if before:
            find_holders("incoming_holder")
            missing = broken_rules(MISSING.format(batch=before.pk), COLUMN_NAMES)
            if missing:
                raise WrongFileError(missing)
            return HolderChanges(was_imported=True)
        HolderImport.objects.create(
            file_name=storable(file_name),
            checksum_sha256=checksum,
            imported_by=actor,
            line_count=count,
        )
        problems = stream.problems
        problems += judged_holders(COLUMN_NAMES)
        if problems:
            raise WrongFileError(problems)
        changes = write_holders()
        changes.ignored_columns = stream.ignored_columns
        transaction.set_rollback(dry_run)
    return changes


NOTED = """'this file was already imported on ' || to_char(b.created_at, 'YYYY-MM-DD')
        || ' by ' || b.imported_by || '; to import it again, save it with another line '
        || 'break at its end'"""
MISSING = f"""
    SELECT line, 'name', 'there is no user ' || concat_ws(', ', email, wallet, lei)
        || ', although ' || {NOTED}
    FROM incoming_holder i, accounts_holderimport b
    WHERE b.id = '{{batch}}'
        AND NOT EXISTS (SELECT FROM found_holder f WHERE f.line = i.line)
"""


def storable(file_name: str) -> str:
    """Make a file name storable: it may contain bytes that are not text."""
    return file_name.encode("utf-8", "replace").decode()[:255]


def read_lines(
    stream: CsvStream, checks: "Checks", advance: Advance
) -> Iterator[list[Any]]:
    for count, (line, values) in enumerate(stream.rows(), 1):
        if count % STEP == 0:
            advance(STEP)
        name, kind, email, wallet, lei, country = values
        holder = checks.holder(
            line, {"name": name, "kind": kind, "email": email, "wallet": wallet,
                   "lei": lei, "country": country}, COLUMN_NAMES
        )  # fmt: skip
        yield [line, *holder]


KINDS_RULE = "{!r} is neither INDIVIDUAL nor COMPANY"


class Checks:
    """Checks of one line's holder, without regard to other lines."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.countries = set(Country.objects.values_list("code", flat=True))

    def holder(
        self, line: int, values: dict[str, str], columns: dict[str, str]
    ) -> list[Any]:
        """Values for the columns of `incoming_holder` after the line number.

        `columns` are the file's names for each of `values`.
        """
        name, kind = values["name"], values["kind"].upper()
        email, wallet = values["email"].lower(), values["wallet"].lower()
        lei, country = values["lei"].upper(), values["country"].upper()

        def refuse(field: str, rule: str) -> None:
            self.problems.append(Problem(line, columns[field], rule))

        if len(name) > LONGEST_NAME:
            rule = f"has {len(name)} characters; the limit is {LONGEST_NAME}"
            refuse("name", rule)
        if kind and kind not in User.Type.values:
            refuse("kind", KINDS_RULE.format(values["kind"]))
        if kind == User.Type.INDIVIDUAL:
            first, _, last = name.rpartition(" ")
            if max(len(first), len(last)) > LONGEST_PERSONAL_NAME:
                rule = (
                    f"has a first or last name of more than {LONGEST_PERSONAL_NAME} "
                    "characters"
                )
                refuse("name", rule)
            if lei:
                refuse("lei", "an individual has no LEI; leave it blank")
        if not (email or wallet or lei):
            others = f"{columns['wallet']} and {columns['lei']}"
            refuse("email", f"is blank, as are {others}; give one of them")
        if email and not is_email(email):
            refuse("email", f"{values['email']!r:.80} is not an e-mail address")
        if wallet and not WALLET.fullmatch(wallet):
            rule = f"{values['wallet']!r:.80} is not 0x and 40 hexadecimal digits"
            refuse("wallet", rule)
        if lei:
            try:
                validate_lei(lei)
            except ValidationError as error:
                refuse("lei", f"{values['lei']!r:.40}: {error.message}")
        if country and country not in self.countries:
            rule = f"{values['country']!r:.40} is not an ISO 3166 alpha-2 code"
            refuse("country", rule)
        return [
            name, kind or None, email or None, values["wallet"] or None, lei or None,
            country[:2] or None, uuid.uuid7(), uuid.uuid7(),
        ]  # fmt: skip


def is_email(text: str) -> bool:
    try:
        validate_email(text)
    except ValidationError:
        return False
    return len(text) <= LONGEST_EMAIL


COLUMN_NAMES = {name: name for name in (*REQUIRED, *OPTIONAL)}
COLUMNS = (
    "line", "name", "kind", "email", "wallet", "lei", "country", "user_id",
    "holder_id",
)  # fmt: skip


def make_incoming() -> None:
    make_temporary(
        "incoming_holder",
        """
        line integer NOT NULL, name text NOT NULL, kind text, email text, wallet text,
        lei text, country text, user_id uuid, holder_id uuid, known_id uuid
        """,
    )


def find_holders(table: str) -> None:
    """Find which user each line of a temporary table names, and by which column."""
    make_temporary("found_holder", "line integer, named_by text, user_id uuid")
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {table}")
        cursor.execute(FIND.format(table=table))
        cursor.execute("ANALYZE found_holder")


FIND = """
    INSERT INTO found_holder (line, named_by, user_id)
    SELECT i.line, 'email', u.id
    FROM {table} i JOIN accounts_user u ON u.email = i.email
    UNION ALL
    SELECT i.line, 'lei', u.id FROM {table} i JOIN accounts_user u ON u.lei = i.lei
    UNION ALL
    SELECT i.line, 'wallet', h.user_id
    FROM {table} i
    JOIN accounts_userholder h ON lower(h.wallet_address) = lower(i.wallet)
"""
SEVERAL_USERS = """
    SELECT line, max(named_by),
        'names a different user from the line''s other columns ('
            || string_agg(DISTINCT user_id::text, ', ') || '); correct one'
    FROM found_holder GROUP BY line HAVING count(DISTINCT user_id) > 1
"""


def judged_holders(columns: dict[str, str]) -> Problems:
    """Conflicts of the incoming holders with each other and with stored users.

    `columns` are the file's names for the columns of `incoming_holder`.
    """
    find_holders("incoming_holder")
    execute(KNOW)
    problems = Problems()
    for name in ("email", "wallet", "lei"):
        problems += broken_rules(TWICE.format(field=name), columns)
    for statement in (SEVERAL_USERS, SAME_USER, CONTRADICTIONS):
        problems += broken_rules(statement, columns)
    return problems


KNOW = """
    UPDATE incoming_holder i SET known_id = f.user_id
    FROM (SELECT DISTINCT line, user_id FROM found_holder) f WHERE f.line = i.line
"""
TWICE = """
    SELECT line, '{field}', {field} || ' is already on line ' || first
    FROM (
        SELECT line, {field}, min(line) OVER (PARTITION BY lower({field})) AS first
        FROM incoming_holder WHERE {field} IS NOT NULL
    ) named
    WHERE line > first
"""
SAME_USER = """
    SELECT line, 'name', 'is user ' || known_id || ', as is line ' || first
    FROM (
        SELECT line, known_id, min(line) OVER (PARTITION BY known_id) AS first
        FROM incoming_holder i WHERE known_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM found_holder f
            WHERE f.line = i.line AND f.user_id <> i.known_id)
    ) known
    WHERE line > first
"""
CONTRADICTIONS = """
    SELECT line, field, rule FROM (
        SELECT i.line, u.type AS type, i.known_id, i.name AS said, i.kind, i.lei,
            i.email, i.wallet, u.email AS had_email, h.wallet_address AS had_wallet,
            u.lei AS had_lei
        FROM incoming_holder i
        LEFT JOIN accounts_user u ON u.id = i.known_id
        LEFT JOIN accounts_userholder h ON h.user_id = i.known_id
    ) i CROSS JOIN LATERAL (VALUES
        ('name', known_id IS NULL AND said = '', 'is empty; a new holder needs a name'),
        ('kind', known_id IS NULL AND kind IS NULL,
            'is empty; a new holder is INDIVIDUAL or COMPANY'),
        ('kind', kind <> type,
            'is ' || kind || ', but user ' || known_id || ' is ' || type
            || '; correct one'),
        ('lei', kind IS NULL AND lei IS NOT NULL AND type = 'INDIVIDUAL',
            'user ' || known_id || ' is an individual and cannot have an LEI'),
        ('email', email <> had_email,
            'user ' || known_id || ' has the address ' || had_email || '; correct one'),
        ('wallet', lower(wallet) <> lower(had_wallet),
            'user ' || known_id || ' has the wallet ' || had_wallet || '; correct one'),
        ('lei', lei <> had_lei,
            'user ' || known_id || ' has the LEI ' || had_lei || '; correct one')
    ) AS judged (field, is_broken, rule)
    WHERE is_broken
"""


def write_holders() -> HolderChanges:
    """Create the new holders, and complete the known ones."""
    with connection.cursor() as cursor:
        cursor.execute(OTHER_NAMES)
        [(known, other_names)] = cursor.fetchall()
        cursor.execute(COMPLETED)
        [(completed,)] = cursor.fetchall()
        cursor.execute(NEW_USERS)
        created = cursor.rowcount
        for statement in (COMPLETE_USERS, COMPLETE_PROFILES, NEW_PROFILES):
            cursor.execute(statement)
    return HolderChanges(created, completed, known - completed, other_names)


OTHER_NAMES = """
    SELECT count(*), count(*) FILTER (WHERE i.name NOT IN ('', h.name))
    FROM incoming_holder i LEFT JOIN accounts_userholder h ON h.user_id = i.known_id
    WHERE i.known_id IS NOT NULL
"""
COMPLETED = """
    SELECT count(*)
    FROM incoming_holder i JOIN accounts_user u ON u.id = i.known_id
    LEFT JOIN accounts_userholder h ON h.user_id = u.id
    WHERE h.id IS NULL OR i.wallet IS NOT NULL AND h.wallet_address IS NULL
        OR i.email IS NOT NULL AND u.email IS NULL
        OR i.lei IS NOT NULL AND u.lei IS NULL
        OR i.country IS NOT NULL AND u.country_id IS NULL
"""
# The text after the exclamation mark is unknown: it is the hash of no password.
NEW_USERS = """
    INSERT INTO accounts_user (id, password, is_superuser, is_staff, is_active, type,
        email, first_name, last_name, company_name, lei, country_id, address,
        postal_code, city)
    SELECT user_id,
        '!' || replace(gen_random_uuid() || '' || gen_random_uuid(), '-', ''), FALSE,
        FALSE, TRUE, kind, email,
        CASE kind WHEN 'INDIVIDUAL' THEN rtrim(regexp_replace(name, '[^ ]+$', ''))
            ELSE '' END,
        CASE kind WHEN 'INDIVIDUAL' THEN substring(name FROM '[^ ]+$') ELSE '' END,
        CASE kind WHEN 'COMPANY' THEN name END, lei, country, '', '', ''
    FROM incoming_holder WHERE known_id IS NULL ORDER BY line
"""
COMPLETE_USERS = """
    UPDATE accounts_user u
    SET email = coalesce(u.email, i.email), lei = coalesce(u.lei, i.lei),
        country_id = coalesce(u.country_id, i.country)
    FROM incoming_holder i
    WHERE u.id = i.known_id AND (
        i.email IS NOT NULL AND u.email IS NULL OR i.lei IS NOT NULL AND u.lei IS NULL
        OR i.country IS NOT NULL AND u.country_id IS NULL)
"""
COMPLETE_PROFILES = """
    UPDATE accounts_userholder h SET wallet_address = i.wallet
    FROM incoming_holder i
    WHERE h.user_id = i.known_id AND h.wallet_address IS NULL AND i.wallet IS NOT NULL
"""
NEW_PROFILES = """
    INSERT INTO accounts_userholder (id, user_id, name, wallet_address)
    SELECT i.holder_id, u.id, coalesce(nullif(i.name, ''), u.company_name,
        trim(u.first_name || ' ' || u.last_name)), i.wallet
    FROM incoming_holder i
    JOIN accounts_user u ON u.id = coalesce(i.known_id, i.user_id)
    LEFT JOIN accounts_userholder h ON h.user_id = u.id
    WHERE h.id IS NULL ORDER BY i.line
"""
