"""The kinds of entries in Python against the lists by which SQL judges them."""

import re

import pytest
from django.conf import settings

from issuers.register.kinds import EntryKind, Judged

SQL = settings.BASE_DIR / "issuers" / "sql"
JUDGE = "compliance/register_judge.sql"


def judged_by(judged: Judged) -> set[str]:
    return {kind.value for kind in EntryKind if judged in kind.judged}


def approved_as(*approvals: str) -> set[str]:
    return {kind.value for kind in EntryKind if kind.approval in approvals}


LISTS = {
    (JUDGE, r"is_free boolean := kind IN\s*\((.*?)\)"): judged_by(Judged.PAUSE),
    (JUDGE, r"is_taken boolean := kind IN\s*\((.*?)\)"): judged_by(Judged.SENDER),
    (JUDGE, r"is_given boolean := kind IN\s*\((.*?)\)"): judged_by(Judged.RECEIVER),
    (JUDGE, r"is_given OR kind = ('\w+')"): judged_by(Judged.FORCED_RECEIVER),
    (
        "compliance/register_judge_entries.sql",
        r"HAVING bool_and\(x\.kind IN \((.*?)\)\)",
    ): judged_by(Judged.SENDER),
    (
        "register/approvals_of_entry.sql",
        r"WHEN \(\(new\.kind = ANY \(ARRAY\[(.*?)\]",
    ): approved_as("MINT", "BURN", "FORCED_TRANSFER", "REVERSAL"),
    (
        "register/approvals_of_transfer.sql",
        r"WHEN \(\(new\.kind = ANY \(ARRAY\[(.*?)\]",
    ): approved_as("TRANSFER"),
}


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
