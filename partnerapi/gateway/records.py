"""What is counted and logged of each request of `/graphql`."""

from dataclasses import dataclass, field
from time import monotonic, time
from uuid import UUID

from django.conf import settings

from partnerapi.core import json_lines, metrics
from partnerapi.core.postgresql.lending import backend
from partnerapi.core.sparing_log import OUTAGE_SECONDS, Sparing
from partnerapi.gateway.counts import counts
from partnerapi.gateway.recent import Recent, recent
from partnerapi.gateway.refusals import Unavailable

NAME_LENGTH = 100
"""Characters of an operation's name that are logged."""
OK = "OK"

unavailable = Sparing()


@dataclass(slots=True)
class Record:
    """`operation` is query or mutation, or none where that was not read.

    `whole_at`: since when the request could be answered, a time of `time.monotonic`.
    `code` is that of the first error. `name` is the client's for its operation.
    """

    request_id: str
    whole_at: float
    begun: float = field(default_factory=monotonic)
    login: str = ""
    partner_id: str = ""
    key_id: UUID | None = None
    operation: str = "none"
    name: str = ""
    code: str = OK
    points: int = 0
    server_seconds: float = 0.0
    is_parked: bool = False
    """Whether it will come anew, and be answered then."""

    def keep(self, status: int) -> None:
        """Count the request, and write its line where lines are JSON.

        Of requests that are UNAVAILABLE one has a line in ten seconds, whose `leftOut`
        is how many had none before it.
        """
        seconds = monotonic() - self.begun
        counters = metrics.of_request(self.operation, self.code)
        counters.requests.inc()
        counters.seconds.observe(seconds)
        counters.points.inc(self.points)
        metrics.server_seconds(self.login).inc(self.server_seconds)
        at = time()
        if self.key_id:
            counts.note(self.key_id, at, self.code)
        if self.partner_id:
            kept = Recent(
                at=at,
                operation=self.operation,
                name=self.name[:NAME_LENGTH],
                points=self.points,
                ms=round(seconds * 1000, 1),
                status=status,
                code=self.code,
                request_id=self.request_id,
            )
            recent.note(self.partner_id, kept)
        more: dict[str, int] = {}
        if self.code == Unavailable.code:
            count = unavailable.left_out(self.code, OUTAGE_SECONDS)
            if count is None:
                return
            more = {"leftOut": count}
        if settings.LOG_FORMAT == "json":
            json_lines.write(
                event="request",
                requestId=self.request_id,
                login=self.login,
                operation=self.operation,
                name=self.name[:NAME_LENGTH],
                status=status,
                code=self.code,
                ms=round(seconds * 1000, 1),
                waitedMs=round((self.begun - self.whole_at) * 1000, 1),
                serverMs=round(self.server_seconds * 1000, 1),
                points=self.points,
                backend=backend(),
                **more,
            )
