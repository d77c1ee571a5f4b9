"""A day's records of the markets, for supervisory authorities."""

import hashlib
import io
import json
import random
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.approvals.models import ApprovalKind
from issuers.compliance.restrictions import Terms, restrict
from issuers.models import Token
from issuers.register.identities import identity_content
from marketdata.books.days import day_of
from marketdata.trading import market
from marketdata.trading.records import records
from partnerapi.sandbox.data.approvals import carry_out_requests, file_and_approve
from tests.approved import approved_lifting, asker
from tests.marketdata.trading.recorded import compared
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    sell,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_books_of_a_day_are_rebuilt_from_its_records_alone():
    lines, books, differ, is_same = compared(600, random.Random(2), 50)
    assert lines > 600
    assert books >= 50
    assert differ == 0
    assert is_same


def test_records_can_be_checked(tmp_path: Path):
    token = new_market()
    [client] = new_clients(1)
    deposit(client, 1_000)
    place(token, buy(client, 1, 100))
    day = day_of(timezone.now())
    output = tmp_path / "records.jsonl"
    call_command(
        "export", "market-records", "--day", day.isoformat(), "--output", str(output),
        stdout=io.StringIO(),
    )  # fmt: skip
    *lines, end = output.read_bytes().splitlines(keepends=True)
    last = json.loads(end)
    assert last["lines"] == len(lines)
    assert last["sha256"] == hashlib.sha256(b"".join(lines)).hexdigest()
    assert not last["isComplete"]
    found = [json.loads(line)["record"] for line in lines]
    assert found.count("ORDER") == 1
    assert found.count("MARKET") == 1
    # It was opened, its session began, and the order came.
    assert found.count("EVENT") == 3


def test_what_changes_after_the_time_is_not_in_its_records():
    token = new_market()
    buyer, seller = new_clients(2)
    deposit(buyer, 10_000)
    give(token, {seller: 50})
    ended, resting = (placed.order for placed in place(
        token, buy(buyer, 1, 98), buy(buyer, 5, 99)
    ))  # fmt: skip
    market.cancel_each(token.pk, [ended.pk], "BY_PARTNER", buyer.partner.login)
    begins = timezone.now()
    place(token, sell(seller, 2, 99))
    frozen = restrict(seller.user, Terms("FREEZE", "A court's order"), asker())
    ends = timezone.now()
    before = list(records(begins, ends))
    market.amend(resting.pk, 1, buyer.partner.login, limit_price=97)
    approved_lifting(frozen)
    renaming = file_and_approve(
        ApprovalKind.IDENTITY, identity_content(token, "RENAMED", None)
    )
    with carry_out_requests(renaming):
        Token.objects.filter(pk=token.pk).update(symbol="RENAMED")
    assert list(records(begins, ends)) == before
    found = [json.loads(line) for line in before]
    [shown] = [each for each in found if each["record"] == "MARKET"]
    assert (shown["symbol"], shown["phase"]) == (token.symbol, "CONTINUOUS")
    orders = [
        (each["limit_price"], each["remaining"])
        for each in found
        if each["record"] == "ORDER"
    ]
    assert orders == [(99, 5), (None, None)]
    [restriction] = [each for each in found if each["record"] == "RESTRICTION"]
    assert restriction["ended_at"] is None
