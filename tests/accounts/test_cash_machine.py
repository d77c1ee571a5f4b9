"""Cash against dictionaries, action by action; every invariant after each.

python -m tests.accounts.test_cash_machine --runs 300 --steps 40
"""

import argparse
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from partnerapi.core.invariants import check_invariants
from tests.installation import throw_away_installation

ACCOUNTS = 4


class Model:
    """A model of cash: balances, reserved cash and unallocated cash."""

    def __init__(self) -> None:
        self.cash = [0] * ACCOUNTS
        self.status = ["ACTIVE"] * ACCOUNTS
        self.nobodys = 0
        # By the account and the partner's reference: the amount and the status.
        self.withdrawals: dict[tuple[int, str], list[Any]] = {}
        # By the line's reference: the amount, and the account that it was assigned to.
        self.unknown: dict[str, list[Any]] = {}

    def reserved(self, number: int) -> int:
        open_ones = ("REQUESTED", "APPROVED")
        return sum(
            amount
            for (account, _), (amount, status) in self.withdrawals.items()
            if account == number and status in open_ones
        )

    def free(self, number: int) -> int:
        return self.cash[number] - self.reserved(number)

    def takes(self, number: int) -> bool:
        return self.status[number] in ("ACTIVE", "SUSPENDED")

    @property
    def at_bank(self) -> int:
        return sum(self.cash) + self.nobodys


class Machine:
    """Does one action after the other, in the tables and in the model."""

    def __init__(self, seed: int) -> None:
        from tests.accounts.money import new_account, new_partner

        self.random = random.Random(seed)
        self.model = Model()
        self.count = 0
        partner = new_partner()
        self.accounts = [new_account(partner) for _ in range(ACCOUNTS)]

    def step(self) -> None:
        from tests.owner import as_committed

        actions: list[Callable[[], None]] = [
            self.deposit, self.deposit, self.unknown, self.assign, self.give_back,
            self.request, self.request, self.refuse, self.approve, self.approve,
            self.cancel, self.pay, self.pay, self.move,
        ]  # fmt: skip
        self.random.choice(actions)()
        as_committed()
        self.compare()

    def some(self) -> int:
        return self.random.randrange(ACCOUNTS)

    def name(self) -> str:
        self.count += 1
        return f"{id(self)}-{self.count}"

    def outcome(self, call: Callable[[], Any]) -> bool:
        """Whether what was called was done, and not refused."""
        from accounts.approvals.four_eyes import NotApproved, Superseded
        from accounts.cash.withdrawals import NotRefused
        from partnerapi.core.errors import PartnerAPIError

        try:
            with transaction.atomic():
                call()
        except (
            IntegrityError, NotApproved, NotRefused, Superseded, PartnerAPIError,
        ):  # fmt: skip
            return False
        return True

    def deposit(self) -> None:
        from tests.accounts.money import bank, reference_of

        number, amount = self.some(), self.random.randint(1, 500)
        name = self.name()
        bank((reference_of(self.accounts[number]), amount, name))
        if self.model.takes(number):
            self.model.cash[number] += amount
        else:
            self.model.nobodys += amount
            self.model.unknown[name] = [amount, None]

    def unknown(self) -> None:
        from tests.accounts.money import bank

        name, amount = self.name(), self.random.choice([-50, 20, 70])
        if self.model.at_bank + amount < 0:
            return
        bank(("They said so", amount, name))
        self.model.nobodys += amount
        if amount > 0:
            self.model.unknown[name] = [amount, None]

    def assign(self) -> None:
        from accounts.cash.models import CashTransaction
        from tests.accounts.money import assign

        if not self.model.unknown:
            return
        name = self.random.choice([*self.model.unknown])
        line, number = self.model.unknown[name], self.some()
        deposit = CashTransaction.objects.get(reference=name)
        done = self.outcome(lambda: assign(deposit, self.accounts[number]))
        assert done == (line[1] is None and self.model.takes(number))
        if done:
            line[1] = number
            self.model.nobodys -= line[0]
            self.model.cash[number] += line[0]

    def give_back(self) -> None:
        from accounts.approvals.models import ApprovalKind
        from accounts.cash.models import CashTransaction
        from accounts.cash.suspense import return_content
        from tests.accounts.money import carry

        assigned = [n for n, line in self.model.unknown.items() if line[1] is not None]
        if not assigned:
            return
        line = self.model.unknown[name := self.random.choice(assigned)]
        assignment = CashTransaction.objects.get(
            assigns__reference=name, reversed_by=None
        )
        content = return_content(assignment, "Wrong")
        done = self.outcome(lambda: carry(ApprovalKind.ASSIGNMENT, content))
        assert done == (self.model.free(line[1]) >= line[0])
        if done:
            self.model.cash[line[1]] -= line[0]
            self.model.nobodys += line[0]
            line[1] = None

    def request(self) -> None:
        from accounts.cash.withdrawals import request_withdrawal

        number, amount = self.some(), self.random.randint(1, 400)
        used = [reference for _, reference in self.model.withdrawals]
        name = self.random.choice([self.name(), *used][:3])
        account = self.accounts[number]
        done = self.outcome(
            lambda: request_withdrawal(account, amount, name, account.partner.login)
        )
        assert done == (
            self.model.status[number] == "ACTIVE"
            and (number, name) not in self.model.withdrawals
            and amount <= self.model.free(number)
        )
        if done:
            self.model.withdrawals[number, name] = [amount, "REQUESTED"]

    def withdrawal(self) -> tuple[int, list[Any], Any] | None:
        from accounts.cash.models import Withdrawal

        if not self.model.withdrawals:
            return None
        number, name = self.random.choice([*self.model.withdrawals])
        row = Withdrawal.objects.get(
            reference=name, cash_account__account=self.accounts[number]
        )
        return number, self.model.withdrawals[number, name], row

    def refuse(self) -> None:
        from accounts.cash.withdrawals import refuse
        from partnerapi.sandbox.data.approvals import DECIDER, colleague

        if found := self.withdrawal():
            _, known, row = found
            decider = colleague(DECIDER).email or ""
            done = self.outcome(lambda: refuse(row, "No", decider))
            assert done == (known[1] == "REQUESTED")
            known[1] = "REFUSED" if done else known[1]

    def approve(self) -> None:
        from tests.accounts.money import approve

        if found := self.withdrawal():
            number, known, row = found
            done = self.outcome(lambda: approve(row))
            assert done == (
                known[1] == "REQUESTED" and self.model.status[number] == "ACTIVE"
            )
            known[1] = "APPROVED" if done else known[1]

    def cancel(self) -> None:
        from tests.accounts.money import cancel

        if found := self.withdrawal():
            _, known, row = found
            done = self.outcome(lambda: cancel(row))
            assert done == (known[1] == "APPROVED")
            known[1] = "CANCELLED" if done else known[1]

    def pay(self) -> None:
        from tests.accounts.money import bank

        if found := self.withdrawal():
            number, known, row = found
            if self.model.at_bank < known[0]:
                return
            bank((row.payment_reference, -known[0], self.name()))
            if known[1] == "APPROVED":
                self.model.cash[number] -= known[0]
                known[1] = "PAID"
            else:
                self.model.nobodys -= known[0]

    def move(self) -> None:
        from tests.approved import partner_of

        number = self.some()
        account, before = self.accounts[number], self.model.status[number]
        after = self.random.choice(["ACTIVE", "ACTIVE", "SUSPENDED", "CLOSED"])
        actor = partner_of(account)
        done = self.outcome(lambda: account.change_status(after, actor, None))
        may = before != "CLOSED" and (after != "CLOSED" or not self.model.cash[number])
        assert done == (may or before == after)
        self.model.status[number] = after if done else before

    def compare(self) -> None:
        from accounts.cash.models import CashHead, Withdrawal
        from accounts.cash.verification import INVARIANTS
        from accounts.cash.writer import platform_account
        from tests.accounts.money import head_of

        model = self.model
        assert [head_of(account) for account in self.accounts] == [
            (model.cash[n], model.reserved(n)) for n in range(ACCOUNTS)
        ]
        heads = dict(CashHead.objects.values_list("pk", "balance"))
        assert -heads[platform_account("BANK")] == model.at_bank
        assert heads[platform_account("SUSPENSE")] == model.nobodys
        statuses = Withdrawal.objects.values_list("status", flat=True)
        known = [status for _, status in model.withdrawals.values()]
        assert sorted(statuses) == sorted(known)
        assert [one.rule for one in check_invariants(INVARIANTS) if one.breaches] == []


def run(seed: int, steps: int) -> None:
    """A run in a transaction of its own, which is undone."""
    with transaction.atomic():
        machine = Machine(seed)
        for _ in range(steps):
            machine.step()
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_cash_is_what_dictionaries_say():
    for seed in range(10):
        run(seed, 20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    with throw_away_installation():
        for seed in range(options.runs):
            run(seed, options.steps)
    sys.stdout.write(f"{options.runs} × {options.steps} actions: 0 differences\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
