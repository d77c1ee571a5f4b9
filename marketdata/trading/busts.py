"""Busts trades: units and cash go back together, after approval by two people.

A correction busts a trade and enters another one in its place, at another price.
"""

from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Model

from accounts.accounts.models import AccountStatus
from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.cash.models import CashHead
from accounts.cash.writer import lock_heads
from issuers.models import Token
from issuers.register import ledger
from issuers.register.approvals import token_facts, token_links
from issuers.register.errors import LedgerError
from issuers.register.models import HolderBalance, LedgerTransaction, TokenPrice
from issuers.register.writer import Entry, Kind, Price, Writer
from marketdata.books.notify import notify
from marketdata.trading import erroneous, locked
from marketdata.trading.errors import NotTradable
from marketdata.trading.fees import NO_FEE, Fee
from marketdata.trading.market import is_bound
from marketdata.trading.models import (
    Bust,
    Execution,
    Order,
    OrderFee,
    OrderSide,
    OrderStatus,
)
from marketdata.trading.moving import standing
from partnerapi.core.database import execute, rows_of
from partnerapi.core.errors import PartnerAPIError
from partnerapi.core.lock_waits import LockTimeout
from partnerapi.core.money import euros


class NotBusted(Exception):
    """The trade cannot be busted. The message says why, and names the remedy."""


def bust_content(
    execution: Execution, reason: str, price: int | None = None
) -> dict[str, Any]:
    """With a price in euro cents it is a correction."""
    content = {
        "token": str(execution.token_id),
        "trade": execution.sequence,
        "reason": reason,
    }
    return content if price is None else content | {"price": price}


def bust_title(execution: Execution, token: Token, price: int | None = None) -> str:
    what = "Bust" if price is None else f"Correction to {euros(price)}"
    return (
        f"{what} of {execution.quantity:,} {token.symbol} at {euros(execution.price)}, "
        f"trade {execution.sequence}"
    )


def bust(
    token_id: UUID,
    trade: int,
    reason: str,
    requested_by: str,
    approved_by: str,
    price: int | None = None,
) -> Bust:
    """Bust a whole trade once, in a transaction that carries its approval.

    The seller must still have the cash, the buyer the units, both unreserved. If the
    trade's price is still the token's last, the price before it is recorded again. At
    a price in euro cents a trade of the same orders and units takes its place, if the
    rules of the token and its holders allow it now.

    Raises:
        NotBusted. LockTimeout: an auction of the market settles.
    """
    try:
        with transaction.atomic():
            return undo(token_id, trade, reason, requested_by, approved_by, price)
    except (LedgerError, NotTradable) as error:
        raise NotBusted(str(error)) from None


def undo(
    token_id: UUID,
    trade: int,
    reason: str,
    requested_by: str,
    approved_by: str,
    price: int | None,
) -> Bust:
    locked.books([token_id])
    if is_bound([token_id]):
        raise LockTimeout("An auction of the market has not settled yet.")
    writer = Writer([token_id], requested_by)
    execution = (
        Execution.objects.select_related(
            "buy_order",
            "sell_order",
            "buyer_account",
            "seller_account",
            "token__market",
        )  # fmt: skip
        .filter(token=token_id, sequence=trade)
        .first()
    )
    if execution is None:
        raise NotBusted(f"There is no trade {trade}.")
    if Bust.objects.filter(token=token_id, sequence=trade).exists():
        raise NotBusted(f"Trade {trade} has already been busted.")
    entered = LedgerTransaction.objects.get(token=token_id, seq=execution.ledger_seq)
    entry = ledger.reversal_of(entered, reason)
    writer.load([entry])
    writer.enter(entry, writer.ledgers[token_id].now)
    check_accounts(execution)
    check_cover(execution)
    by = [reason, requested_by, approved_by]
    if price is None:
        execute(UNDO, [token_id, trade, *by])
    else:
        check_price(execution, price)
        check_rules(writer, entry, price)
        execute(CORRECT, [token_id, trade, price, *by])
        transaction.on_commit(partial(notify, token_id))
    return Bust.objects.get(token=token_id, sequence=trade)


def check_accounts(execution: Execution) -> None:
    """Check that cash can go back to both accounts.

    Raises:
        NotBusted
    """
    sides = (("buyer", execution.buyer_account), ("seller", execution.seller_account))
    for side, account in sides:
        if account.status == AccountStatus.CLOSED:
            raise NotBusted(
                f"The account of the {side} is CLOSED, and no cash can go back to it. "
                "The parties settle the mistake outside of the market."
            )


def check_cover(execution: Execution) -> None:
    """Check that the seller has the cash that goes back to the buyer.

    Raises:
        NotBusted
    """
    buyer, seller = (
        execution.buy_order.cash_account_id,
        execution.sell_order.cash_account_id,
    )
    available = lock_heads([buyer, seller])[seller].available
    received = -change(execution, execution.sell_order, None).cash
    if available < received:
        raise NotBusted(
            f"The seller has {euros(available)} available, but received "
            f"{euros(received)}. Cancel the seller's orders, or have cash deposited."
        )


def check_price(execution: Execution, price: int) -> None:
    """Check that a trade may be corrected to a price, which the buyer can pay.

    Raises:
        NotBusted
    """
    market = execution.token.market
    if price == execution.price:
        raise NotBusted(f"Trade {execution.sequence} already has this price.")
    if price % market.ticks.at(price):
        raise NotBusted(f"{euros(price)} is not a multiple of the tick.")
    lowest, highest = limits(execution)
    if not lowest <= price <= highest:
        raise NotBusted(
            f"The orders have admitted {euros(lowest)} to {euros(highest)}, and not "
            f"{euros(price)}."
        )
    order = execution.buy_order
    lacks = -change(execution, order, price).cash
    available = lock_heads([order.cash_account_id])[order.cash_account_id].available
    if lacks > available:
        raise NotBusted(
            f"The buyer has {euros(available)} available, and {euros(lacks)} more to "
            "pay. Cancel the buyer's orders, or have cash deposited."
        )


def check_rules(writer: Writer, reversal: Entry, price: int) -> None:
    """Check the new trade, after the reversal, and its price by the register's rules.

    Raises:
        LedgerError: the rule that refuses them now.
    """
    token_id = reversal.token_id
    at = writer.ledgers[token_id].now
    seller, buyer = reversal.target, reversal.source
    writer.enter(Entry(token_id, Kind.TRADE, reversal.amount, seller, buyer), at)
    writer.price(Price(token_id, price, TokenPrice.Source.TRADE), at)


def limits(execution: Execution) -> tuple[int, int]:
    """From the lowest limit that the sell order has had to the buy order's highest."""
    orders = [execution.sell_order_id, execution.buy_order_id]
    [(lowest, highest)] = rows_of(LIMITS, orders)
    return lowest, highest


class Change(NamedTuple):
    """Of an order's side by a bust, or by a correction: the fees that come back and
    those that are due then, and what becomes of its available cash, cents."""

    back: Fee
    due: Fee
    cash: int


def change(execution: Execution, order: Order, price: int | None) -> Change:
    is_sell, units = order.side == OrderSide.SELL, execution.quantity
    sign, took = (1 if is_sell else -1), execution.aggressor == order.side
    cash = sign * units * ((price or 0) - execution.price)
    row = OrderFee.objects.select_related("tariff").filter(order=order).first()
    if row is None:
        return Change(NO_FEE, NO_FEE, cash)
    fees, rest = row.so_far, order.limit_price * order.remaining
    back = fees.bust(execution.price * units, took, is_sell)
    due = NO_FEE if price is None else fees.fill(price * units, took, is_sell)
    holds = 0 if is_sell or order.status != OrderStatus.OPEN else fees.held(rest)
    return Change(back, due, cash + back.total - due.total + fees.reserved - holds)


def price_before(execution: Execution, at: datetime) -> int | None:
    """What a bust records as the token's price: as `trading_undo` determines it."""
    last = TokenPrice.objects.filter(token=execution.token_id).order_by("-number")[:2]
    if len(last) < 2:
        return None
    price, before = last
    is_its = price.source == TokenPrice.Source.TRADE and price.effective_at == at
    if not is_its or price.price_cents != execution.price:
        return None
    others = standing(execution.token_id).exclude(sequence=execution.sequence)
    other = others.first()
    if other is None or other.at <= before.effective_at:
        return before.price_cents
    return other.price if other.price != execution.price else None


LIMITS = """
    SELECT (SELECT min(price) FROM trading_orderevent WHERE order_id = %s
            AND kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')),
        (SELECT max(price) FROM trading_orderevent WHERE order_id = %s
            AND kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED'))
"""
UNDO = "SELECT * FROM trading_undo(%s, %s, %s, %s, %s)"
CORRECT = "SELECT trading_correct(%s, %s, %s, %s, %s, %s)"


class BustTrade:
    """A request to bust a trade; superseded once units or cash have moved on."""

    def preview(self, request: ApprovalRequest) -> Preview:
        execution = self.execution(request)
        try:
            with transaction.atomic():
                self.bust(request)
                transaction.set_rollback(True)
        except (NotBusted, PartnerAPIError) as error:
            raise Superseded(str(error)) from None
        token, units = execution.token, execution.quantity
        value, price = execution.price * units, euros(execution.price)
        corrected: int | None = request.content.get("price")
        at = f"{execution.at:%Y-%m-%d %H:%M:%S} UTC"
        rows = [
            *token_facts(token),
            ("Trade", "", f"{execution.sequence}, {at}"),
            ("Units", "", f"{units:,} at {price} per unit, {euros(value)} in total"),
            *erroneous.facts(execution, request.filed_at),
            ("Reason on the tape", "", request.content["reason"]),
            ("Trade stands", "yes", "no, busted"),
        ]
        if corrected is not None:
            rows.append(
                ("Price of the new trade in its place", price, euros(corrected))
            )
        links: dict[str, Model] = token_links(token) | {"Trade": execution}
        sides = (
            ("Buyer", execution.buyer_account, execution.buy_order, -1),
            ("Seller", execution.seller_account, execution.sell_order, 1),
        )
        balances = dict(
            HolderBalance.objects.filter(
                token=token,
                account__in=[order.ledger_account_id for _, _, order, _ in sides],
            ).values_list("account", "balance")
        )
        heads = CashHead.objects.in_bulk(
            [order.cash_account_id for _, _, order, _ in sides]
        )
        for side, account, order, sign in sides:
            rows.append((side, "", str(account)))
            links[side] = account
            held = int(balances.get(order.ledger_account_id, 0))
            cash = heads[order.cash_account_id].balance
            back, due, _ = change(execution, order, corrected)
            if corrected is None:
                name = f"Units of the {side.lower()}"
                rows.append((name, f"{held:,}", f"{held + sign * units:,}"))
            name = f"Cash of the {side.lower()}"
            after = cash + back.total - due.total
            after -= sign * (value - (corrected or 0) * units)
            rows.append((name, euros(cash), euros(after)))
            for fee, whose in ((back, "back to"), (due, "then due from")):
                if fee.total:
                    said = f"{euros(fee.net)} and {euros(fee.vat)} VAT"
                    rows.append((f"Fees {whose} the {side.lower()}", "", said))
        entered = LedgerTransaction.objects.get(token=token, seq=execution.ledger_seq)
        restored = corrected or price_before(execution, entered.effective_at)
        if restored:
            rows.append(("Price of a unit", price, euros(restored)))
        final = "A bust is final; the trade stays on the tape, marked as busted."
        return Preview(
            rows, [*erroneous.beyond(execution, request.filed_at), final], links
        )

    def execute(self, request: ApprovalRequest) -> Bust:
        try:
            return self.bust(request)
        except NotBusted as error:
            raise Superseded(str(error)) from None

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
            content.get("price"),
        )

    def execution(self, request: ApprovalRequest) -> Execution:
        content = request.content
        return Execution.objects.select_related(
            "token__issuer", "token__market", "buy_order", "sell_order",
            "buyer_account__user", "buyer_account__partner",
            "seller_account__user", "seller_account__partner",
        ).get(token=content["token"], sequence=content["trade"])  # fmt: skip
