"""Contract notes: what an account traded on a day, and what was busted that day.

A note has what Delegated Regulation (EU) 2017/565, article 59 (4), asks of the notice
that confirms an order: client, day and time, order, venue, instrument, side, quantity,
price, consideration and costs. Trades and fees are those of the day; what came back
for a trade that was busted on a later day is in that day's note.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from accounts.accounts.models import Account
from issuers.exports.documents import DocumentTable, TableColumn, euros
from marketdata.documents.drafts import Draft, Due, Owner, Period, fees, time_cell
from marketdata.trading.models import OrderSide
from partnerapi.core.database import rows_of
from partnerapi.core.times import to_rfc3339

TRADES = (
    TableColumn("Time (UTC)", 0.15),
    TableColumn("Token", 0.13),
    TableColumn("Trade", 0.07, is_number=True),
    TableColumn("Side", 0.07),
    TableColumn("Units", 0.11, is_number=True),
    TableColumn("Price, EUR", 0.11, is_number=True),
    TableColumn("Value, EUR", 0.14, is_number=True),
    TableColumn("Fee, EUR", 0.11, is_number=True),
    TableColumn("VAT, EUR", 0.11, is_number=True),
)
INSTRUMENTS = (
    TableColumn("Token", 0.13),
    TableColumn("ISIN", 0.2),
    TableColumn("Name", 0.27),
    TableColumn("Issuer", 0.4),
)
ORDERS = (
    TableColumn("Trade", 0.15),
    TableColumn("Order", 0.4),
    TableColumn("Your reference", 0.33),
    TableColumn("Role", 0.12),
)
TOTALS = TableColumn("Amount", 0.7), TableColumn("EUR", 0.3, is_number=True)
SIGNS = {OrderSide.BUY: -1, OrderSide.SELL: 1}
"""What a trade does to the account's cash."""


def due_notes(period: Period) -> Iterator[Due]:
    """Accounts that traded, or had a trade busted, and have no note of the day."""
    parameters = {"day": period.begins, **period.bounds}
    for partner_id, account_id in rows_of(ACCOUNTS, parameters):
        yield Owner(partner_id, account_id), partial(draft_note, account_id, period)


def draft_note(account_id: Any, period: Period) -> Draft:
    account = Account.objects.select_related("user", "partner").get(pk=account_id)
    wanted = {"account": account_id, **period.bounds}
    trades = [as_trade(row) for row in rows_of(TRADED, wanted)]
    busts = [as_trade(row) for row in rows_of(BUSTED, wanted)]
    net = sum(t["feeNet"] for t in trades) - sum(b["feeNet"] for b in busts)
    vat = sum(t["feeVat"] for t in trades) - sum(b["feeVat"] for b in busts)
    bought, sold = (
        sum(t["value"] for t in trades if t["side"] == side)
        - sum(b["value"] for b in busts if b["side"] == side)
        for side in (OrderSide.BUY.name, OrderSide.SELL.name)
    )
    cash = sold - bought - net - vat
    return Draft(
        f"Contract note of {period}",
        {
            "holder": str(account.user),
            "partner": account.partner.name,
            "trades": trades,
            "busts": busts,
            "fees": fees(net, vat),
            "bought": bought,
            "sold": sold,
            "cash": cash,
        },
        [
            ("Client", str(account.user)),
            ("Account", f"{account.pk} at {account.partner.name}"),
            ("Trading day", str(period)),
            ("Venue", "The internal market of each token"),
            ("Orders", "Limit orders, settled with each trade"),
        ],
        [
            DocumentTable("Trades", TRADES, [*map(cells, trades)]),
            DocumentTable(
                "Trades busted on this day: their amounts go back",
                TRADES,
                [*map(cells, busts)],
            ),
            DocumentTable(
                "Total",
                TOTALS,
                [
                    ("Bought", euros(bought)),
                    ("Sold", euros(sold)),
                    ("Fees, without VAT", euros(net)),
                    ("VAT", euros(vat)),
                    ("Change of the account's cash", euros(cash)),
                ],
            ),
            DocumentTable("Instruments", INSTRUMENTS, instruments(trades + busts)),
            DocumentTable(
                "Orders",
                ORDERS,
                [
                    (
                        f"{t['token']} {t['trade']}",
                        t["orderID"],
                        t["clientOrderID"] or "",
                        t["liquidity"].lower(),
                    )
                    for t in trades + busts
                ],
            ),
        ],
    )


def as_trade(row: tuple[Any, ...]) -> dict[str, Any]:
    (
        at, symbol, isin, name, issuer, trade, side, quantity, price, liquidity, order,
        reference, entry, net, vat, rate, busted_at, reason,
    ) = row  # fmt: skip
    value = price * quantity
    found = {
        "at": to_rfc3339(at),
        "token": symbol,
        "isin": isin,
        "name": name,
        "issuer": issuer,
        "trade": trade,
        "side": OrderSide(side).name,
        "quantity": quantity,
        "price": price,
        "value": value,
        "feeNet": net,
        "feeVat": vat,
        "vatRateBps": rate,
        "cash": SIGNS[OrderSide(side)] * value - net - vat,
        "liquidity": liquidity,
        "orderID": f"Order|{order}",
        "clientOrderID": reference,
        "ledgerSequence": entry,
    }
    if busted_at is not None:
        # What a bust gives back.
        found["cash"] = net + vat - SIGNS[OrderSide(side)] * value
        found |= {"bustedAt": to_rfc3339(busted_at), "reason": reason}
    return found


def cells(trade: Mapping[str, Any]) -> tuple[str, ...]:
    at = trade.get("bustedAt", trade["at"])
    return (
        time_cell(at), trade["token"], f"{trade['trade']:,}",
        trade["side"].capitalize(), f"{trade['quantity']:,}", euros(trade["price"]),
        euros(trade["value"]), euros(trade["feeNet"]), euros(trade["feeVat"]),
    )  # fmt: skip


def instruments(trades: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return sorted(
        {(t["token"], t["isin"] or "none", t["name"], t["issuer"]) for t in trades}
    )


ACCOUNTS = """
    SELECT a.partner_id, a.id
    FROM (
        SELECT x.buyer_account_id AS id FROM trading_execution x
        WHERE x.at >= %(begins)s AND x.at < %(ends)s
        UNION
        SELECT x.seller_account_id FROM trading_execution x
        WHERE x.at >= %(begins)s AND x.at < %(ends)s
        UNION
        SELECT f.account_id FROM trading_bust b
        JOIN trading_fill f ON f.token_id = b.token_id AND f.sequence = b.sequence
        WHERE b.at >= %(begins)s AND b.at < %(ends)s
    ) traded
    JOIN accounts_account a ON a.id = traded.id
    WHERE NOT EXISTS (SELECT FROM trading_issueddocument d
        WHERE d.account_id = a.id AND d.kind = 'CONTRACT_NOTE' AND d.begins = %(day)s)
    ORDER BY a.id
"""
TRADE = """
    f.at, t.symbol, t.isin, t.name, i.trading_name, f.sequence, f.side, f.quantity,
    f.price, f.liquidity, f.order_id, o.client_order_id, f.ledger_seq,
    coalesce(abs(p.net), 0), coalesce(abs(p.vat), 0), coalesce(r.vat_bps, 0)
"""
OF_TRADE = """
    JOIN trading_order o ON o.id = f.order_id
    JOIN issuers_token t ON t.id = f.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
    LEFT JOIN trading_orderfee s ON s.order_id = o.id
    LEFT JOIN trading_tariff r ON r.id = s.tariff_id
    LEFT JOIN trading_executionfee p ON p.token_id = f.token_id
        AND p.sequence = f.sequence AND p.side = f.side AND p.is_refund =
"""
TRADED = f"""
    SELECT {TRADE}, NULL, NULL FROM trading_fill f {OF_TRADE} FALSE
    WHERE f.account_id = %(account)s AND f.at >= %(begins)s AND f.at < %(ends)s
    ORDER BY f.at, t.symbol, f.sequence, f.side
"""
BUSTED = f"""
    SELECT {TRADE}, b.at, b.reason
    FROM trading_bust b
    JOIN trading_fill f ON f.token_id = b.token_id AND f.sequence = b.sequence
    {OF_TRADE} TRUE
    WHERE f.account_id = %(account)s AND b.at >= %(begins)s AND b.at < %(ends)s
    ORDER BY b.at, t.symbol, f.sequence, f.side
"""
