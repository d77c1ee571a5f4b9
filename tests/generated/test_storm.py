"""Generated documents against the seeded sandbox: no answer is an internal error."""

import pytest

from marketdata.management.commands.simulate_market import Market, tokens_named
from partnerapi.sandbox.data.seed import seed
from partnerapi.schema import schema
from tests.characters import Ask
from tests.generated.samples import read_samples
from tests.generated.tally import storm


@pytest.mark.django_db
def test_generated_documents_meet_no_internal_error(unlimited_budgets):
    keys = seed({}, lambda work, size: lambda done: None).keys
    Market(tokens_named([]), 1).fill()
    asks = [Ask(keys["demo"]), Ask(keys["observer"]), Ask()]
    tally = storm(schema, read_samples(asks[0]), asks, documents=150, seed=3)
    assert tally.masked == []
    assert tally.statuses == {200: 150}
    # What is drawn for a seed depends on the constants in the project's source.
    assert tally.without_errors >= 90
    assert tally.with_rows >= 60
    assert len(tally.fields) >= 200
    assert min(tally.with_fragments, tally.with_variables) >= 75
