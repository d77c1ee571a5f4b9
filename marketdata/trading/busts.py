"""Undoes trades: units and cash go back together, as two people have agreed."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.cash import Payment, lock_heads, write_each
from accounts.four_eyes import Overtaken, Preview
from accounts.models import ApprovalRequest
from issuers.models import Token
from issuers.register import ledger
from issuers.register.errors import LedgerError
from issuers.register.ledger import Price
from issuers.register.models import LedgerTransaction, TokenPrice
from issuers.register.writer import Writer
from marketdata.trading import locked
from marketdata.trading.errors import NotTradable
from marketdata.trading.models import Bust, Execution, OrderEvent, OrderSide
from marketdata.trading.writing import EVENT_COLUMNS
from partnerapi.core.database import copy
from partnerapi.core.errors import PartnerAPIError


class NotBusted(Exception):
    """The trade can not be undone; the message says why, and what would let it."""


def bust_content(execution: Execution, reason: str) -> dict[str, Any]:
    return {
        "token": str(execution.token_id),
        "trade": execution.sequence,
        "reason": reason,
    }


def bust_title(execution: Execution, token: Token) -> str:
    return (
        f"Bust of trade {execution.sequence} of {token.symbol}: "
        f"{execution.quantity:,} units at {execution.price:,} cents"
    )


def bust(
    token_id: UUID, trade: int, reason: str, requested_by: str, approved_by: str
) -> Bust:
    """Undo a trade whole and once, in a transaction that carries the approval for it.

    The seller must still have the cash, the buyer the units, and neither for an order.
    If the trade's price is still the token's last, the one before it is recorded anew.

    Raises:
        NotBusted
    """
    try:
        with transaction.atomic():
            return undo(token_id, trade, reason, requested_by, approved_by)
    except (LedgerError, NotTradable) as error:
        raise NotBusted(str(error)) from None


def undo(
    token_id: UUID, trade: int, reason: str, requested_by: str, approved_by: str
) -> Bust:
    book = locked.books([token_id])[token_id]
    writer = Writer([token_id], requested_by)
    execution = (
        Execution.objects.select_related("buy_order", "sell_order")
        .filter(token=token_id, sequence=trade)
        .first()
    )
    if execution is None:
        raise NotBusted(f"There is no trade {trade}.")
    if Bust.objects.filter(token=token_id, sequence=trade).exists():
        raise NotBusted(f"Trade {trade} was busted before.")
    entered = LedgerTransaction.objects.get(token=token_id, seq=execution.ledger_seq)
    moved = writer.ledgers[token_id].now
    entry = ledger.reversal_of(entered, reason)
    writer.load([entry])
    recorded = writer.enter(entry, moved)
    payment = paid_back(execution, requested_by, reason)
    if restored := price_before(execution, entered.effective_at):
        writer.price(Price(token_id, restored, TokenPrice.Source.MANUAL), moved)
    writer.open()
    writer.flush()
    at = max(moved, book.last_at)
    made = Bust.objects.create(
        token_id=token_id,
        sequence=trade,
        ledger_seq=recorded.number,
        cash_transaction=write_each([payment], moved)[0],
        reason=reason,
        requested_by=requested_by,
        approved_by=approved_by,
        event=book.event + 1,
        at=at,
    )
    copy("trading_orderevent", EVENT_COLUMNS, events(execution, made, reason))
    return made


def paid_back(execution: Execution, actor: str, reason: str) -> Payment:
    """The payment that gives the buyer its cash again.

    Raises:
        NotBusted: the seller has less.
    """
    buyer, seller = (
        execution.buy_order.cash_account_id,
        execution.sell_order.cash_account_id,
    )
    value = execution.price * execution.quantity
    available = lock_heads([buyer, seller])[seller].available
    if available < value:
        raise NotBusted(
            f"The seller has {available:,} cents that are free, and {value:,} went to "
            "it: cancel its orders, or have it pay in."
        )
    return Payment(
        "REVERSAL", seller, buyer, value, actor, reason,
        reverses=execution.cash_transaction,
    )  # fmt: skip


def price_before(execution: Execution, at: datetime) -> int | None:
    """The price before the trade's, if the trade's is still the token's last."""
    last = TokenPrice.objects.filter(token=execution.token_id).order_by("-number")[:2]
    if len(last) < 2:
        return None
    price, before = last
    is_its = price.source == TokenPrice.Source.TRADE and price.effective_at == at
    return (
        before.price_cents if is_its and price.price_cents == execution.price else None
    )


def events(execution: Execution, made: Bust, reason: str) -> list[tuple[Any, ...]]:
    """Of the market's log, one for each side; the buyer's first."""
    return [
        (
            made.token_id, made.event + side, OrderEvent.Kind.TRADE_BUSTED, order,
            execution.price, execution.quantity, None, None, None, None,
            execution.sequence, None, reason, made.requested_by, made.at,
        )
        for side, order in (
            (OrderSide.BUY, execution.buy_order_id),
            (OrderSide.SELL, execution.sell_order_id),
        )
    ]  # fmt: skip


class BustTrade:
    """A request to bust a trade; overtaken where units or cash have moved on."""

    def preview(self, request: ApprovalRequest) -> Preview:
        execution = self.execution(request)
        try:
            with transaction.atomic():
                self.bust(request)
                transaction.set_rollback(True)
        except (NotBusted, PartnerAPIError) as error:
            raise Overtaken(str(error)) from None
        value = execution.price * execution.quantity
        rows = [
            ("Token", "", execution.token.symbol),
            ("Trade", "stands", f"{execution.sequence}, busted"),
            ("Units", "with the buyer", f"{execution.quantity:,} go to the seller"),
            ("Cents", "with the seller", f"{value:,} go to the buyer"),
        ]
        return Preview(rows, ["A trade is busted for ever; it stays on the tape."])

    def execute(self, request: ApprovalRequest) -> Bust:
        try:
            return self.bust(request)
        except NotBusted as error:
            raise Overtaken(str(error)) from None

    def bust(self, request: ApprovalRequest) -> Bust:
        content = request.content
        decision = getattr(request, "decision", None)
        approved_by = decision.decided_by.email if decision else ""
        return bust(
            UUID(content["token"]),
            content["trade"],
            content["reason"],
            request.filed_by.email or "",
            approved_by or "",
        )

    def execution(self, request: ApprovalRequest) -> Execution:
        content = request.content
        return Execution.objects.select_related("token").get(
            token=content["token"], sequence=content["trade"]
        )
