"""The register against a dictionary, step by step, at every instant there has been.

python -m tests.issuers.test_register_machine --runs 300 --steps 40
"""

import argparse
import sys
import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.installation import throw_away_installation
from tests.tiers import count
from tests.waiting import until_waiting_for_a_lock

TOKENS, PEOPLE = 2, 4
INTERVAL = timedelta(microseconds=1)
numbers = st.integers(min_value=1, max_value=40)
tokens = st.integers(min_value=0, max_value=TOKENS - 1)
people = st.integers(min_value=0, max_value=PEOPLE - 1)


class Model:
    """What a register is: per token who has what, and the price."""

    def __init__(self) -> None:
        self.units: list[dict[Any, int]] = [{} for _ in range(TOKENS)]
        self.price = [0] * TOKENS

    def move(self, token: int, source: Any, target: Any, amount: int) -> bool:
        units = self.units[token]
        if source is not None and units.get(source, 0) < amount:
            return False
        if source is not None:
            units[source] -= amount
        if target is not None:
            units[target] = units.get(target, 0) + amount
        return True

    def table(self, users: list[str]) -> Any:
        rows = []
        for number, user in enumerate(users):
            held = [(n, self.units[n].get(number, 0)) for n in range(TOKENS)]
            held = [(n, units) for n, units in held if units]
            if held:
                value = sum(units * self.price[n] for n, units in held)
                rows.append((-value, user, held))
        held_of = [
            sum(count for who, count in units.items() if who != "treasury")
            for units in self.units
        ]
        return (
            [
                (self.price[n], held_of[n], sum(self.units[n].values()))
                for n in range(TOKENS)
            ],
            [(user, -value, held) for value, user, held in sorted(rows)],
        )


class Register(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        from django.utils import timezone

        from issuers.register import ledger
        from tests.issuers.register import empty_token, new_issuer
        from tests.issuers.register import people as new_people

        self.issuer = new_issuer()
        at = timezone.now()
        self.tokens = [
            empty_token(self.issuer, f"{self.issuer.slug[:12].upper()}-{n}", at)
            for n in range(TOKENS)
        ]
        users = new_people(PEOPLE)
        found = ledger.holder_accounts(user.pk for user in users)
        self.users = [str(user.pk) for user in users]
        self.accounts: dict[Any, int] = {
            n: found[user.pk] for n, user in enumerate(users)
        }
        self.accounts["treasury"] = ledger.treasury(self.issuer)
        self.model = Model()
        self.seen: dict[str, Any] = {}
        self.entries: list[Any] = []
        self.remember(self.read(None))

    def enter(
        self, kind: str, token: int, source: Any, target: Any, amount: int, **more: Any
    ) -> None:
        """The ledger does what the model does, or refuses what it refuses."""
        from issuers.register import ledger
        from issuers.register.errors import InsufficientBalance
        from tests.approved import approved_record

        entry = ledger.Entry(
            self.tokens[token].pk,
            kind,
            amount,
            self.accounts.get(source),
            self.accounts.get(target),
            **more,
        )
        held = self.model.units[token].get(source, 0)
        if not self.model.move(token, source, target, amount):
            with pytest.raises(InsufficientBalance) as refused:
                approved_record([entry], "machine")
            assert refused.value.missing == amount - held
            return
        [recorded] = approved_record([entry], "machine")
        if kind != "REVERSAL":
            self.entries.append((token, recorded.number, source, target, amount))
        self.remember(self.read(recorded.effective_at))

    @rule(token=tokens, amount=numbers)
    def mint(self, token: int, amount: int) -> None:
        self.enter("MINT", token, None, "treasury", amount)

    @rule(token=tokens, to=people, amount=numbers)
    def allocate(self, token: int, to: int, amount: int) -> None:
        self.enter("ALLOCATE", token, "treasury", to, amount)

    @rule(token=tokens, source=people, to=people, amount=numbers)
    def transfer(self, token: int, source: int, to: int, amount: int) -> None:
        if source != to:
            self.enter("TRANSFER", token, source, to, amount)

    @rule(token=tokens, source=people, amount=numbers)
    def give_back(self, token: int, source: int, amount: int) -> None:
        self.enter("RETURN", token, source, "treasury", amount)

    @rule(token=tokens, source=st.one_of(people, st.just("treasury")), amount=numbers)
    def burn(self, token: int, source: Any, amount: int) -> None:
        self.enter("BURN", token, source, None, amount)

    @rule(token=tokens, to=people, amount=numbers, mints=st.booleans())
    def deliver(self, token: int, to: int, amount: int, mints: bool) -> None:
        from issuers.legacy import delivery
        from issuers.legacy.models import DeliveryJob, LegacyShareholder
        from tests.approved import released_job

        row = LegacyShareholder.objects.create(
            issuer=self.issuer,
            user_id=self.users[to],
            token=self.tokens[token],
            number_of_shares=amount,
            price_cents=1,
        )
        source = None if mints else "treasury"
        kind = DeliveryJob.Source.MINT if mints else DeliveryJob.Source.TREASURY
        job = released_job(kind, [row.pk], "machine")
        delivery.deliver_next(job)
        if not self.model.move(token, source, to, amount):
            [refusal] = dict(job.refusals()).values()
            assert "fewer than the" in refusal
            return
        assert job.delivered == 1
        row.refresh_from_db()
        self.entries.append((token, row.ledger_seq, source, to, amount))
        self.remember(self.read(row.delivered_at))

    @precondition(lambda self: self.entries)
    @rule(data=st.data())
    def reverse(self, data: Any) -> None:
        place = data.draw(st.integers(0, len(self.entries) - 1))
        token, number, source, target, amount = self.entries[place]
        before = len(self.seen)
        self.enter("REVERSAL", token, target, source, amount, reverses=number)
        if len(self.seen) > before:
            del self.entries[place]

    @rule(token=tokens, cents=st.integers(min_value=0, max_value=1000))
    def price(self, token: int, cents: int) -> None:
        from tests.approved import approved_price

        recorded = approved_price(self.tokens[token].pk, cents, "MANUAL", "machine")
        self.model.price[token] = cents
        self.remember(self.read(recorded.effective_at))

    @rule(token=tokens, to=people, amount=numbers)
    def ask_while_a_writer_holds_its_lock(
        self, token: int, to: int, amount: int
    ) -> None:
        """Whoever asks for now waits, and the past answers meanwhile."""
        from django.db import connection, transaction

        from issuers.register import ledger
        from tests.approved import approved_record

        answers: list[Any] = []

        def ask() -> None:
            answers.append(self.read(None))
            connection.close()

        entry = ledger.Entry(
            self.tokens[token].pk, "MINT", amount, None, self.accounts[to]
        )
        with transaction.atomic():
            [recorded] = approved_record([entry], "machine")
            reader = threading.Thread(target=ask)
            reader.start()
            until_waiting_for_a_lock()
            assert answers == []
        reader.join()
        assert self.model.move(token, None, to, amount)
        self.remember(self.read(recorded.effective_at))
        self.remember(answers[0])

    def read(self, at: datetime | str | None) -> tuple[str, Any]:
        from issuers.register.captable import Holders, capitalization_tables

        instant = datetime.fromisoformat(at) if isinstance(at, str) else at
        [table] = capitalization_tables([str(self.issuer.pk)], instant, True)
        place = {str(token.pk): n for n, token in enumerate(self.tokens)}
        assert isinstance(table.holders, Holders)
        if table.holders:
            assert abs(sum(h.percentage for h in table.holders) - 1) < 1e-9
        return table.date, (
            [(t.price, t.held, t.supply) for t in table.tokens],
            [
                (
                    h.user_id,
                    h.total_value,
                    [(place[b.token_id], b.balance) for b in h.token_balances],
                )
                for h in table.holders
            ],
        )

    def remember(self, answer: tuple[str, Any]) -> None:
        """The answer is the model's; it is to stay what it is."""
        date, found = answer
        assert found == self.model.table(self.users)
        self.seen[date] = found

    @invariant()
    def every_instant_answers_as_it_did(self) -> None:
        if not hasattr(self, "seen"):
            return
        for date, found in list(self.seen.items()):
            assert self.read(date) == (date, found)
        instants = [datetime.fromisoformat(date) for date in self.seen]
        for earlier, later in zip(instants, instants[1:], strict=False):
            if later - earlier > INTERVAL:
                _, between = self.read(earlier + (later - earlier) / 2)
                assert between == self.seen[text_of(self.seen, earlier)]

    def teardown(self) -> None:
        from issuers.register.verification import verify

        assert [found for found in verify() if found.breaches] == []


def text_of(seen: dict[str, Any], instant: datetime) -> str:
    return next(date for date in seen if datetime.fromisoformat(date) == instant)


def run(runs: int, steps: int) -> None:
    run_state_machine_as_test(
        Register,
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )


@pytest.mark.django_db(transaction=True)
def test_the_register_is_the_dictionary():
    run(count(5, 20), 20)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.issuers.test_register_machine",
        description="Compare the register with a dictionary, at every instant. Ends "
        "with the steps that lead to a difference, if there is one.",
    )
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    with throw_away_installation():
        run(arguments.runs, arguments.steps)
    sys.stdout.write(f"{arguments.runs} × {arguments.steps} steps: 0 differences\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
