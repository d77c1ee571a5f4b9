"""Checkpoints: digests by which a partner finds what is wrong in its mirror.

The partner's accounts are grouped by the first digits of the SHA-256 of their ids. The
ids themselves would not do: they are UUIDs of version 7, which begin with a time, so
that all accounts of a day would be of one group.

The digest of a group is the SHA-256 of its lines: canonical JSON (RFC 8785), sorted by
their bytes, with line feeds between them. A line has only values that events report.
`templates/docs/tasks.md` says what each has.
"""

from collections.abc import Collection
from typing import NamedTuple

from accounts.accounts.models import DIGITS
from partnerapi.core.database import PlannedAnew, array_text, fetch

MOST_DIGITS = 7
"""Of a prefix. Six digits distinguish a million accounts."""


class Group(NamedTuple):
    """Accounts whose digits begin with `prefix`; `account` is the id of a single one.

    The digests have 64 hexadecimal digits; None: they were not wanted.
    """

    sequence: int
    prefix: str
    accounts: int
    account: str | None
    statuses: str | None
    cash: str | None
    orders: str | None
    holdings: str | None


def groups_at(
    partner_id: str,
    granted_issuers: Collection[str] | None,
    prefix: str,
    wanted: Collection[str],
) -> list[Group]:
    """The 16 groups of a partner's accounts below a prefix, by their next digit.

    `wanted` names the digests. One SQL statement, so that all are of one state of the
    database: that after the partner's event number `sequence`. It takes about a second
    for all digests of 100,000 accounts, and a sixteenth for each digit of the prefix.
    """
    digests = [
        f"encode(sha256(convert_to(coalesce({name}.lines, ''), 'UTF8')), 'hex')"
        if name in wanted
        else "NULL"
        for name in LINES
    ]
    joins = [
        f"LEFT JOIN ({lines}) {name} USING (digit)"
        for name, lines in LINES.items()
        if name in wanted
    ]
    statement = GROUPS.format(digests=", ".join(digests), joins=" ".join(joins))
    issuers = None if granted_issuers is None else array_text(granted_issuers)
    arguments = {
        "partner": partner_id,
        "issuers": issuers,
        "length": len(prefix) + 1,
        "prefix": prefix,
        "beyond": prefix + "g",
    }
    return fetch(statement, arguments, lambda row: Group(*row), PlannedAnew)


LINES = {
    "statuses": """
        SELECT digit, string_agg(
            '{"id":"Account|' || id || '","status":"' || status || '"}', E'\\n'
            ORDER BY id) AS lines
        FROM chosen GROUP BY digit
    """,
    "cash": """
        SELECT c.digit, string_agg(
            '{"account":"Account|' || c.id || '","balance":"' || coalesce(h.balance, 0)
                || '","reserved":"' || coalesce(h.reserved, 0) || '"}', E'\\n'
            ORDER BY c.id) AS lines
        FROM chosen c
        LEFT JOIN accounts_cashaccount k ON k.account_id = c.id
        LEFT JOIN accounts_cashhead h ON h.cash_account_id = k.id
        GROUP BY c.digit
    """,
    "orders": """
        SELECT o.digit, string_agg(o.line, E'\\n' ORDER BY o.line) AS lines
        FROM (
            SELECT c.digit, ('{"account":"Account|' || c.id || '","filledQuantity":"'
                || o.filled || '","id":"Order|' || o.id || '","limitPrice":"'
                || o.limit_price || '","quantity":"' || o.quantity || '","side":"'
                || CASE o.side WHEN 0 THEN 'BUY' ELSE 'SELL' END || '","token":"Token|'
                || o.token_id || '"}') COLLATE "C" AS line
            FROM chosen c
            JOIN trading_order o ON o.account_id = c.id AND o.status = 'OPEN'
        ) o
        GROUP BY o.digit
    """,
    "holdings": """
        SELECT c.digit, string_agg(
            '{"account":"Account|' || c.id || '","token":"Token|' || b.token_id
                || '","units":"' || b.units || '"}', E'\\n'
            ORDER BY c.id, b.token_id) AS lines
        FROM chosen c
        JOIN issuers_ledgeraccount l ON l.user_id = c.user_id
        CROSS JOIN LATERAL (
            SELECT x.token_id, CASE WHEN u.reported < x.last_seq THEN (
                SELECT p.balance_after FROM issuers_ledgerposting p
                WHERE p.token_id = x.token_id AND p.account_id = x.account_id
                    AND p.seq <= u.reported
                ORDER BY p.seq DESC LIMIT 1) ELSE x.balance END AS units
            FROM issuers_holderbalance x
            LEFT JOIN unreported u ON u.token_id = x.token_id
            WHERE x.account_id = l.id
        ) b
        JOIN issuers_token t ON t.id = b.token_id
            AND (%(issuers)s::uuid[] IS NULL OR t.issuer_id = ANY (%(issuers)s::uuid[]))
        WHERE b.units > 0
        GROUP BY c.digit
    """,
}
"""The lines of each digest, by digit."""
# Trades are reported once a second, and other entries by their own transaction. If
# entries follow the last one of a token that REGISTER_CHANGED has named, `unreported`
# has its number.
GROUPS = f"""
    WITH chosen AS MATERIALIZED (
        SELECT a.id, a.user_id, a.status,
            substr({DIGITS.format(id="a.id")}, %(length)s, 1) AS digit
        FROM accounts_account a
        WHERE a.partner_id = %(partner)s AND {DIGITS.format(id="a.id")} >= %(prefix)s
            AND {DIGITS.format(id="a.id")} < %(beyond)s
    ), unreported AS MATERIALIZED (
        SELECT m.token_id, coalesce((
            SELECT max(e.seq) FROM issuers_ledgertransaction e
            WHERE e.token_id = m.token_id AND e.kind <> 'TRADE'
                AND e.seq > coalesce(r.ledger_seq, 0)
        ), r.ledger_seq, 0) AS reported
        FROM trading_market m
        JOIN issuers_tokenledgerhead h ON h.token_id = m.token_id
        LEFT JOIN trading_registertold r ON r.token_id = m.token_id
        WHERE h.last_seq > coalesce(r.ledger_seq, 0)
    )
    SELECT e.last_sequence, %(prefix)s || d.digit, coalesce(c.number, 0), c.single,
        {{digests}}
    FROM unnest(string_to_array('0123456789abcdef', NULL)) AS d (digit)
    JOIN issuers_eventhead e ON e.partner_id = %(partner)s
    LEFT JOIN (
        SELECT digit, count(*) AS number,
            CASE count(*) WHEN 1 THEN min(id::text COLLATE "C") END AS single
        FROM chosen GROUP BY digit
    ) c USING (digit)
    {{joins}}
    ORDER BY d.digit
"""
