"""Measure what events cost the register's writers: with them, and without.

python -m tests.benchmarks.events --seconds 5

Writers, each with its own tokens, write batches for a while, in turns: without the
trigger that reports entries; with it and twenty partners that each have a grant for one
of the issuers; and with another partner that has a grant for every issuer, whose head
serialises all commits. Ends with 1 where batches of 1,000 entries of one writer are
slower than 0.9 times those without.
"""

import argparse
import statistics
import sys
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

WRITERS = 8
PARTNERS = 20
BEFORE, GRANTED, EVERY = "without events", "with events", "and one for every issuer"
LEAST = 0.9


def transfers_per_second(
    tokens: list[Any], accounts: list[int], batch: int, seconds: float
) -> float:
    """What a writer for each token writes in batches, all of them together."""
    from django.db import connections

    from issuers.register import ledger

    done = [0] * len(tokens)
    stop = perf_counter() + seconds

    def write(number: int) -> None:
        count = len(accounts)
        turn = number
        while perf_counter() < stop:
            entries = []
            for _ in range(batch):
                turn += 1
                source, target = accounts[turn % count], accounts[(turn + 1) % count]
                entries.append(
                    ledger.Entry(tokens[number].pk, "TRANSFER", 1, source, target)
                )
            ledger.record(entries, "me")
            done[number] += batch
        connections.close_all()

    start = perf_counter()
    threads = [
        threading.Thread(target=write, args=(number,)) for number in range(len(tokens))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done) / (perf_counter() - start)


def switches() -> dict[str, Callable[[], None]]:
    """What makes each of the three states."""
    from django.db import connections

    from accounts.approvals.models import ApprovalKind
    from accounts.keys.models import Partner
    from issuers import grants
    from issuers.models import IssuerGrant
    from partnerapi.core.owner import owner_alias
    from partnerapi.sandbox.data.approvals import carry_out_requests, file_and_approve
    from tests.approved import asker

    everything = Partner.objects.create(login="everything", name="Everything")

    def tell(state: str) -> None:
        with connections[owner_alias()].cursor() as cursor:
            cursor.execute(
                f"ALTER TABLE issuers_ledgertransaction {state} TRIGGER"
                " events_register_changed"
            )

    def without() -> None:
        tell("DISABLE")

    def granted() -> None:
        tell("ENABLE")
        for grant in IssuerGrant.objects.live().filter(partner=everything):
            grants.end(grant, asker())

    def every() -> None:
        tell("ENABLE")
        asked = file_and_approve(
            ApprovalKind.GRANT, grants.grant_content(everything, None)
        )
        with carry_out_requests(asked):
            grants.give(everything, None, asker())

    return {BEFORE: without, GRANTED: granted, EVERY: every}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="example: python -m tests.benchmarks.events --seconds 1 --rounds 3",
    )
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    slow = False
    with throw_away_installation(durable=True):
        from django.db import connection
        from django.utils import timezone

        from accounts.keys.models import Partner
        from issuers.models import Token
        from issuers.register import ledger
        from partnerapi.sandbox.data.approvals import approved_grant
        from tests.approved import approved_record
        from tests.issuers.register import new_issuer, people

        tokens = []
        for number in range(WRITERS):
            tokens.append(
                Token.objects.create(
                    issuer=new_issuer(), name=f"W{number}", symbol=f"W{number}"
                )
            )
        for number in range(PARTNERS):
            partner = Partner.objects.create(login=f"p{number}", name=f"P{number}")
            approved_grant(partner, tokens[number % WRITERS].issuer)
        accounts = list(ledger.holder_accounts(u.pk for u in people(200)).values())
        for token in tokens:
            approved_record(
                [ledger.Entry(token.pk, "MINT", 10**9, None, a) for a in accounts], "me"
            )
        with connection.cursor() as cursor:
            cursor.execute("SHOW fsync")
            [(fsync,)] = cursor.fetchall()
        switch = switches()
        table = Table("writers", "batch", *switch, "ratios")
        for writers, batch in ((1, 1), (1, 1000), (WRITERS, 1), (WRITERS, 100)):
            found: dict[str, list[float]] = {state: [] for state in switch}
            for _ in range(arguments.rounds):
                for state, turn in switch.items():
                    turn()
                    found[state].append(
                        transfers_per_second(
                            tokens[:writers], accounts, batch, arguments.seconds
                        )
                    )
            medians = {s: statistics.median(rates) for s, rates in found.items()}
            ratios = [medians[s] / medians[BEFORE] for s in (GRANTED, EVERY)]
            slow |= (writers, batch) == (1, 1000) and min(ratios) < LEAST
            table.add_row(
                str(writers),
                str(batch),
                *(f"{rate:,.0f}/s" for rate in medians.values()),
                ", ".join(f"{ratio:.2f} ×" for ratio in ratios),
            )
        table.title = f"transfers, {timezone.now():%Y-%m-%d}, fsync {fsync}"
        Console(width=120).print(table)
    return int(slow)


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
