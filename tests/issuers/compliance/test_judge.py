"""The judge of movements against an oracle, by all its ways; and what it costs none."""

import random
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from issuers.compliance import judge
from issuers.register import ledger, writer
from issuers.register.errors import LedgerError
from issuers.register.ledger import Entry
from tests.issuers.compliance.oracle import Company
from tests.issuers.test_post import enter
from tests.owner import as_committed

COMPANIES, ENTRIES = 12, 25


def codes(refusals: Any) -> list[str]:
    return sorted(refusal.code for refusal in refusals)


def by_writer(entry: Entry) -> list[str]:
    """The judgement that a command receives; nothing is written."""
    with transaction.atomic():
        [result] = ledger.DryRun().record_each([entry])
        transaction.set_rollback(True)
    if isinstance(result, judge.TransferRefused):
        return codes(result.refusals)
    assert not isinstance(result, LedgerError), result
    return []


def by_database(entry: Entry, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether it refuses what a writer enters that judges nothing."""
    try:
        with transaction.atomic(), monkeypatch.context() as patch:
            patch.setattr(writer, "refusals", lambda *arguments: [])
            enter(entry)
            transaction.set_rollback(True)
    except IntegrityError as error:
        return "forbids" in str(error) or "reserved" in str(error).lower()
    return False


@pytest.mark.parametrize("seed", range(COMPANIES))
def test_every_way_of_asking_says_what_the_oracle_says(
    one_person: None, monkeypatch: pytest.MonkeyPatch, seed: int
):
    company = Company(random.Random(seed))
    company.bind()
    # From here on the transaction no longer carries who asked for what.
    as_committed()
    verdicts = []
    for _ in range(ENTRIES):
        entry = company.some_entry()
        gives = company.holder(entry.source)
        if gives and gives.units < entry.amount:
            continue
        expected = company.verdict(entry)
        asked = judge.ask(
            entry.token_id, entry.kind, entry.source, entry.target, entry.amount
        )
        assert codes(asked) == expected, entry
        assert all(refusal.text.endswith(".") for refusal in asked)
        assert by_writer(entry) == expected, entry
        assert by_database(entry, monkeypatch) == bool(expected), entry
        verdicts.append(bool(expected))
    assert True in verdicts
