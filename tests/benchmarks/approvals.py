"""What it costs an entry that the database asks for an approval at the commit.

Run it with `python -m tests.benchmarks.approvals`. Entries are committed one by one, in
rounds that take turns: with the triggers, and with the triggers switched off by the
owner of the tables. It prints, for each kind of entry, the milliseconds of processor
time that an entry takes with and without, here and in PostgreSQL together, and their
ratio. What a mint needs was asked for and approved before it is measured.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import psutil

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

TRIGGERS = ("approvals_of_entry", "approvals_of_delivered_line")
SWITCH = "ALTER TABLE issuers_ledgertransaction {} TRIGGER {}"


@contextmanager
def switched_off() -> Iterator[None]:
    switch("DISABLE")
    try:
        yield
    finally:
        switch("ENABLE")


def switch(how: str) -> None:
    from django.db import connection

    from tests.owner import as_owner

    with as_owner(), connection.cursor() as cursor:
        for trigger in TRIGGERS:
            cursor.execute(SWITCH.format(how, trigger))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--entries", type=int, default=100, help="of a round")
    options = parser.parse_args()
    with throw_away_installation(durable=True):
        for kind, work in (("TRANSFER", transfers), ("MINT", mints)):
            rounds = []
            enter = work(options.entries)
            for _ in range(options.rounds):
                asked = enter()
                with switched_off():
                    free = enter()
                rounds.append((asked, free))
            asked = statistics.fmean(each for each, _ in rounds) * 1_000
            free = statistics.fmean(each for _, each in rounds) * 1_000
            said = f"{asked:.2f} ms with, {free:.2f} ms without: {asked / free:.2f}"
            sys.stdout.write(f"{kind}: {said}\n")
    return 0


def spent() -> float:
    """Seconds of processor time, of this process and of its session of PostgreSQL."""
    from django.db import connection

    connection.ensure_connection()
    used = psutil.Process(connection.connection.info.backend_pid).cpu_times()
    return time.process_time() + used.user + used.system


def register(symbol: str) -> tuple[UUID, list[int]]:
    """A token, and two ledger accounts with units."""
    from issuers.models import Token
    from issuers.register import ledger
    from tests.approved import approved_record
    from tests.issuers.register import new_issuer, people

    token = Token.objects.create(issuer=new_issuer(), name="Bench", symbol=symbol)
    accounts = [*ledger.holder_accounts(user.pk for user in people(2)).values()]
    for account in accounts:
        approved_record([ledger.Entry(token.pk, "MINT", 10**6, None, account)], "bench")
    return token.pk, accounts


def transfers(entries: int) -> Callable[[], float]:
    from issuers.register import ledger

    token, (a, b) = register("MOVED")
    entry = ledger.Entry(token, "TRANSFER", 1, a, b)

    def enter() -> float:
        begun = spent()
        for _ in range(entries):
            ledger.record([entry], "bench")
        return (spent() - begun) / entries

    return enter


def mints(entries: int) -> Callable[[], float]:
    from accounts.approvals.four_eyes import carrying
    from issuers.models import Token
    from issuers.register import ledger
    from issuers.register.approvals import entry_content
    from partnerapi.sandbox.data.approvals import file_and_approve

    token, (account, _) = register("MINTED")
    entry = ledger.Entry(token, "MINT", 1, None, account)

    def enter() -> float:
        supply = int(Token.objects.get(pk=token).ledger_head.supply)
        contents = [entry_content(entry, supply + n) for n in range(entries)]
        requests = file_and_approve("MINT", *contents)
        begun = spent()
        for request in requests:
            with carrying([request.pk]):
                ledger.record([entry], "bench")
        return (spent() - begun) / entries

    return enter


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())
