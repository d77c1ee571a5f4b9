"""Invoices: the fees of a partner's clients in a month, net and tax separated.

The lines are the payments of the month between clients and the markets' accounts for
fees, by token and rate of tax, as Directive 2006/112/EC, article 226, asks: the amount
without tax for each rate, the rate, and the tax.
"""

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Any
from uuid import UUID

from accounts.keys.models import Partner
from accounts.payments.models import HouseAccount
from issuers.exports.documents import DocumentTable, TableColumn, euros
from marketdata.documents.contract_notes import TOTALS
from marketdata.documents.drafts import Draft, Due, Owner, Period, fees
from partnerapi.core.database import rows_of

LINES = (
    TableColumn("Token", 0.14),
    TableColumn("ISIN", 0.16),
    TableColumn("", 0.2),
    TableColumn("Number", 0.1, is_number=True),
    TableColumn("Net, EUR", 0.15, is_number=True),
    TableColumn("VAT rate", 0.1, is_number=True),
    TableColumn("VAT, EUR", 0.15, is_number=True),
)
PAID, CAME_BACK = "FEES", "REFUNDS"
WORDS = {PAID: "Fees of trades", CAME_BACK: "Refunds after busts"}


def due_invoices(period: Period) -> Iterator[Due]:
    """Partners without the invoice, whose clients paid fees or got some back."""
    rows = rows_of(FEES, {"month": period.begins, **period.bounds})
    for partner_id, lines in groupby(rows, lambda row: row[0]):
        found = [as_line(row[1:]) for row in lines]
        yield Owner(partner_id), partial(draft_invoice, partner_id, period, found)


def draft_invoice(
    partner_id: UUID, period: Period, lines: list[dict[str, Any]]
) -> Draft:
    partner, house = Partner.objects.get(pk=partner_id), HouseAccount.now()
    net, vat = (sum(line[name] for line in lines) for name in ("net", "vat"))
    seller = house.name if house else ""
    return Draft(
        f"Invoice of fees, {period.begins:%Y-%m}",
        {
            "seller": seller,
            "partner": partner.name,
            "login": partner.login,
            "lines": lines,
            "fees": fees(net, vat),
            "total": net + vat,
        },
        [
            ("From", seller),
            ("To", f"{partner.name} ({partner.login})"),
            ("Period", str(period)),
            ("Payment", "Paid: each fee was taken from a client's cash with its trade"),
        ],
        [
            DocumentTable("Fees", LINES, [*map(cells, lines)]),
            DocumentTable(
                "Total",
                TOTALS,
                [
                    ("Net", euros(net)),
                    *(
                        (f"VAT, {rate / 100:g} %", euros(tax))
                        for rate, tax in by_rate(lines).items()
                    ),
                    ("Total", euros(net + vat)),
                ],
            ),
        ],
    )


def as_line(row: tuple[Any, ...]) -> dict[str, Any]:
    symbol, isin, rate, is_refund, number, net, vat = row
    return {
        "token": symbol,
        "isin": isin,
        "of": CAME_BACK if is_refund else PAID,
        "number": number,
        "net": int(net),
        "vatRateBps": rate,
        "vat": int(vat),
    }


def cells(line: dict[str, Any]) -> tuple[str, ...]:
    return (
        line["token"], line["isin"] or "none", WORDS[line["of"]],
        f"{line['number']:,}", euros(line["net"]), f"{line['vatRateBps'] / 100:g} %",
        euros(line["vat"]),
    )  # fmt: skip


def by_rate(lines: list[dict[str, Any]]) -> dict[int, int]:
    """The tax of each rate in basis points, in cents."""
    found: dict[int, int] = {}
    for line in sorted(lines, key=lambda line: line["vatRateBps"]):
        rate = line["vatRateBps"]
        found[rate] = found.get(rate, 0) + line["vat"]
    return found


# The time of the payment counts; its trade's may differ by the length of a commit.
FEES = """
    SELECT a.partner_id, k.symbol, k.isin, r.vat_bps, f.is_refund, count(*), sum(f.net),
        sum(f.vat)
    FROM (
        SELECT x.token_id, x.sequence FROM trading_execution x
        WHERE x.at >= %(begins)s - interval '1 day'
            AND x.at < %(ends)s + interval '1 day'
        UNION
        SELECT b.token_id, b.sequence FROM trading_bust b
        WHERE b.at >= %(begins)s - interval '1 day'
            AND b.at < %(ends)s + interval '1 day'
    ) moved
    JOIN trading_executionfee f USING (token_id, sequence)
    JOIN accounts_cashtransaction c ON c.id = f.cash_transaction
    JOIN trading_execution x USING (token_id, sequence)
    JOIN trading_order o
        ON o.id = CASE f.side WHEN 0 THEN x.buy_order_id ELSE x.sell_order_id END
    JOIN accounts_account a ON a.id = o.account_id
    JOIN trading_orderfee s ON s.order_id = o.id
    JOIN trading_tariff r ON r.id = s.tariff_id
    JOIN issuers_token k ON k.id = f.token_id
    WHERE c.at >= %(begins)s AND c.at < %(ends)s
        AND NOT EXISTS (SELECT FROM trading_issueddocument d
            WHERE d.partner_id = a.partner_id AND d.kind = 'INVOICE'
                AND d.begins = %(month)s)
    GROUP BY a.partner_id, k.symbol, k.isin, r.vat_bps, f.is_refund
    ORDER BY a.partner_id, k.symbol, r.vat_bps, f.is_refund
"""
