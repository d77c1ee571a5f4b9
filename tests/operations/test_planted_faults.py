"""`doctor` calls an installation well that is, and names faults planted in it.

All of them, and what is logged meanwhile, `python -m tests.chaos.faults` tries.
"""

from collections.abc import Iterator

import pytest

from tests.operations.living import Living, living_installation
from tests.operations.planted import FAULTS, NEEDS_DISK

SOON_PLANTED = (
    "it_only_reads",
    "its_disk_is_full",
    "a_right_was_taken_away",
    "pages_may_be_torn",
    "connections_are_near_their_limit",
    "transaction_ids_run_out",
    "a_sequence_is_near_its_end",
    "who_may_decide_cannot_sign",
    "the_standby_is_an_hour_behind",
    "the_wal_receiver_has_ended",
    "valkey_is_full",
)


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with living_installation() as made:
        yield made


def test_what_cannot_be_known_is_told_by_the_exit_code_alone(living: Living):
    assert living.attention() == []
    with FAULTS["a_sequence_cannot_be_looked_at"].plant(living):
        code, checks = living.doctor()
    assert {one["state"] for one in checks} == {"ok", "unknown"}
    assert code == 1


@pytest.mark.parametrize("name", SOON_PLANTED)
def test_a_fault_is_named_with_its_remedy_and_told_by_the_exit_code(
    living: Living, name: str
):
    fault = FAULTS[name]
    if fault.needs_disk and not living.is_mounted:
        pytest.skip(NEEDS_DISK)
    with fault.plant(living) as told:
        code, checks = living.doctor(**told or {})
    assert fault.found(checks), [one for one in checks if one["state"] != "ok"]
    states = {one["state"] for one in checks}
    assert code == (2 if "failed" in states else 1)
