"""Which tests are fast, and which are long runs: chosen here, by where they stand.

`pytest -m fast` starts no server but the one of its tables. Without `--long`, the long
runs are left out, but for those whose file is named; and of the random examples some
are tried, which differ from commit to commit where a test draws them (`count`).
"""

from pathlib import Path

FAST = (
    "tests/api/",
    "tests/core/",
    "tests/graphql/",
    "tests/marketdata/books/test_orderbook.py",
    "tests/marketdata/fix/protocol/",
    "tests/marketdata/trading/test_queues.py",
    "tests/marketdata/trading/test_uncross.py",
    "tests/test_reach.py",
    "tests/test_structure.py",
    "tests/test_words.py",
    "tests/test_yardstick.py",
)
STARTING_OR_SLOW = (
    "tests/api/test_check_order_in_time.py",
    "tests/api/test_cursors.py",
    "tests/api/test_disclosure.py",
    "tests/api/test_holders_connection.py",
    "tests/api/test_ledger_history.py",
    "tests/api/test_mixed_callers.py",
    "tests/api/test_orders.py",
    "tests/api/test_pages.py",
    "tests/api/test_plans.py",
    "tests/api/test_schema_contract.py",
    "tests/api/test_scopes.py",
    "tests/api/test_search.py",
    "tests/api/test_totals.py",
    "tests/api/test_walk_under_change.py",
    "tests/core/test_sparing_log.py",
    "tests/core/test_unconfirmed_commits.py",
    "tests/graphql/test_hostile_documents.py",
)
"""Of the rooms of FAST: they start servers, make many rows or take many seconds."""
LONG = (
    # Storms.
    "tests/chaos/",
    "tests/generated/",
    # Migrations over data, and what a new installation takes from end to end.
    "tests/commands/test_rehearse.py",
    "tests/commands/test_seed_sandbox.py",
    "tests/commands/test_seed_sandbox_refusal.py",
    "tests/commands/test_up.py",
    "tests/migrating/test_beside.py",
    "tests/migrating/test_there_and_back.py",
    # Other engines.
    "tests/benchmarks/test_graphql_benchmark.py",
    "tests/examples/test_clients.py",
    "tests/marketdata/fix/interop/",
    "tests/marketdata/fix/test_replays.py",
    # All heads of the sandbox, which take a partner's budget several times.
    "tests/issuers/test_heads_from_the_api.py",
    # Every page in every colour and width; the rest of the tests take a sample.
    "tests/pages/test_back_office_in_browser.py::test_everybody_can_read_it_on_every_window",
    "tests/pages/test_browser.py::test_everybody_can_read_it_on_every_window",
    # Faults in installations of their own.
    "tests/commands/test_doctor.py::test_a_worker_is_tried_by_a_task_and_counts_it",
    "tests/marketdata/fix/acceptor/test_inbound.py::test_no_length_ends_the_process",
    "tests/operations/test_deployment.py",
    "tests/operations/test_faults_of_postgresql.py",
    "tests/operations/test_faults_of_valkey.py",
    "tests/operations/test_planted_faults.py",
    "tests/operations/test_readiness.py::test_a_locked_table_makes_no_process_unready",
)

MORE_WHEN_LONG = (
    "tests/api/test_account_states.py",
    "tests/api/test_checkpoints.py",
    "tests/api/test_cursors.py",
    "tests/api/test_pages.py",
    "tests/api/test_walk_under_change.py",
    "tests/graphql/test_against_graphql_core.py",
    "tests/issuers/offerings/test_allotment.py",
    "tests/issuers/offerings/test_allotted_books.py",
    "tests/issuers/offerings/test_reserves.py",
    "tests/issuers/test_register_machine.py",
    "tests/marketdata/trading/test_interruptions.py",
    "tests/marketdata/trading/test_model.py",
    "tests/marketdata/trading/test_refused.py",
)
"""They try some examples without `--long`, and more with it."""
with_long = False
"""Whether this run has `--long`; conftest.py sets it."""


def count(usual: int, long: int) -> int:
    """How many examples a test of MORE_WHEN_LONG tries in this run."""
    return long if with_long else usual


def stands_in(where: str, places: tuple[str, ...]) -> bool:
    """Whether a test, or its file, is one of these, or in one of these rooms."""
    return any(
        where.startswith(place)
        and (place[-1] == "/" or where[len(place) :][:1] in "[:")
        for place in places
    )


def is_fast(test: str) -> bool:
    return stands_in(test, FAST) and not stands_in(test, STARTING_OR_SLOW)


def is_long(test: str) -> bool:
    return stands_in(test, LONG + MORE_WHEN_LONG)


def is_left_out(test: str) -> bool:
    """Whether it runs with `--long` only, or where its file is named."""
    return stands_in(test, LONG)


def long_files(root: Path) -> list[str]:
    """The files with long runs, as seen from the root of the project."""
    files = {place.partition("::")[0] for place in LONG + MORE_WHEN_LONG}
    found = {
        path
        for file in files
        for path in (
            root.glob(f"{file}**/test_*.py") if file[-1] == "/" else [root / file]
        )
    }
    return sorted(path.relative_to(root).as_posix() for path in found)
