"""Logons that wait for a CompID that another acceptor of the group may have.

All waiting Logons share each statement: after an acceptor was killed, hundreds wait.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from django.db import Error

from marketdata.fix.acceptor.leases import Holder, Leases, Wanted
from marketdata.fix.acceptor.logon import LogonRefused
from marketdata.fix.acceptor.relay import logged_on_from
from partnerapi.core.addresses import Address

WAIT_SECONDS, PAUSE_SECONDS, LEAST_SECONDS = 6.0, 1.0, 0.05
"""How long a Logon waits for another acceptor to give its CompID up; when it looks
again without a notification, at the latest and at the soonest."""
HELD_ELSEWHERE = (
    "Another acceptor holds this CompID and does not release it, or has received a "
    "newer Logon; log on again in a few seconds."
)


@dataclass(eq=False)
class Claim:
    """`generation` is that of its Logon; 0: not yet known."""

    address: Address
    taken: asyncio.Future[int]
    deadline: float
    generation: int = 0


class Claims:
    """Runs in the listener's loop. `in_thread` makes calls that await the database."""

    def __init__(
        self, leases: Leases, in_thread: Callable[..., Awaitable[Any]]
    ) -> None:
        self.leases = leases
        self.in_thread = in_thread
        self.waiting: dict[str, Claim] = {}
        self.news = asyncio.Event()

    async def take(self, comp_id: str, address: Address) -> int:
        """Wait for a CompID; returns the generation that now has it.

        Raises:
            LogonRefused: the other acceptor keeps it. django.db.Error: the database
            does not answer.
        """
        taken = asyncio.get_running_loop().create_future()
        claim = Claim(address, taken, monotonic() + WAIT_SECONDS)
        self.waiting[comp_id] = claim
        self.news.set()
        try:
            return await taken
        finally:
            del self.waiting[comp_id]
            self.leases.forget(comp_id, claim.generation)

    async def run(self) -> None:
        """Look while Logons wait, when one arrives, and when a lease is free."""
        pause: float | None = None
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self.news.wait()
            self.news.clear()
            pause = await self.look()

    async def look(self) -> float | None:
        """Settle claims; returns the seconds to the next look. None: none waits."""
        waiting = {c: one for c, one in self.waiting.items() if not one.taken.done()}
        if not waiting:
            return None
        wanted = {
            comp_id: Wanted(claim.generation, str(claim.address))
            for comp_id, claim in waiting.items()
        }
        try:
            settled = await self.in_thread(self.leases.settle, wanted)
        except Error as error:
            for claim in waiting.values():
                if not claim.taken.done():
                    claim.taken.set_exception(error)
            return None
        pause = PAUSE_SECONDS
        for comp_id, claim in waiting.items():
            claim.generation = settled.generations[comp_id]
            if claim.taken.done():
                # The connection has ended meanwhile.
                self.leases.forget(comp_id, claim.generation)
                self.leases.release(comp_id, claim.generation)
            elif comp_id not in settled.holders:
                claim.taken.set_result(claim.generation)
            else:
                holder = settled.holders[comp_id]
                if refusal := refusal_of(claim, holder):
                    claim.taken.set_exception(LogonRefused(refusal))
                pause = min(pause, max(LEAST_SECONDS, holder.seconds_left))
        return pause


def refusal_of(claim: Claim, holder: Holder) -> str:
    """Why a Logon without a lease need not wait any longer, or ""."""
    if holder.since and holder.refused >= claim.generation:
        return logged_on_from(holder.address, holder.since)
    return HELD_ELSEWHERE if monotonic() > claim.deadline else ""
