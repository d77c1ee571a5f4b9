"""What must be true of rules and of investors, each as one SQL statement."""

from partnerapi.core.invariants import Invariant

RULE_INVARIANTS = (
    Invariant(
        "no entry of the last two days broke a rule of its time",
        """
        SELECT count(*), count(*) FILTER (WHERE EXISTS (
            SELECT FROM register_judge(t.token_id, t.kind, t.source_id, t.target_id,
                t.amount, t.effective_at, TRUE, s.balance_after + t.amount, 0,
                g.balance_after - t.amount, t.supply_after, before.holders_after,
                t.holders_after)))
        FROM issuers_ledgertransaction t
        JOIN issuers_ledgertransaction before
            ON before.token_id = t.token_id AND before.seq = t.seq - 1
        LEFT JOIN issuers_ledgerposting s
            ON s.token_id = t.token_id AND s.seq = t.seq AND s.leg = 1
        LEFT JOIN issuers_ledgerposting g
            ON g.token_id = t.token_id AND g.seq = t.seq AND g.leg = 2
        WHERE t.recorded_at > now() - interval '2 days'
            AND (EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = t.token_id)
                OR EXISTS (SELECT FROM issuers_restriction r
                    WHERE r.ledger_account_id IN (t.source_id, t.target_id)))
        """,
    ),
    Invariant(
        "investors' profiles stand where their histories have led",
        """
        SELECT count(*), count(*) FILTER (WHERE p.changes IS DISTINCT FROM h.number
            OR ROW (p.verification, p.verified_until, p.tax_country_id,
                p.investor_class, p.partner_id, p.updated_at) IS DISTINCT FROM
                ROW (h.verification, h.verified_until, h.tax_country_id,
                h.investor_class, h.partner_id, h.created_at)
            OR h.number <> h.entries)
        FROM accounts_investorprofile p
        FULL JOIN (
            SELECT DISTINCT ON (user_id) *, count(*) OVER (PARTITION BY user_id)
                AS entries
            FROM accounts_investorchange ORDER BY user_id, number DESC
        ) h ON h.user_id = p.user_id
        """,
    ),
)
