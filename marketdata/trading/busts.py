"""Busts trades: units and cash go back together, after approval by two people."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.cash.models import CashHead
from accounts.cash.writer import lock_heads
from issuers.models import Token
from issuers.register import ledger
from issuers.register.approvals import token_facts, token_links
from issuers.register.errors import LedgerError
from issuers.register.models import HolderBalance, LedgerTransaction, TokenPrice
from issuers.register.writer import Writer
from marketdata.trading import erroneous, locked
from marketdata.trading.errors import NotTradable
from marketdata.trading.fees import NO_FEE, Fee
from marketdata.trading.market import is_bound
from marketdata.trading.models import Bust, Execution, Order, OrderFee, OrderSide
from marketdata.trading.moving import standing
from partnerapi.core.database import execute
from partnerapi.core.errors import PartnerAPIError
from partnerapi.core.lock_waits import LockTimeout
from partnerapi.core.money import euros


class NotBusted(Exception):
    """The trade cannot be busted. The message says why, and names the remedy."""


def bust_content(execution: Execution, reason: str) -> dict[str, Any]:
    return {
        "token": str(execution.token_id),
        "trade": execution.sequence,
        "reason": reason,
    }


def bust_title(execution: Execution, token: Token) -> str:
    return (
        f"Bust of {execution.quantity:,} {token.symbol} at {euros(execution.price)}, "
        f"trade {execution.sequence}"
    )


def bust(
    token_id: UUID, trade: int, reason: str, requested_by: str, approved_by: str
) -> Bust:
    """Bust a whole trade once, in a transaction that carries its approval.

    The seller must still have the cash, the buyer the units, both unreserved. If the
    trade's price is still the token's last, the price before it is recorded again.

    Raises:
        NotBusted. LockTimeout: an auction of the market settles.
    """
    try:
        with transaction.atomic():
            return undo(token_id, trade, reason, requested_by, approved_by)
    except (LedgerError, NotTradable) as error:
        raise NotBusted(str(error)) from None


def undo(
    token_id: UUID, trade: int, reason: str, requested_by: str, approved_by: str
) -> Bust:
    locked.books([token_id])
    if is_bound([token_id]):
        raise LockTimeout("An auction of the market has not settled yet.")
    writer = Writer([token_id], requested_by)
    execution = (
        Execution.objects.select_related("buy_order", "sell_order")
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
    check_cover(execution)
    execute(UNDO, [token_id, trade, reason, requested_by, approved_by])
    return Bust.objects.get(token=token_id, sequence=trade)


def check_cover(execution: Execution) -> None:
    """Check that the seller has the cash that goes back to the buyer.

    Raises:
        NotBusted
    """
    buyer, seller = (
        execution.buy_order.cash_account_id,
        execution.sell_order.cash_account_id,
    )
    value = execution.price * execution.quantity
    available = lock_heads([buyer, seller])[seller].available
    back = refund(execution, execution.sell_order).total
    if available < value - back:
        raise NotBusted(
            f"The seller has {euros(available)} available, but received "
            f"{euros(value - back)}. Cancel the seller's orders, or have cash "
            "deposited."
        )


def refund(execution: Execution, order: Order) -> Fee:
    """What an order gets back of its fees once the trade is busted."""
    fees = OrderFee.objects.select_related("tariff").filter(order=order).first()
    if fees is None:
        return NO_FEE
    return fees.so_far.bust(
        execution.price * execution.quantity,
        execution.aggressor == order.side,
        order.side == OrderSide.SELL,
    )


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


UNDO = "SELECT * FROM trading_undo(%s, %s, %s, %s, %s)"


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
        at = f"{execution.at:%Y-%m-%d %H:%M:%S} UTC"
        rows = [
            *token_facts(token),
            ("Trade", "", f"{execution.sequence}, {at}"),
            ("Units", "", f"{units:,} at {price} per unit, {euros(value)} in total"),
            *erroneous.facts(execution, request.filed_at),
            ("Reason on the tape", "", request.content["reason"]),
            ("Trade stands", "yes", "no, busted"),
        ]
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
            back = refund(execution, order)
            name = f"Units of the {side.lower()}"
            rows.append((name, f"{held:,}", f"{held + sign * units:,}"))
            name = f"Cash of the {side.lower()}"
            after = cash - sign * value + back.total
            rows.append((name, euros(cash), euros(after)))
            if back.total:
                said = f"{euros(back.net)} and {euros(back.vat)} VAT"
                rows.append((f"Fees back to the {side.lower()}", "", said))
        entered = LedgerTransaction.objects.get(token=token, seq=execution.ledger_seq)
        if restored := price_before(execution, entered.effective_at):
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
        )

    def execution(self, request: ApprovalRequest) -> Execution:
        content = request.content
        return Execution.objects.select_related(
            "token__issuer", "buy_order", "sell_order",
            "buyer_account__user", "buyer_account__partner",
            "seller_account__user", "seller_account__partner",
        ).get(token=content["token"], sequence=content["trade"])  # fmt: skip
