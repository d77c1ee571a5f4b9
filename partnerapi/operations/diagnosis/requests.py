"""What this process's own requests have met lately."""

from collections.abc import Iterator
from time import monotonic

from partnerapi.gateway.outages import noted
from partnerapi.operations.diagnosis.findings import Finding, State, remedy_of

LATELY_SECONDS = 10.0


def requests() -> Iterator[Finding]:
    """The faults for which requests were refused lately; none where none was."""
    now = monotonic()
    for fault, at in list(noted.items()):
        if now - at < LATELY_SECONDS:
            what, remedy = remedy_of(fault)
            says = f"Requests are refused: {what}"
            figures = {"lastSeconds": round(now - at, 1)}
            yield Finding("requests", State.WARNING, says, remedy, figures)
