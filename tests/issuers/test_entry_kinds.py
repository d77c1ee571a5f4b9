"""The kinds of entries in Python against those by which the database judges."""

import re

import pytest
from django.conf import settings

from issuers.register.kinds import EntryKind, kind_rows
from issuers.register.models import EntryKindRow
from issuers.register.verification import KINDS_ARE_KNOWN
from partnerapi.core.invariants import check_invariants
from tests.owner import tamper

SQL = settings.BASE_DIR / "issuers" / "sql"


def approved_as(*approvals: str) -> set[str]:
    return {kind.value for kind in EntryKind if kind.approval in approvals}


LISTS = {
    (
        "register/approvals_of_entry.sql",
        r"WHEN \(\(new\.kind = ANY \(ARRAY\[(.*?)\]",
    ): approved_as("MINT", "BURN", "FORCED_TRANSFER", "REVERSAL"),
    (
        "register/approvals_of_transfer.sql",
        r"WHEN \(\(new\.kind = ANY \(ARRAY\[(.*?)\]",
    ): approved_as("TRANSFER"),
}
"""By which the database judges what the release before inserts."""


@pytest.mark.django_db
def test_the_rows_of_the_database_are_the_kinds():
    rows = [*EntryKindRow.objects.order_by("name").values()]
    assert rows == sorted(kind_rows(), key=lambda row: row["name"])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("tampering", "breaches"),
    [
        ("", 0),
        ("UPDATE issuers_entrykind SET is_taken = FALSE WHERE name = 'TRANSFER'", 2),
        ("UPDATE issuers_entrykind SET approval = NULL WHERE name = 'MINT'", 2),
        ("UPDATE issuers_entrykind SET sources = '{HOLDER}' WHERE name = 'BURN'", 2),
        ("UPDATE issuers_entrykind SET name = 'GIFT' WHERE name = 'TRADE'", 2),
        ("DELETE FROM issuers_entrykind WHERE name = 'TRADE'", 1),
    ],
)
def test_rows_that_are_not_the_kinds_of_this_release_are_found(
    tampering: str, breaches: int
):
    if tampering:
        tamper(tampering)
    [found] = check_invariants([KINDS_ARE_KNOWN])
    assert (found.figure, found.breaches) == (len(EntryKind), breaches)


@pytest.mark.parametrize(("file", "pattern"), LISTS)
def test_a_list_of_sql_has_the_kinds_that_it_should(file: str, pattern: str):
    [words] = re.findall(pattern, (SQL / file).read_text(), re.DOTALL)
    found, wanted = set(re.findall(r"'(\w+)'", words)), LISTS[file, pattern]
    assert found == wanted, f"change the list in issuers/sql/{file}, then the migration"


def test_the_register_says_of_each_kind_between_which_accounts_it_moves():
    text = (SQL / "register" / "register_follow_transactions.sql").read_text()
    moves = text.partition("AS allowed")[0]
    missing = [kind.value for kind in EntryKind if f"'{kind}'" not in moves]
    assert missing == [], (
        "name them in issuers/sql/register/register_follow_transactions.sql, then "
        "write its migration: until then the database refuses their entries"
    )
