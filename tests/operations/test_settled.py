"""What a process says of the standby before it has seen the primary."""

import pytest
from django.db import OperationalError

from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.faults import Fault, fault_of
from partnerapi.core.standby import settled_arguments, standby


def test_nothing_is_settled_on_the_standby_of_a_primary_never_seen(
    monkeypatch: pytest.MonkeyPatch,
):
    primary = lending.Lender(1)
    monkeypatch.setattr(lending, "lender", primary)
    monkeypatch.setattr(standby, "settled_at", None)
    assert settled_arguments() == [None, False]
    with lending.reading_replica():
        with pytest.raises(OperationalError) as unknown:
            settled_arguments()
        assert fault_of(unknown.value) is Fault.AWAY
        # No server: what the standby has is all that there is.
        primary.has_ended = True
        assert settled_arguments() == [None, True]
