"""Partners follow their events while others trade: all of them, in order, at once.

Run it with `python -m tests.benchmarks.trading_events --seconds 20`. Eight writers send
lists to eight markets; four partners, whose clients trade on all of them, each read
`events` by a cursor, over and over, as a web process answers it. It ends with exit code
1 where a partner missed an event, had one twice, or had those of a token in another
order than that of the commits; and where a read that began 20 ms of idle cores after a
commit, or later, did not have its events.
"""

import argparse
import multiprocessing
import os
import random
import statistics
import sys
from bisect import bisect_left
from multiprocessing.synchronize import Barrier, Event
from time import monotonic
from typing import Any, NamedTuple
from uuid import UUID

from rich.console import Console
from rich.table import Table

from tests.benchmarks.trading import TOKENS, flow, make_markets
from tests.benchmarks.yardstick import Pace, yardstick
from tests.installation import throw_away_installation

SIZE, PAUSE = 5, 0.25
"""Of a writer's lists, and seconds between them, so that readers keep up."""
PAGE = 100
MOST_SECONDS = 0.020
DOCUMENT = f"""query ($after: String) {{ events(first: {PAGE}, after: $after) {{
    nodes {{ sequence type order {{ id }} }} }} }}"""


class Seen(NamedTuple):
    """An event, when the last read without it began, and when the first with it ended.

    Times are those of the machine's monotonic clock, in seconds.
    """

    sequence: int
    type: str
    order: UUID | None
    missed: float
    ended: float


class Listed(NamedTuple):
    """The last event of a list in its market's log, and when the writer knew of it."""

    event: int
    committed: float


def write(
    token_id: UUID, accounts: list[UUID], seed: int, over: Event, ready: Barrier
) -> tuple[UUID, list[Listed]]:
    from marketdata.trading.market import Placed, place_each

    dice, lists = random.Random(seed), []
    ready.wait()
    while not over.wait(PAUSE):
        results = place_each(token_id, flow(dice, accounts, SIZE))
        committed = monotonic()
        events = [r.order.last_event for r in results if isinstance(r, Placed)]
        if events:
            lists.append(Listed(max(events), committed))
    return token_id, lists


def read(
    partner_id: UUID, key: str, after: int, over: Event, ready: Barrier
) -> tuple[UUID, list[Seen]]:
    """What a partner reads until the writers have ended, and it has all of it."""
    from tests.characters import Ask

    ask, seen, missed = Ask(key), [], 0.0
    ask(DOCUMENT, {"after": str(after)})
    ready.wait()
    while True:
        is_last, began = over.is_set(), monotonic()
        nodes = ask(DOCUMENT, {"after": str(after)}).data["events"]["nodes"]
        ended = monotonic()
        for node in nodes:
            after = int(node["sequence"])
            order = node["order"] and UUID(node["order"]["id"].partition("|")[2])
            seen.append(Seen(after, node["type"], order, missed, ended))
        if len(nodes) < PAGE:
            missed = began
            if is_last:
                return partner_id, seen


def in_process(work: Any, arguments: tuple[Any, ...], told: Any) -> None:
    import django

    django.setup()
    from django.db import connection

    connection.settings_dict["OPTIONS"]["options"] += " -c lock_timeout=60000"
    connection.ensure_connection()
    told.put(work(*arguments))


class Run:
    """What writers and readers said, against what stands in the tables."""

    def __init__(
        self, written: dict[UUID, list[Listed]], seen: dict[UUID, list[Seen]]
    ) -> None:
        self.written, self.seen = written, seen
        self.wrong: list[str] = []
        self.after: list[float] = []
        self.missed: list[float] = []

    def judge(self, begins: dict[UUID, int]) -> None:
        """Compare each partner's events after those that it began with."""
        from issuers.models import EventHead

        for partner, seen in self.seen.items():
            last = EventHead.objects.get(partner=partner).last_sequence
            expected = list(range(begins[partner] + 1, last + 1))
            if [event.sequence for event in seen] != expected:
                first = begins[partner] + 1
                self.wrong.append(
                    f"{partner} read {len(seen)} of {first} to {last}, or not in order"
                )
            self.judge_events(partner, seen)
        for partner, lost in not_told():
            self.wrong.append(f"{partner} did not get {lost} events")

    def judge_events(self, partner: UUID, seen: list[Seen]) -> None:
        from issuers.models import Event as Row

        names = ("type", "subject_id", "token_id", "order_event")
        found = Row.objects.filter(partner=partner).values_list("sequence", *names)
        rows = {sequence: row for sequence, *row in found}
        last: dict[UUID, int] = {}
        for event in seen:
            type_, subject, token, number = rows[event.sequence]
            if (event.type, event.order) != (type_, subject):
                self.wrong.append(f"{partner} read {event}, it is {type_} of {subject}")
            if number <= last.get(token, 0):
                self.wrong.append(f"{partner} read {number} of {token} too late")
            last[token] = number
            lists = self.written[token]
            place = bisect_left(lists, number, key=lambda each: each.event)
            committed = lists[place].committed
            self.after.append(event.ended - committed)
            self.missed.append(event.missed - committed)


def not_told() -> list[tuple[UUID, int]]:
    """Events of the markets' logs that their orders' partners did not get."""
    from partnerapi.core.database import fetch

    return fetch(NOT_TOLD, [], tuple)


NOT_TOLD = """
    SELECT o.partner_id, count(*) FROM trading_orderevent e
    JOIN trading_order o ON o.id = e.order_id
    LEFT JOIN issuers_event v ON v.partner_id = o.partner_id
        AND v.token_id = e.token_id AND v.order_event = e.number
    WHERE v.id IS NULL GROUP BY 1
"""


def run(
    tokens: list[UUID],
    accounts: list[list[UUID]],
    keys: dict[UUID, str],
    seconds: float,
) -> Run:
    from issuers.models import EventHead

    spawn = multiprocessing.get_context("spawn")
    over, ended = spawn.Event(), spawn.Event()
    written, seen = spawn.Queue(), spawn.Queue()
    ready = spawn.Barrier(len(tokens) + len(keys) + 1)
    heads = EventHead.objects.filter(partner__in=keys)
    begins = dict(heads.values_list("partner", "last_sequence"))
    processes = [
        spawn.Process(
            target=in_process,
            args=(write, (token, own, number, over, ready), written),
        )
        for number, (token, own) in enumerate(zip(tokens, accounts, strict=True))
    ] + [
        spawn.Process(
            target=in_process,
            args=(read, (partner, key, begins[partner], ended, ready), seen),
        )
        for partner, key in keys.items()
    ]
    for process in processes:
        process.start()
    ready.wait(timeout=120)
    over.wait(timeout=seconds)
    over.set()
    lists = dict(written.get(timeout=120) for _ in tokens)
    # A list that was on its way at the writers' end has arrived by now.
    ended.set()
    found = Run(lists, dict(seen.get(timeout=120) for _ in keys))
    for process in processes:
        process.join()
    found.judge(begins)
    return found


def main(pace: Pace) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.trading_events",
        description="Follow the events of four partners while eight markets trade.",
    )
    parser.add_argument("--seconds", type=float, default=20)
    seconds: float = parser.parse_args().seconds
    with throw_away_installation(durable=True):
        from django.db import transaction

        from accounts.access import Scope
        from accounts.keys.models import Partner
        from partnerapi.sandbox.data.approvals import approved_key
        from tests.owner import tamper

        with transaction.atomic():
            tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
        tokens, accounts = make_markets()
        keys = {
            partner.pk: approved_key(partner, list(Scope))[1]
            for partner in Partner.objects.all()
        }
        load = os.getloadavg()[0]
        found = run(tokens, accounts, keys, seconds)
    lists = sum(map(len, found.written.values()))
    after, missed = sorted(found.after), max(found.missed)
    table = Table(
        "partners", "writers", "orders/s", "events/s", "read after: p50 ms", "p99 ms",
        "longest missed, ms", "on idle cores",
    )  # fmt: skip
    table.add_row(
        f"{len(keys)}", f"{TOKENS}", f"{lists * SIZE / seconds:,.0f}",
        f"{len(after) / seconds:,.0f}", f"{statistics.median(after) * 1000:.1f}",
        f"{after[int(len(after) * 0.99)] * 1000:.1f}", f"{max(missed, 0) * 1000:.1f}",
        f"{pace.idle(max(missed, 0)) * 1000:.1f}",
    )  # fmt: skip
    table.title = f"events of trades, load {load:.1f}"
    Console(width=120).print(table)
    for sentence in found.wrong[:20]:
        sys.stdout.write(f"WRONG {sentence}\n")
    return int(bool(found.wrong) or pace.idle(missed) > MOST_SECONDS)


if __name__ == "__main__":
    with yardstick() as pace:
        sys.exit(main(pace))
