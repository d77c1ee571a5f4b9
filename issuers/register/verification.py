"""The invariants of the register, each as one SQL statement."""

import json
from collections.abc import Iterator

from accounts.keys.verification import SCOPES_ARE_KNOWN
from accounts.totals import Listed, total_is_kept
from issuers.models.tokens import MAX_UNITS, MAX_VALUE
from issuers.register.kinds import EntryKind, kind_rows
from issuers.register.rule_verification import RULE_INVARIANTS, keep_judged
from partnerapi.core.invariants import (
    Finding,
    Invariant,
    check_constraints,
    check_invariants_and_guards,
)


def verify() -> Iterator[Finding]:
    """Check every invariant, then the guards, then every CHECK of all tables."""
    keep_judged()
    yield from check_invariants_and_guards(INVARIANTS + RULE_INVARIANTS)
    yield check_constraints()


def literal(text: str | None) -> str:
    return "NULL" if text is None else f"'{text}'"


BEGINNING = "decode(repeat('00', 32), 'hex')"

HOLDING_PERIODS = """
    SELECT token_id, user_id, seq AS since, next AS until
    FROM (
        SELECT p.token_id, a.user_id, p.seq, p.balance_after > 0 AS holds,
            lead(p.seq) OVER (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
                AS next
        FROM issuers_ledgerposting p JOIN issuers_ledgeraccount a ON a.id = p.account_id
        WHERE a.user_id IS NOT NULL
            AND (p.balance_after > 0) <> (p.balance_after > p.delta)
    ) AS changed
    WHERE holds
"""
"""Each period in which a user had units of a token, as the postings tell it."""

EVENT_GROUPS = """
    SELECT partner_id, type, CASE WHEN type IN ('LEGACY_SHARES_DELIVERED',
            'REGISTER_CHANGED') THEN issuer_id END AS issuer_id,
        CASE WHEN type IN ('AUCTION_INDICATED', 'MARKET_PARAMETERS_CHANGED',
            'MARKET_PHASE_CHANGED', 'OFFERING_CHANGED',
            'TOKEN_PRICE_CHANGED') THEN token_id END AS token_id,
        count(*) AS number
    FROM issuers_event GROUP BY 1, 2, 3, 4
"""

WAYS = ", ".join(
    f"({kind.value!r}, {literal(source)}, {literal(target)})"
    for kind in EntryKind
    for source in kind.sources
    for target in kind.targets
)
"""Rows of a kind of entry, a source and a target, as kinds of accounts."""

KINDS_ARE_KNOWN = Invariant(
    "kinds of entries are those of this release",
    f"""
    SELECT count(known.row), count(*) FILTER (
        WHERE known.row IS NULL OR kept.row IS NULL)
    FROM jsonb_array_elements('{json.dumps(kind_rows())}') AS known (row)
    FULL JOIN (SELECT to_jsonb(k) AS row FROM issuers_entrykind k) kept USING (row)
    """,
)

INVARIANTS = (
    SCOPES_ARE_KNOWN,
    KINDS_ARE_KNOWN,
    total_is_kept(Listed.LEGACY_SHAREHOLDERS, "issuers_legacyshareholder", "issuer_id"),
    Invariant(
        "the counts of partners' events equal their last numbers",
        f"""
        SELECT count(*), count(*) FILTER (
            WHERE coalesce(c.number, 0) <> coalesce(e.number, 0))
        FROM issuers_eventcount c FULL JOIN ({EVENT_GROUPS}) e
            ON (c.partner_id, c.type, coalesce(c.issuer_id, c.partner_id),
                coalesce(c.token_id, c.partner_id)) =
            (e.partner_id, e.type, coalesce(e.issuer_id, e.partner_id),
                coalesce(e.token_id, e.partner_id))
        """,
    ),
    Invariant(
        "every token has a head",
        """
        SELECT count(*), count(*) FILTER (WHERE h.token_id IS NULL)
        FROM issuers_token t LEFT JOIN issuers_tokenledgerhead h ON h.token_id = t.id
        """,
    ),
    Invariant(
        "entries are numbered from 1 without gaps, up to the head's number",
        """
        SELECT sum(entries), count(*) FILTER (WHERE entries <> last
            OR entries > 0 AND (first <> 1 OR entries <> h.last_seq)
            OR entries = 0 AND h.last_seq <> 0)
        FROM (
            SELECT h.token_id, h.last_seq, count(x.seq) AS entries,
                coalesce(min(x.seq), 0) AS first, coalesce(max(x.seq), 0) AS last
            FROM issuers_tokenledgerhead h
            LEFT JOIN issuers_ledgertransaction x ON x.token_id = h.token_id
            GROUP BY h.token_id
        ) h
        """,
    ),
    Invariant(
        "prices are numbered from 1 without gaps, up to the head's number",
        """
        SELECT sum(prices), count(*) FILTER (WHERE prices <> last
            OR prices <> h.last_price OR prices > 0 AND first <> 1)
        FROM (
            SELECT h.token_id, h.last_price, count(x.number) AS prices,
                coalesce(min(x.number), 0) AS first,
                coalesce(max(x.number), 0) AS last
            FROM issuers_tokenledgerhead h
            LEFT JOIN issuers_tokenprice x ON x.token_id = h.token_id
            GROUP BY h.token_id
        ) h
        """,
    ),
    Invariant(
        "times never decrease, and none is in the future",
        """
        SELECT count(*), count(*) FILTER (
            WHERE effective_at < before OR effective_at > clock_timestamp())
        FROM (
            SELECT effective_at,
                lag(effective_at) OVER (PARTITION BY token_id ORDER BY seq) AS before
            FROM issuers_ledgertransaction
            UNION ALL
            SELECT effective_at,
                lag(effective_at) OVER (PARTITION BY token_id ORDER BY number)
            FROM issuers_tokenprice
        ) x
        """,
    ),
    Invariant(
        "entries and prices are unchanged since they were written",
        f"""
        SELECT sum(last_seq + last_price), count(*) FILTER (
            WHERE entry_digest <> register_chain_entries(token_id, 0, {BEGINNING})
            OR price_digest <> register_chain_prices(token_id, 0, {BEGINNING}))
        FROM issuers_tokenledgerhead
        """,
    ),
    Invariant(
        "lines of version 2 name their private parts, and follow those of version 1",
        """
        SELECT count(*), count(*) FILTER (WHERE l.private_digest IS NOT NULL
                AND l.number <= coalesce(l.older, l.number)
            OR l.private_digest IS NULL AND l.number > l.older
            OR l.private_digest <> sha256(l.salt || convert_to(l.private, 'UTF8')))
        FROM (
            SELECT e.*, h.version_1_entries AS older
            FROM register_entry_lines e
            JOIN issuers_tokenledgerhead h ON h.token_id = e.token_id
            UNION ALL
            SELECT p.*, h.version_1_prices
            FROM register_price_lines p
            JOIN issuers_tokenledgerhead h ON h.token_id = p.token_id
        ) l
        """,
    ),
    Invariant(
        "each entry of version 2 names the entry before of either side",
        """
        SELECT count(*), count(*) FILTER (WHERE (x.source_before, x.target_before)
            IS DISTINCT FROM (
                CASE WHEN x.source_id IS NOT NULL THEN coalesce(s.before, 0) END,
                CASE WHEN x.target_id IS NOT NULL THEN coalesce(t.before, 0) END))
        FROM issuers_ledgertransaction x
        LEFT JOIN LATERAL (
            SELECT max(p.seq) AS before FROM issuers_ledgerposting p
            WHERE p.token_id = x.token_id AND p.account_id = x.source_id
                AND p.seq < x.seq
        ) s ON TRUE
        LEFT JOIN LATERAL (
            SELECT max(p.seq) AS before FROM issuers_ledgerposting p
            WHERE p.token_id = x.token_id AND p.account_id = x.target_id
                AND p.seq < x.seq
        ) t ON TRUE
        WHERE x.private_digest IS NOT NULL
        """,
    ),
    Invariant(
        "each entry has its postings, and each posting has an entry",
        """
        SELECT count(*), count(*) FILTER (WHERE (x.delta, x.account_id)
            IS DISTINCT FROM (p.delta, p.account_id))
        FROM (
            SELECT token_id, seq, 1 AS leg, source_id AS account_id, -amount AS delta
            FROM issuers_ledgertransaction WHERE source_id IS NOT NULL
            UNION ALL
            SELECT token_id, seq, 2, target_id, amount
            FROM issuers_ledgertransaction WHERE target_id IS NOT NULL
        ) x
        FULL JOIN issuers_ledgerposting p
            ON p.token_id = x.token_id AND p.seq = x.seq AND p.leg = x.leg
        """,
    ),
    Invariant(
        "each balance is the sum of its postings, and none is negative",
        """
        SELECT count(*), count(*) FILTER (
            WHERE balance_after <> summed OR balance_after < 0)
        FROM (
            SELECT balance_after, sum(delta) OVER (
                PARTITION BY token_id, account_id ORDER BY seq) AS summed
            FROM issuers_ledgerposting
        ) x
        """,
    ),
    Invariant(
        "each entry states the supply, held units and holders after it",
        """
        SELECT count(*), count(*) FILTER (WHERE supply_after <> supply
            OR held_after <> held OR holders_after <> holders)
        FROM (
            SELECT t.supply_after, t.held_after, t.holders_after,
                sum(coalesce(p.supply, 0)) OVER by_seq AS supply,
                sum(coalesce(p.held, 0)) OVER by_seq AS held,
                sum(coalesce(p.holders, 0)) OVER by_seq AS holders
            FROM issuers_ledgertransaction t
            LEFT JOIN (
                SELECT p.token_id, p.seq, sum(p.delta) AS supply,
                    sum(p.delta) FILTER (WHERE a.kind = 'HOLDER') AS held,
                    sum((p.balance_after > 0)::int
                        - (p.balance_after - p.delta > 0)::int)
                        FILTER (WHERE a.kind = 'HOLDER') AS holders
                FROM issuers_ledgerposting p
                JOIN issuers_ledgeraccount a ON a.id = p.account_id
                GROUP BY p.token_id, p.seq
            ) p ON p.token_id = t.token_id AND p.seq = t.seq
            WINDOW by_seq AS (PARTITION BY t.token_id ORDER BY t.seq)
        ) x
        """,
    ),
    Invariant(
        "each holder's balance equals that of the last posting",
        """
        SELECT count(*), count(*) FILTER (WHERE (b.balance, b.last_seq)
            IS DISTINCT FROM (p.balance_after, p.seq))
        FROM issuers_holderbalance b
        FULL JOIN (
            SELECT DISTINCT ON (token_id, account_id)
                token_id, account_id, seq, balance_after
            FROM issuers_ledgerposting ORDER BY token_id, account_id, seq DESC
        ) p ON p.token_id = b.token_id AND p.account_id = b.account_id
        """,
    ),
    Invariant(
        "holding periods match the postings",
        f"""
        SELECT count(*), count(*) FILTER (
            WHERE x.token_id IS NULL OR h.token_id IS NULL
            OR x.until IS DISTINCT FROM h.until)
        FROM issuers_holdingperiod h FULL JOIN ({HOLDING_PERIODS}) AS x
            ON x.token_id = h.token_id AND x.user_id = h.user_id AND x.since = h.since
        """,
    ),
    Invariant(
        "Σ balances = supply, Σ holders' balances = held, and as many holders",
        """
        SELECT sum(supply), count(*) FILTER (WHERE supply <> balances
            OR held <> holders_balances OR holder_count <> holders)
        FROM (
            SELECT h.supply, h.held, h.holder_count,
                coalesce(sum(b.balance), 0) AS balances,
                coalesce(sum(b.balance) FILTER (WHERE a.kind = 'HOLDER'), 0)
                    AS holders_balances,
                count(*) FILTER (WHERE a.kind = 'HOLDER' AND b.balance > 0) AS holders
            FROM issuers_tokenledgerhead h
            LEFT JOIN issuers_holderbalance b ON b.token_id = h.token_id
            LEFT JOIN issuers_ledgeraccount a ON a.id = b.account_id
            GROUP BY h.token_id
        ) x
        """,
    ),
    Invariant(
        "0 ≤ held ≤ supply ≤ 2⁶⁴−1, and supply × price ≤ 2⁶³−1 cents",
        f"""
        SELECT count(*), count(*) FILTER (WHERE NOT (
            0 <= held AND held <= supply AND supply <= {MAX_UNITS}
            AND supply * coalesce(price_cents, 0) <= {MAX_VALUE}))
        FROM issuers_tokenledgerhead
        """,
    ),
    Invariant(
        "each head equals its last entry and price",
        """
        SELECT count(*), count(*) FILTER (
            WHERE (t.supply_after, t.held_after, t.holders_after, t.effective_at)
                IS DISTINCT FROM (h.supply, h.held, h.holder_count, h.last_effective_at)
                AND h.last_seq > 0
            OR (p.price_cents, p.effective_at)
                IS DISTINCT FROM (h.price_cents, h.last_price_at))
        FROM issuers_tokenledgerhead h
        LEFT JOIN issuers_ledgertransaction t
            ON t.token_id = h.token_id AND t.seq = h.last_seq
        LEFT JOIN issuers_tokenprice p
            ON p.token_id = h.token_id AND p.number = h.last_price
        """,
    ),
    Invariant(
        "treasuries belong to the token's issuer, and holders' accounts to their users",
        """
        SELECT count(*), count(*) FILTER (WHERE wrong) FROM (
            SELECT u.user_id <> a.user_id AS wrong
            FROM issuers_ledgeraccount a
            JOIN accounts_userholder u ON u.id = a.holder_id
            UNION ALL
            SELECT b.user_id IS DISTINCT FROM a.user_id
            FROM issuers_holderbalance b
            JOIN issuers_ledgeraccount a ON a.id = b.account_id
            UNION ALL
            SELECT a.issuer_id <> t.issuer_id
            FROM issuers_holderbalance b
            JOIN issuers_ledgeraccount a ON a.id = b.account_id AND a.kind = 'TREASURY'
            JOIN issuers_token t ON t.id = b.token_id
        ) x
        """,
    ),
    Invariant(
        "reversals move back the units that they reverse",
        """
        SELECT count(*), count(*) FILTER (
            WHERE (r.source_id, r.target_id, r.amount)
                IS DISTINCT FROM (t.target_id, t.source_id, t.amount)
            OR t.seq >= r.seq OR t.kind = 'REVERSAL')
        FROM issuers_ledgertransaction r
        LEFT JOIN issuers_ledgertransaction t
            ON t.token_id = r.token_id AND t.seq = r.reverses
        WHERE r.kind = 'REVERSAL'
        """,
    ),
    Invariant(
        "delivered legacy shares and the ledger's deliveries agree",
        """
        SELECT count(*), count(*) FILTER (
            WHERE (s.token_id, s.ledger_seq, s.number_of_shares, s.user_id,
                    s.delivered_at, s.delivered_by, s.issuer_id)
                IS DISTINCT FROM (t.token_id, t.seq, t.amount, a.user_id,
                    t.effective_at, t.actor, k.issuer_id))
        FROM (SELECT * FROM issuers_legacyshareholder WHERE status = 'DELIVERED') s
        FULL JOIN (
            SELECT * FROM issuers_ledgertransaction
            WHERE legacy_shareholder_id IS NOT NULL
        ) t ON t.legacy_shareholder_id = s.id
        LEFT JOIN issuers_ledgeraccount a ON a.id = t.target_id
        LEFT JOIN issuers_token k ON k.id = t.token_id
        """,
    ),
    Invariant(
        "|Σ percentages − 1| < 1e-9 for every issuer with holders",
        """
        SELECT count(*), count(*) FILTER (WHERE abs(shares - 1) >= 1e-9) FROM (
            SELECT sum((value / total)::float8) AS shares
            FROM (
                SELECT issuer_id, value, sum(value) OVER (PARTITION BY issuer_id) total
                FROM (
                    SELECT t.issuer_id, sum(b.balance * h.price_cents) AS value
                    FROM issuers_holderbalance b
                    JOIN issuers_ledgeraccount a
                        ON a.id = b.account_id AND a.kind = 'HOLDER'
                    JOIN issuers_token t ON t.id = b.token_id
                    JOIN issuers_tokenledgerhead h ON h.token_id = t.id
                    GROUP BY t.issuer_id, b.account_id
                ) x
            ) x WHERE total > 0 GROUP BY issuer_id
        ) x
        """,
    ),
    Invariant(
        "each kind of entry moves units between the right kinds of accounts",
        f"""
        SELECT count(*), count(*) FILTER (WHERE kind <> 'REVERSAL' AND NOT EXISTS (
            SELECT FROM (VALUES {WAYS}
            ) AS a (kind, source, target)
            WHERE a.kind = x.kind AND a.source IS NOT DISTINCT FROM x.source
                AND a.target IS NOT DISTINCT FROM x.target))
        FROM (
            SELECT t.kind, s.kind AS source, g.kind AS target
            FROM issuers_ledgertransaction t
            LEFT JOIN issuers_ledgeraccount s ON s.id = t.source_id
            LEFT JOIN issuers_ledgeraccount g ON g.id = t.target_id
        ) x
        """,
    ),
    Invariant(
        "each ledger with entries or prices is open",
        """
        SELECT count(*), count(*) FILTER (WHERE NOT is_open)
        FROM issuers_tokenledgerhead WHERE last_seq + last_price > 0
        """,
    ),
    Invariant(
        "no token has more units than authorized",
        """
        SELECT count(*), count(*) FILTER (WHERE h.supply > t.authorized_units)
        FROM issuers_tokenledgerhead h JOIN issuers_token t ON t.id = h.token_id
        """,
    ),
    Invariant(
        "each account with a partner agrees with its history",
        """
        SELECT count(*), count(*) FILTER (WHERE a.changes <> h.entries
            OR a.changes <> h.last_number OR (a.status, a.status_reason, a.updated_at)
                IS DISTINCT FROM (h.status, h.reason, h.created_at) OR h.jumps > 0)
        FROM accounts_account a
        LEFT JOIN (
            SELECT account_id, count(*) AS entries, max(number) AS last_number,
                count(*) FILTER (WHERE previous_status IS DISTINCT FROM before
                    OR created_at < before_at) AS jumps,
                (array_agg(status ORDER BY number DESC))[1] AS status,
                (array_agg(reason ORDER BY number DESC))[1] AS reason,
                (array_agg(created_at ORDER BY number DESC))[1] AS created_at
            FROM (
                SELECT *, lag(status) OVER by_number AS before,
                    lag(created_at) OVER by_number AS before_at
                FROM accounts_accountstatuschange
                WINDOW by_number AS (PARTITION BY account_id ORDER BY number)
            ) x GROUP BY account_id
        ) h ON h.account_id = a.id
        """,
    ),
)
