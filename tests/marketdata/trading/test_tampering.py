"""Attempts with the application's role alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import Error, ProgrammingError, connection, transaction

from accounts.accounts.models import Account
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.register import ledger
from issuers.register.errors import LedgerError
from issuers.register.ledger import Entry, Kind
from marketdata.trading import fees
from marketdata.trading.models import Execution
from marketdata.trading.verification import INVARIANTS
from partnerapi.core.invariants import check_invariants
from tests.approved import asker, desk
from tests.marketdata.trading.trading import (
    approved_tariff,
    as_committed,
    buy,
    cash_of,
    deposit,
    give,
    new_clients,
    new_market,
    placed,
    sell,
)

REFUSALS = (
    "permission denied|must be owner|violates|An order|The market|A market|A trade is"
)


class Traded:
    """A trade of 5 units at 100, a sell of 10 at 105 and a buy of 10 at 95."""

    def __init__(self) -> None:
        self.token = new_market()
        self.buyer, self.seller = new_clients(2)
        deposit(self.buyer, 10_000)
        give(self.token, {self.seller: 50})
        placed(self.token, sell(self.seller, 5, 100))
        placed(self.token, buy(self.buyer, 5, 100))
        self.ask = placed(self.token, sell(self.seller, 10, 105))
        self.bid = placed(self.token, buy(self.buyer, 10, 95))
        as_committed()

    def units_alone(self, amount: int = 1) -> int:
        """An entry of kind TRADE and nothing else; its number."""
        entry = Entry(
            self.token.pk, Kind.TRADE, amount,
            self.ask.ledger_account_id, self.bid.ledger_account_id,
        )  # fmt: skip
        [recorded] = ledger.record([entry], "me")
        return recorded.number


@pytest.fixture
def traded(db: None) -> Traded:
    return Traded()


@contextmanager
def refused(saying: str = REFUSALS) -> Iterator[None]:
    """The block is refused, at once or at its end, for one of our reasons."""
    with pytest.raises((Error, LedgerError), match=saying), transaction.atomic():  # noqa: PT012
        yield
        as_committed()


def run(sql: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def execute(statement: str, parameters: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


REFUSED = [
    "UPDATE trading_market SET phase = 'CLOSED'",
    "UPDATE trading_market SET last_event = last_event",
    "INSERT INTO trading_market TABLE trading_market",
    "INSERT INTO trading_order TABLE trading_order",
    "INSERT INTO trading_execution TABLE trading_execution",
    "INSERT INTO trading_orderevent TABLE trading_orderevent",
    "INSERT INTO trading_bust TABLE trading_bust",
    "UPDATE trading_order SET filled = filled + 1",
    "UPDATE trading_order SET status = 'CANCELLED', status_reason = 'BY_STAFF'",
    "UPDATE trading_order SET expires_at = now() + interval '1 year'",
    "DELETE FROM trading_order",
    "UPDATE trading_execution SET price = price",
    "DELETE FROM trading_execution",
    "UPDATE trading_orderevent SET actor = 'x'",
    "DELETE FROM trading_orderevent",
    "TRUNCATE trading_order, trading_execution, trading_orderevent CASCADE",
    "UPDATE marketdata_orderbookhead SET source = 'EXTERNAL'",
    "UPDATE marketdata_booklevel SET quantity = 1",
    "UPDATE issuers_holderbalance SET reserved = 0",
    "UPDATE issuers_holderbalance SET balance = balance + 1",
    "UPDATE accounts_cashhead SET reserved = 0",
    "UPDATE accounts_cashhead SET balance = balance + 1",
    "ALTER TABLE trading_order DISABLE TRIGGER ALL",
    "UPDATE trading_tariff SET taker_bps = 0",
    "DELETE FROM trading_tariff",
    "UPDATE trading_orderfee SET reserved = 0, paid = 0",
    "INSERT INTO trading_executionfee TABLE trading_executionfee",
    "UPDATE trading_market SET fees_account_id = NULL",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_what_follows_is_written_by_nobody(traded: Traded, statement: str):
    with refused():
        execute(statement)


def test_units_do_not_move_without_cash_nor_cash_without_units(traded: Traded):
    with refused("Only a market enters trades"):
        traded.units_alone()
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
    ):
        run("SELECT cash_post(clock_timestamp(), ARRAY['TRADE'], ARRAY[%s]::bigint[],"
            " ARRAY[%s]::bigint[], ARRAY[95]::bigint[], ARRAY['me'], ARRAY[''],"
            " ARRAY[NULL], ARRAY[NULL]::bigint[], ARRAY[NULL]::bigint[],"
            " ARRAY[NULL]::uuid[], '{}', '{}')",
            cash_of(traded.buyer), cash_of(traded.seller))  # fmt: skip


def test_a_frozen_holder_s_units_do_not_move(traded: Traded):
    restrictions.restrict(
        traded.seller.user, Terms("FREEZE", "why", traded.token), asker()
    )
    as_committed()
    traded.ask.refresh_from_db()
    assert (traded.ask.status, traded.ask.status_reason) == (
        "CANCELLED",
        "HOLDER_FROZEN",
    )
    with refused("FROZEN"):
        traded.units_alone()


def test_an_account_that_leaves_active_leaves_no_order_open(traded: Traded):
    account = traded.seller
    leaving = account.entry(account.Status.SUSPENDED, desk(), "why")
    with refused("is not ACTIVE any more"):
        Account.objects.write([leaving])
    account.refresh_from_db()
    assert account.status == "ACTIVE"
    account.change_status("SUSPENDED", desk(), "why")
    as_committed()
    traded.ask.refresh_from_db()
    assert traded.ask.status_reason == "ACCOUNT_NOT_ACTIVE"


def test_a_trade_is_undone_by_its_bust_alone(traded: Traded, one_person: None):
    executed = Execution.objects.get(token=traded.token)
    entry = Entry(
        traded.token.pk, Kind.REVERSAL, 5, traded.bid.ledger_account_id,
        traded.ask.ledger_account_id, reverses=executed.ledger_seq,
    )  # fmt: skip
    with refused("only market bust"):
        ledger.record([entry], "me")
    with refused("One receipt in suspense"):
        run("SELECT cash_move_receipt('me', NULL, %s, %s, 'why')",
            executed.cash_transaction, cash_of(traded.buyer))  # fmt: skip


def test_every_rule_is_judged(traded: Traded):
    approved_tariff(traded.token, fees.Terms(0, 0, 5, None, 0))
    placed(traded.token, buy(traded.buyer, 1, 105))
    as_committed()
    found = check_invariants(INVARIANTS)
    assert [finding for finding in found if finding.breaches] == []
    rare = ("reversals", "auction", "correction")
    usual = [f for f in found if not any(word in f.rule for word in rare)]
    assert all(finding.figure for finding in usual)
