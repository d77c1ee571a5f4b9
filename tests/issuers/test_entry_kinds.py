"""The kinds of entries in Python against those by which the database judges."""

import pytest

from issuers.register.kinds import EntryKind, kind_rows
from issuers.register.models import EntryKindRow
from issuers.register.verification import KINDS_ARE_KNOWN
from partnerapi.core.invariants import check_invariants
from tests.owner import tamper


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
