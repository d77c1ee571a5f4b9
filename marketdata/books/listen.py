"""Waits until Redis reports that logs of order books have grown."""

import contextlib
import logging
from threading import Event
from uuid import UUID

from marketdata.books.notify import channel
from partnerapi.core.channels import ChannelListener
from partnerapi.core.outages import Outage

RETRY_SECONDS = 2.0


class GrowthListener(ChannelListener):
    def __init__(self, stopping: Event) -> None:
        outage = Outage(
            logging.getLogger(__name__),
            away="Redis does not answer (%s): order books are polled every second "
            "until it does",
            back="Redis answers again: notifications of order books are received",
            retry_seconds=RETRY_SECONDS,
        )
        super().__init__(channel(), stopping, outage)

    def wait(self, seconds: float) -> set[UUID]:
        """The tokens whose logs grow within this many seconds, or until the end."""
        grown = set()
        for message in self.wait_for_messages(seconds):
            # A message from another publisher is not a token's id.
            with contextlib.suppress(ValueError):
                grown.add(UUID(message))
        return grown
