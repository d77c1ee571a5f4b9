"""Statements: an account's cash and its client's units over a quarter."""

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from typing import Any

from accounts.accounts.models import Account
from issuers.exports.documents import MOST_LINES, DocumentTable, TableColumn, euros
from marketdata.documents.drafts import Draft, Due, Owner, Period, fees, time_cell
from partnerapi.core.database import rows_of
from partnerapi.core.times import to_rfc3339

SUMMARY = TableColumn("", 0.7), TableColumn("EUR", 0.3, is_number=True)
UNITS = (
    TableColumn("Token", 0.15),
    TableColumn("ISIN", 0.19),
    TableColumn("Units before", 0.16, is_number=True),
    TableColumn("Units after", 0.16, is_number=True),
    TableColumn("Price, EUR", 0.15, is_number=True),
    TableColumn("Value, EUR", 0.19, is_number=True),
)
CASH = (
    TableColumn("Time (UTC)", 0.19),
    TableColumn("Entry", 0.09, is_number=True),
    TableColumn("Kind", 0.14),
    TableColumn("Reference", 0.22),
    TableColumn("Amount, EUR", 0.18, is_number=True),
    TableColumn("Balance, EUR", 0.18, is_number=True),
)
MOVED = (
    TableColumn("Time (UTC)", 0.2),
    TableColumn("Token", 0.15),
    TableColumn("Entry", 0.12, is_number=True),
    TableColumn("Kind", 0.17),
    TableColumn("Units", 0.18, is_number=True),
    TableColumn("Balance", 0.18, is_number=True),
)
KINDS = {
    "DEPOSIT": "Deposits",
    "WITHDRAWAL": "Withdrawals",
    "TRADE": "Trades, bought and sold",
    "FEE": "Fees and VAT",
    "OFFERING": "Units from offerings",
    "REVERSAL": "Trades that were busted",
}


def due_statements(period: Period) -> Iterator[Due]:
    """Accounts without the statement, with cash entries or a client who has units."""
    parameters = {"quarter": period.begins, **period.bounds}
    for partner_id, account_id in rows_of(ACCOUNTS, parameters):
        yield Owner(partner_id, account_id), partial(draft, account_id, period)


def draft(account_id: Any, period: Period) -> Draft:
    account = Account.objects.select_related("user", "partner").get(pk=account_id)
    wanted = {"account": account_id, **period.bounds}
    [(opening,)] = rows_of(OPENING, wanted)
    entries = [as_entry(row) for row in rows_of(ENTRIES, wanted)]
    closing = entries[-1]["balanceAfter"] if entries else opening
    net, vat = (sum(entry[of] for entry in entries) for of in ("feeNet", "feeVat"))
    positions, moves = units_of(wanted)
    worth = sum(position["value"] for position in positions)
    sums = {
        kind: sum(entry["amount"] for entry in entries if entry["kind"] == kind)
        for kind in KINDS
    }
    return Draft(
        f"Statement of {period}",
        {
            "holder": str(account.user),
            "partner": account.partner.name,
            "cash": {"before": opening, "after": closing, "entries": entries},
            "fees": fees(net, vat),
            "units": positions,
            "unitEntries": moves,
            "value": worth,
        },
        [
            ("Client", str(account.user)),
            ("Account", f"{account.pk} at {account.partner.name}"),
            ("Period", str(period)),
            ("Units", "Those of the client, whichever partner's account moved them"),
        ],
        [
            DocumentTable(
                "Cash",
                SUMMARY,
                [
                    ("Balance before", euros(opening)),
                    *((KINDS[kind], euros(amount)) for kind, amount in sums.items()),
                    ("Balance after", euros(closing)),
                    ("Fees, without VAT", euros(net)),
                    ("VAT on fees", euros(vat)),
                ],
            ),
            DocumentTable(
                f"Units, worth {euros(worth)} EUR",
                UNITS,
                [
                    (
                        p["token"],
                        p["isin"] or "none",
                        f"{p['before']:,}",
                        f"{p['after']:,}",
                        euros(p["price"]),
                        euros(p["value"]),
                    )
                    for p in positions
                ],
            ),
            shown("Cash entries", CASH, [*map(cash_cells, entries)]),
            shown("Entries of units", MOVED, [*map(unit_cells, moves)]),
        ],
    )


def shown(title: str, columns: Any, rows: list[tuple[str, ...]]) -> DocumentTable:
    """A table of the PDF, which has at most 10,000 lines; the JSON has them all."""
    if len(rows) > MOST_LINES:
        title = f"{title}: the first {MOST_LINES:,}; the JSON has all {len(rows):,}"
    return DocumentTable(title, columns, rows[:MOST_LINES])


def as_entry(row: tuple[Any, ...]) -> dict[str, Any]:
    number, at, kind, amount, after, reference, net, vat = row
    return {
        "number": number,
        "at": to_rfc3339(at),
        "kind": kind,
        "amount": amount,
        "balanceAfter": after,
        "reference": reference,
        "feeNet": net,
        "feeVat": vat,
    }


def units_of(
    wanted: dict[str, Any],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Units of each token before and after the period, and their entries in it."""
    positions, moves = [], []
    rows = rows_of(POSTINGS, wanted)
    for (symbol, isin, price), postings in groupby(rows, lambda row: row[:3]):
        before = after = 0
        for *_, entry, kind, delta, balance, at in postings:
            after = int(balance)
            if at < wanted["begins"]:
                before = after
                continue
            moves.append(
                {
                    "at": to_rfc3339(at),
                    "token": symbol,
                    "entry": entry,
                    "kind": kind,
                    "units": int(delta),
                    "balanceAfter": after,
                }
            )
        if before or after or (moves and moves[-1]["token"] == symbol):
            positions.append(
                {
                    "token": symbol,
                    "isin": isin,
                    "before": before,
                    "after": after,
                    "price": price,
                    "value": price * after,
                }
            )
    moves.sort(key=lambda move: (move["at"], move["token"], move["entry"]))
    return positions, moves


def cash_cells(entry: dict[str, Any]) -> tuple[str, ...]:
    return (
        time_cell(entry["at"]), f"{entry['number']:,}", entry["kind"].capitalize(),
        entry["reference"] or "", euros(entry["amount"]),
        euros(entry["balanceAfter"]),
    )  # fmt: skip


def unit_cells(move: dict[str, Any]) -> tuple[str, ...]:
    return (
        time_cell(move["at"]), move["token"], f"{move['entry']:,}",
        move["kind"].replace("_", " ").capitalize(), f"{move['units']:+,}",
        f"{move['balanceAfter']:,}",
    )  # fmt: skip


MAY_SEE = """(t.visibility = 'PUBLIC' OR EXISTS (
                SELECT FROM issuers_issuergrant g
                WHERE g.partner_id = a.partner_id AND g.ended_at IS NULL
                    AND coalesce(g.issuer_id, t.issuer_id) = t.issuer_id))"""
"""Whether the partner of an account `a` may see a token `t`."""
ACCOUNTS = f"""
    SELECT a.partner_id, a.id
    FROM accounts_account a
    JOIN accounts_cashaccount c ON c.account_id = a.id
    JOIN accounts_cashhead h ON h.cash_account_id = c.id
    WHERE a.created_at < %(ends)s
        AND ((h.last_at >= %(begins)s OR h.balance <> 0) AND EXISTS (
                SELECT FROM accounts_cashposting p
                JOIN accounts_cashtransaction x ON x.id = p.transaction_id
                WHERE p.cash_account_id = c.id AND p.number = 1 AND x.at < %(ends)s)
            OR a.status IN ('ACTIVE', 'SUSPENDED') AND EXISTS (
                SELECT FROM issuers_ledgeraccount l
                JOIN issuers_holderbalance b ON b.account_id = l.id
                JOIN issuers_token t ON t.id = b.token_id AND {MAY_SEE}
                JOIN issuers_ledgerposting p
                    ON p.token_id = b.token_id AND p.account_id = l.id
                JOIN issuers_ledgertransaction x
                    ON x.token_id = p.token_id AND x.seq = p.seq
                WHERE l.user_id = a.user_id AND x.effective_at < %(ends)s))
        AND NOT EXISTS (SELECT FROM trading_issueddocument d
            WHERE d.account_id = a.id AND d.kind = 'STATEMENT'
                AND d.begins = %(quarter)s)
    ORDER BY a.id
"""
OPENING = """
    SELECT coalesce((
        SELECT p.balance_after
        FROM accounts_cashaccount c
        JOIN accounts_cashposting p ON p.cash_account_id = c.id
        JOIN accounts_cashtransaction x ON x.id = p.transaction_id
        WHERE c.account_id = %(account)s AND x.at < %(begins)s
        ORDER BY p.number DESC LIMIT 1), 0)
"""
ENTRIES = """
    SELECT p.number, x.at, x.kind, p.delta, p.balance_after,
        coalesce(w.reference, d.reference, x.reference), coalesce(f.net, 0),
        coalesce(f.vat, 0)
    FROM accounts_cashaccount c
    JOIN accounts_cashposting p ON p.cash_account_id = c.id
    JOIN accounts_cashtransaction x ON x.id = p.transaction_id
    LEFT JOIN accounts_withdrawal w ON w.id = x.withdrawal_id
    LEFT JOIN accounts_cashtransaction d ON d.id = x.assigns_id
    LEFT JOIN trading_executionfee f ON f.cash_transaction = x.id
    WHERE c.account_id = %(account)s AND x.at >= %(begins)s AND x.at < %(ends)s
    ORDER BY p.number
"""
POSTINGS = f"""
    SELECT t.symbol, t.isin, coalesce((
            SELECT p.price_cents FROM issuers_tokenprice p
            WHERE p.token_id = t.id AND p.effective_at < %(ends)s
            ORDER BY p.effective_at DESC, p.number DESC LIMIT 1), 0),
        p.seq, x.kind, p.delta, p.balance_after, x.effective_at
    FROM accounts_account a
    JOIN issuers_ledgeraccount l ON l.user_id = a.user_id
    JOIN issuers_holderbalance b ON b.account_id = l.id
    JOIN issuers_token t ON t.id = b.token_id AND {MAY_SEE}
    JOIN issuers_ledgerposting p ON p.token_id = b.token_id AND p.account_id = l.id
    JOIN issuers_ledgertransaction x ON x.token_id = p.token_id AND x.seq = p.seq
    WHERE a.id = %(account)s AND x.effective_at < %(ends)s
        AND (a.status <> 'CLOSED' OR x.effective_at <= a.updated_at)
    ORDER BY t.symbol, p.seq, p.leg
"""
