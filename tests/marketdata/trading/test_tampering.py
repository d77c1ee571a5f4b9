"""Attempts by someone who has only the application's role."""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import Error, connection, transaction
from django.utils import timezone

from accounts.accounts.models import Actor
from accounts.cash.writer import Payment, write_each
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.register import ledger
from issuers.register.errors import LedgerError
from issuers.register.ledger import Entry, Kind
from marketdata.models import OrderBookHead
from marketdata.trading import writing
from marketdata.trading.models import Execution, Order
from marketdata.trading.verification import INVARIANTS
from marketdata.trading.writing import values
from partnerapi.core.invariants import check_invariants
from tests.approved import asker
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    cash_of,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    placed,
    sell,
)

FOLLOW_CHANGED = "marketdata/sql/trading/trading_follow_changed.sql"
REFUSALS = (
    "permission denied|must be owner|violates|An order|The market|A market|A trade is"
    "|What becomes of an order"
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

    def cash_alone(self, amount: int) -> int:
        payment = Payment(
            "TRADE", cash_of(self.buyer), cash_of(self.seller), amount, "me"
        )
        [number] = write_each([payment])
        return number

    def event(self, order: Order, kind: str, **values: Any) -> None:
        """The next event of the market's log, as it would be written."""
        self.token.market.refresh_from_db()
        row = {
            "token_id": self.token.pk,
            "number": self.token.market.last_event + 1,
            "kind": kind,
            "order_id": order.pk,
            "filled": order.filled,
            "remaining": order.remaining,
            "value": order.filled_value,
            "reason": order.status_reason or "",
            "actor": "me",
            "at": timezone.now(),
        } | values
        insert("trading_orderevent", row)

    def execution(self, entry: int, payment: int, **values: Any) -> None:
        head = OrderBookHead.objects.get(token=self.token)
        self.token.market.refresh_from_db()
        row = {
            "token_id": self.token.pk,
            "sequence": head.last_trade + 1,
            "buy_order_id": self.bid.pk,
            "sell_order_id": self.ask.pk,
            "buyer_account_id": self.buyer.pk,
            "seller_account_id": self.seller.pk,
            "price": 95,
            "quantity": 1,
            "aggressor": 1,
            "ledger_seq": entry,
            "cash_transaction": payment,
            "event": self.token.market.last_event + 2,
            "at": timezone.now(),
        } | values
        insert("trading_execution", row)


@pytest.fixture
def traded(db: None) -> Traded:
    return Traded()


@contextmanager
def refused(saying: str = REFUSALS) -> Iterator[None]:
    """The block is refused, at once or at its end, for one of our reasons."""
    with pytest.raises((Error, LedgerError), match=saying), transaction.atomic():  # noqa: PT012
        yield
        as_committed()


def insert(table: str, row: dict[str, Any]) -> None:
    marks = ", ".join(["%s"] * len(row))
    execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", [*row.values()])


def execute(statement: str, parameters: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


REFUSED = [
    "UPDATE trading_market SET phase = 'CLOSED'",
    "UPDATE trading_market SET last_event = last_event",
    "INSERT INTO trading_market TABLE trading_market",
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
    "SELECT issuers_reserve_units(token_id, ARRAY[ledger_account_id], ARRAY[-1])"
    " FROM trading_order",
    "SELECT accounts_reserve_cash(ARRAY[cash_account_id], ARRAY[-1])"
    " FROM trading_order",
    "ALTER TABLE trading_order DISABLE TRIGGER ALL",
]


@pytest.mark.parametrize("statement", REFUSED)
def test_what_follows_is_written_by_nobody(traded: Traded, statement: str):
    with refused():
        execute(statement)


OPEN = "WHERE status = 'OPEN' AND side = 1"


@pytest.mark.parametrize(
    "change",
    [
        f"SET filled = filled + 1 {OPEN}",
        f"SET filled_value = filled_value + 1 {OPEN}",
        f"SET quantity = quantity + 1, version = version + 1 {OPEN}",
        f"SET limit_price = limit_price - 1 {OPEN}",
        f"SET priority = 0 {OPEN}",
        f"SET status = 'CANCELLED', status_reason = 'BY_STAFF' {OPEN}",
        f"SET status = 'FILLED', filled = quantity {OPEN}",
        f"SET user_id = gen_random_uuid() {OPEN}",
        f"SET expires_at = now() + interval '1 year' {OPEN}",
        "SET status = 'OPEN', filled = 0 WHERE status = 'FILLED'",
    ],
)
@pytest.mark.parametrize("with_event", ["", "last_event = last_event + 1000,"])
def test_an_order_is_not_changed_past_its_events(
    traded: Traded, change: str, with_event: str
):
    changed = change.replace("SET ", f"SET {with_event} ", 1)
    with refused():
        execute(f"UPDATE trading_order {changed}")


@pytest.mark.parametrize(
    ("change", "event"),
    [
        # What the event says is not what becomes of the order.
        ("status = 'CANCELLED', status_reason = 'BY_STAFF'", "ORDER_EXPIRED"),
        ("filled = 1, filled_value = 105", "ORDER_TRADED"),
        ("limit_price = 104", "ORDER_CANCELLED"),
        ("limit_price = 104, version = 2", "ORDER_CANCELLED"),
        ("quantity = 11, version = 2", "ORDER_ACCEPTED"),
    ],
)
def test_an_order_is_what_its_event_says(traded: Traded, change: str, event: str):
    with refused():
        traded.token.market.refresh_from_db()
        number = traded.token.market.last_event + 1
        execute(
            f"UPDATE trading_order SET {change}, last_event = {number},"
            f" updated_at = clock_timestamp() WHERE id = '{traded.ask.pk}'"
        )
        traded.ask.refresh_from_db()
        traded.event(traded.ask, event, at=traded.ask.updated_at)


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "ORDER_TRADED", "price": 105, "quantity": 1, "trade": 1},
        {"kind": "ORDER_CANCELLED", "reason": "BY_STAFF"},
        {"kind": "ORDER_CANCELLED", "reason": "BY_STAFF", "number": 99},
        {"kind": "PHASE_CHANGED", "order_id": None, "phase": "HALTED"},
        {"kind": "PHASE_CHANGED", "order_id": None, "phase": "CONTINUOUS"},
        {"kind": "TRADE_BUSTED", "price": 100, "quantity": 5, "trade": 1},
    ],
)
def test_an_event_of_nothing_is_refused(traded: Traded, values: dict[str, Any]):
    with refused():
        kind = values.pop("kind")
        traded.event(traded.ask, kind, **values)


def test_units_do_not_move_without_cash_nor_cash_without_units(traded: Traded):
    with refused("of no trade"):
        traded.units_alone()
    with refused("of no trade"):
        traded.cash_alone(95)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"price": 105, "aggressor": 0},
        {"price": 100},
        {"quantity": 2},
        {"aggressor": None},
    ],
)
def test_a_trade_beyond_a_limit_or_of_other_numbers_is_refused(
    traded: Traded, values: dict[str, Any]
):
    """The bid is at 95, the ask at 105: no price is within both."""
    with refused("A trade is of"):
        entry, payment = traded.units_alone(), traded.cash_alone(95)
        traded.execution(entry, payment, **values)


def test_an_execution_needs_its_entry_and_its_payment(traded: Traded):
    executed = Execution.objects.get(token=traded.token)
    for entry, payment in (
        (executed.ledger_seq, executed.cash_transaction),
        (executed.ledger_seq + 9, executed.cash_transaction),
    ):
        with refused():
            traded.execution(entry, payment, price=100, quantity=5)


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


@pytest.mark.parametrize(
    "values",
    [
        {"quantity": 46},
        {"status": "FILLED", "filled": 10, "filled_value": 1050},
        {"user_id": uuid.uuid4()},
        {"token_id": uuid.uuid4()},
        {"cash_account_id": 1},
        {},
    ],
)
def test_an_order_out_of_nowhere_is_refused(traded: Traded, values: dict[str, Any]):
    row = {
        field.attname: getattr(traded.ask, field.attname)
        for field in Order._meta.concrete_fields
    }
    row |= {"id": uuid.uuid4(), "client_order_id": None} | values
    with refused():
        insert("trading_order", row)


def test_an_account_that_leaves_active_leaves_no_order_open(traded: Traded):
    account = traded.seller
    row = {
        "id": uuid.uuid4(),
        "account_id": account.pk,
        "number": account.history.count() + 1,
        "previous_status": "ACTIVE",
        "status": "SUSPENDED",
        "reason": "why",
        "actor": "me",
        "is_staff": True,
        "approved_by": "",
    }
    with refused("is not ACTIVE any more"):
        insert("accounts_accountstatuschange", row)
    account.refresh_from_db()
    assert account.status == "ACTIVE"
    account.change_status("SUSPENDED", Actor("staff", is_staff=True), "why")
    as_committed()
    traded.ask.refresh_from_db()
    assert traded.ask.status_reason == "ACCOUNT_NOT_ACTIVE"


@pytest.mark.parametrize("column", ["buyer_account_id", "seller_account_id"])
def test_an_execution_names_its_orders_accounts(
    traded: Traded, monkeypatch: pytest.MonkeyPatch, column: str
):
    [other] = new_clients(1)

    def falsified(row: Execution | Order, columns: tuple[str, ...]) -> list[Any]:
        if isinstance(row, Execution):
            setattr(row, column, other.pk)
        return values(row, columns)

    monkeypatch.setattr(writing, "values", falsified)
    with refused("names their accounts"):
        place(traded.token, sell(traded.seller, 1, 95))


def test_a_trade_is_undone_by_its_bust_alone(traded: Traded, one_person: None):
    executed = Execution.objects.get(token=traded.token)
    entry = Entry(
        traded.token.pk, Kind.REVERSAL, 5, traded.bid.ledger_account_id,
        traded.ask.ledger_account_id, reverses=executed.ledger_seq,
    )  # fmt: skip
    with refused("only market bust"):
        ledger.record([entry], "me")
    payment = Payment(
        "REVERSAL", cash_of(traded.seller), cash_of(traded.buyer), 500, "me",
        reverses=executed.cash_transaction,
    )  # fmt: skip
    with refused("only market bust"):
        write_each([payment])


def test_every_rule_is_judged(traded: Traded):
    found = check_invariants(INVARIANTS)
    assert [finding for finding in found if finding.breaches] == []
    assert all(finding.figure for finding in found if "reversals" not in finding.rule)


def test_the_guard_of_changes_reads_each_column_of_an_order():
    text = (settings.BASE_DIR / FOLLOW_CHANGED).read_text()
    guarded = text.partition("FULL JOIN")[2].partition("LIMIT 1")[0]
    compared = {*re.findall(r"\bn\.(\w+)", guarded), "status", "status_reason"}
    missing = {field.column for field in Order._meta.concrete_fields} - compared
    assert missing == set(), f"compare them in {FOLLOW_CHANGED}, by a migration"
