"""A dry run of a transfer, and the transfer itself: one verdict, and the same codes."""

import os
import random

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.accounts.models import Account
from issuers.compliance import judge
from issuers.register import ledger
from issuers.register.errors import InsufficientBalance, LedgerError
from issuers.register.ledger import Entry, Kind
from tests.api.test_compliance import check
from tests.approved import desk
from tests.characters import Ask, World
from tests.issuers.compliance.oracle import Company
from tests.owner import as_committed

CASES = int(os.environ.get("CHECKED_TRANSFERS", "100"))
OF_COMPANY = 25


def by_transfer(entry: Entry) -> list[str]:
    """Why the entry is not written; nothing is kept of it."""
    with transaction.atomic():
        [result] = ledger.record_each([entry], "me")
        transaction.set_rollback(True)
    if isinstance(result, judge.TransferRefused):
        return sorted(refusal.code for refusal in result.refusals)
    if isinstance(result, InsufficientBalance):
        return ["INSUFFICIENT_UNITS"]
    assert not isinstance(result, LedgerError), result
    return []


@pytest.mark.usefixtures("unlimited_budgets", "one_person")
@pytest.mark.parametrize("seed", range(CASES // OF_COMPANY))
def test_the_dry_run_says_what_the_transfer_does(world: World, partner: Ask, seed: int):
    dice = random.Random(seed)
    company = Company(dice)
    company.bind()
    # The record of requests ends here.
    as_committed()
    accounts = [
        Account.objects.open(world.partner, holder.user, desk(), timezone.now())
        for holder in company.holders
    ]
    verdicts = []
    for _ in range(OF_COMPANY):
        gives, takes = dice.sample(range(len(accounts)), 2)
        source, target = company.holders[gives], company.holders[takes]
        half = max(source.units // 2, 1)
        quantity = dice.choice([1, half, max(source.units, 1), source.units + 1])
        answer = check(
            partner,
            company.token,
            fromAccountID=accounts[gives],
            toAccountID=accounts[takes],
            quantity=quantity,
        )
        told = answer.data["checkTransfer"]
        found = sorted(refusal["code"] for refusal in told["refusals"])
        done = by_transfer(
            Entry(
                company.token.pk,
                Kind.TRANSFER,
                quantity,
                source.account,
                target.account,
            )
        )
        assert told["allowed"] is (done == []) is (found == [])
        if done == ["INSUFFICIENT_UNITS"]:
            # The writer looks no further.
            assert "INSUFFICIENT_UNITS" in found
        else:
            assert found == done
        verdicts.append(bool(done))
    assert True in verdicts
