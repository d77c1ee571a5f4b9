"""Freezes, suspensions and rules that race fills: a stopped user trades no more.

    python -m tests.marketdata.trading.races --rounds 1000

Traders send lists to three markets without a pause, while one person freezes holders,
one suspends accounts, and one changes rules of tokens; each lets a few lists pass and
takes it back again, so many times. It ends with exit code 1 if an order of a stopped
user was left open, or traded in between by the database's dates. It ends with an error
if a thread met a deadlock, or waited for a minute.
"""

import argparse
import random
import sys
import threading
from time import perf_counter
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.approved import desk
from tests.installation import throw_away_installation

CLIENTS, TOKENS, TRADERS = 12, 3, 4
PASSING = 2
"""Lists that pass while someone is stopped."""
STOPS = {
    "freeze": "HOLDER_FROZEN",
    "suspension": "ACCOUNT_NOT_ACTIVE",
    "rule": "RULE_CHANGED",
}
"""By what stops, why an open order has ended."""


class Race:
    def __init__(self) -> None:
        from accounts.investors import writer as investors
        from partnerapi.sandbox.data.approvals import ASKER, colleague
        from tests.marketdata.trading.trading import (
            deposit,
            give,
            new_clients,
            new_market,
            new_partner,
        )

        self.tokens = [new_market() for _ in range(TOKENS)]
        first = new_clients(CLIENTS, new_partner())
        # Half of the users have an account with another partner, too.
        users = [account.user for account in first[::2]]
        self.clients = [*first, *new_clients(0, new_partner(), users)]
        for client in self.clients:
            deposit(client, 10**10)
        for token in self.tokens:
            give(token, dict.fromkeys(first, 10**6))
        self.professionals = [account.user_id for account in first[1::2]]
        facts = investors.Facts("VERIFIED", None, None, "PROFESSIONAL")
        for account in first[1::2]:
            investors.decide(account.user, facts, colleague(ASKER).email or "")
        self.lists = 0
        self.left_open = dict.fromkeys(STOPS, 0)
        self.stopping = len(STOPS)
        self.lock = threading.Lock()

    def run(self, rounds: int) -> None:
        """Stop someone so many times, of each kind.

        Raises:
            BaseException: what a thread raised first, such as a deadlock.
        """
        from tests.threads import in_threads

        stops = [self.freeze, self.suspend, self.rule]

        def act(number: int) -> None:
            dice = random.Random(number)
            if number >= len(stops):
                self.trade(dice)
                return
            try:
                for _ in range(rounds):
                    stops[number](dice)
            finally:
                with self.lock:
                    self.stopping -= 1

        errors = in_threads(len(stops) + TRADERS, act)
        if errors:
            raise errors[0]

    def trade(self, dice: random.Random) -> None:
        from tests.marketdata.trading.trading import buy, place, sell

        while self.stopping:
            requests = [
                dice.choice([buy, sell])(
                    dice.choice(self.clients), dice.randint(1, 9), dice.randint(98, 102)
                )
                for _ in range(4)
            ]
            place(dice.choice(self.tokens), *requests)
            with self.lock:
                self.lists += 1

    def look(self, kind: str, **theirs: Any) -> None:
        """Count the stopped users' open orders, now or after a few more lists."""
        from marketdata.trading.models import Order
        from tests.waiting import until

        orders = Order.objects.filter(status="OPEN", **theirs)
        found = orders.count()
        wanted = self.lists + PASSING
        until(lambda: self.lists >= wanted, pause=0.001)
        self.left_open[kind] += found + orders.count()

    def freeze(self, dice: random.Random) -> None:
        from issuers.compliance import restrictions
        from issuers.compliance.restrictions import Terms
        from tests.approved import asker

        user = dice.choice(self.clients).user
        token = dice.choice([None, *self.tokens])
        made = restrictions.restrict(user, Terms("FREEZE", "why", token), asker())
        self.look("freeze", user=user, **({"token": token} if token else {}))
        restrictions.end(made, asker())

    def suspend(self, dice: random.Random) -> None:

        from accounts.accounts.models import Account

        account = Account.objects.get(pk=dice.choice(self.clients).pk)
        staff = desk()
        account.change_status("SUSPENDED", staff, None)
        self.look("suspension", account=account)
        account.change_status("ACTIVE", staff, None)

    def rule(self, dice: random.Random) -> None:
        """A rule: no one trades any more, or only professionals buy."""
        from issuers.compliance.rules import set_rule
        from tests.approved import asker

        token = dice.choice(self.tokens)
        kind, parameters, theirs = dice.choice(
            [
                ("TRANSFERS_PAUSED", {}, {}),
                (
                    "INVESTOR_CLASSES",
                    {"classes": ["PROFESSIONAL"]},
                    {"side": 0, "user__in": self.others()},
                ),
            ]
        )
        set_rule(token, kind, parameters, "why", asker())
        self.look("rule", token=token, **theirs)
        set_rule(token, kind, None, "", asker())

    def others(self) -> list[Any]:
        """Users who are not professionals."""
        return [c.user_id for c in self.clients if c.user_id not in self.professionals]

    def traded(self) -> dict[str, int]:
        """By kind of stop, the stopped users' fills while it was in force."""
        from partnerapi.core.database import fetch

        found = {}
        for kind, statement in FILLS.items():
            values = [self.others()] if kind == "rule" else []
            [(found[kind],)] = fetch(statement, values, tuple)
        return found

    def ended(self) -> dict[str, int]:
        """By kind of stop, the orders that it took out of the books."""
        from marketdata.trading.models import Order

        return {
            kind: Order.objects.filter(status_reason=reason).count()
            for kind, reason in STOPS.items()
        }


# Of what has dates of its own; what is in force has no end yet.
FILLS = {
    "freeze": """
        SELECT count(*) FROM issuers_restriction r
        JOIN issuers_ledgeraccount l ON l.id = r.ledger_account_id
        JOIN accounts_account a ON a.user_id = l.user_id
        JOIN trading_fill f ON f.account_id = a.id
            AND f.at > r.created_at AND f.at < coalesce(r.ended_at, 'infinity')
        WHERE r.token_id IS NULL OR r.token_id = f.token_id
    """,
    "suspension": """
        SELECT count(*) FROM accounts_accountstatuschange s
        LEFT JOIN accounts_accountstatuschange n ON n.account_id = s.account_id
            AND n.number = s.number + 1
        JOIN trading_fill f ON f.account_id = s.account_id
            AND f.at > s.created_at AND f.at < coalesce(n.created_at, 'infinity')
        WHERE s.status = 'SUSPENDED'
    """,
    "rule": """
        SELECT count(*) FROM issuers_tokenrule r
        JOIN trading_execution x ON x.token_id = r.token_id
            AND x.at > r.created_at AND x.at < coalesce(r.ended_at, 'infinity')
        JOIN accounts_account a ON a.id = x.buyer_account_id
        WHERE r.kind = 'TRANSFERS_PAUSED' OR a.user_id = ANY (%s)
    """,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.marketdata.trading.races",
        description="Stop holders, accounts and tokens while they trade.",
    )
    parser.add_argument("--rounds", type=int, default=1_000, help="of each kind")
    rounds: int = parser.parse_args().rounds
    with throw_away_installation():
        from django.db import connection

        from marketdata.trading.models import Execution
        from marketdata.trading.verification import verify
        from tests.owner import tamper

        connection.settings_dict["OPTIONS"]["options"] += " -c lock_timeout=60000"
        connection.close()
        tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
        race = Race()
        began = perf_counter()
        race.run(rounds)
        seconds = perf_counter() - began
        traded, ended = race.traded(), race.ended()
        table = Table("", "times", "orders it ended", "left open", "traded in it")
        for kind in STOPS:
            table.add_row(
                kind, f"{rounds:,}", f"{ended[kind]:,}", f"{race.left_open[kind]:,}",
                f"{traded[kind]:,}",
            )  # fmt: skip
        table.title = (
            f"{race.lists:,} lists, {Execution.objects.count():,} trades, "
            f"{seconds:,.0f} s"
        )
        Console(width=100).print(table)
        broken = [found for found in verify() if found.breaches]
        for found in broken:
            sys.stdout.write(f"BROKEN {found.breaches} times: {found.rule}\n")
    wrong = sum(traded.values()) + sum(race.left_open.values()) + len(broken)
    return int(wrong > 0 or not all(ended.values()))


if __name__ == "__main__":
    sys.exit(main())
