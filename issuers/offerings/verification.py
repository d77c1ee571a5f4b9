"""The invariants of offerings, each as one SQL statement."""

from partnerapi.core.invariants import Invariant

INVARIANTS = (
    Invariant(
        "a subscription's user, partner and accounts equal those of its account",
        """
        SELECT count(*), count(*) FILTER (WHERE (a.user_id = s.user_id
            AND a.partner_id = s.partner_id AND l.user_id = s.user_id
            AND c.account_id = s.account_id) IS NOT TRUE)
        FROM issuers_subscription s
        LEFT JOIN accounts_account a ON a.id = s.account_id
        LEFT JOIN issuers_ledgeraccount l ON l.id = s.ledger_account_id
        LEFT JOIN accounts_cashaccount c ON c.id = s.cash_account_id
        """,
    ),
    Invariant(
        "active subscriptions are of offerings under way, settled ones of settled ones",
        """
        SELECT count(*), count(*) FILTER (WHERE CASE s.status
            WHEN 'ACTIVE' THEN o.status NOT IN ('OPEN', 'CLOSED', 'ALLOTTED')
            WHEN 'SETTLED' THEN o.status <> 'SETTLED'
            ELSE FALSE END)
        FROM issuers_subscription s
        JOIN issuers_offering o ON o.id = s.offering_id
        """,
    ),
    Invariant(
        "what was settled is within the offering's bounds, and within each limit",
        """
        SELECT count(*), count(*) FILTER (WHERE o.units IS NULL
            OR o.units NOT BETWEEN o.minimum_units AND o.maximum_units OR o.exceeds)
        FROM (
            SELECT o.id, o.minimum_units, o.maximum_units, sum(s.allotted) AS units,
                bool_or(s.limit_price < o.price OR s.allotted > s.quantity) AS exceeds
            FROM issuers_offering o
            LEFT JOIN issuers_subscription s
                ON s.offering_id = o.id AND s.status = 'SETTLED'
            WHERE o.status = 'SETTLED' GROUP BY o.id
        ) o
        """,
    ),
    Invariant(
        "settled subscriptions, their entries and payments match one to one",
        """
        SELECT count(*), count(*) FILTER (WHERE s.id IS NULL OR l.seq IS NULL
            OR c.id IS NULL OR (l.kind, l.target_id, l.amount) IS DISTINCT FROM
                ('ALLOCATE', s.ledger_account_id, s.allotted)
            OR (c.source_id, c.target_id, c.amount) IS DISTINCT FROM
                (s.cash_account_id, i.cash_account_id, s.allotted * o.price))
        FROM (SELECT * FROM issuers_subscription WHERE status = 'SETTLED') s
        FULL JOIN (SELECT * FROM accounts_cashtransaction WHERE kind = 'OFFERING') c
            ON c.id = s.cash_transaction
        LEFT JOIN issuers_offering o ON o.id = s.offering_id
        LEFT JOIN issuers_token t ON t.id = o.token_id
        LEFT JOIN issuers_issuercash i ON i.issuer_id = t.issuer_id
        LEFT JOIN issuers_ledgertransaction l
            ON l.token_id = o.token_id AND l.seq = s.ledger_seq
        """,
    ),
    Invariant(
        "fees of offerings and payments of issuers to the platform match one to one",
        """
        SELECT count(*), count(*) FILTER (WHERE o.id IS NULL OR c.id IS NULL
            OR c.amount <> o.fee_net + o.fee_vat)
        FROM (SELECT * FROM issuers_offering WHERE fee_transaction IS NOT NULL) o
        FULL JOIN (
            SELECT c.* FROM accounts_cashtransaction c
            JOIN accounts_cashaccount s ON s.id = c.source_id AND s.kind = 'ISSUER'
            WHERE c.kind = 'FEE'
        ) c ON c.id = o.fee_transaction
        """,
    ),
    Invariant(
        "each issuer's cash account is its own",
        """
        SELECT count(*), count(*) FILTER (WHERE i.issuer_id IS NULL OR c.id IS NULL)
        FROM issuers_issuercash i
        FULL JOIN (SELECT * FROM accounts_cashaccount WHERE kind = 'ISSUER') c
            ON c.id = i.cash_account_id
        """,
    ),
    Invariant(
        "the documents of an offering are those with which it was opened",
        """
        SELECT count(*), count(*) FILTER (WHERE r.content -> 'digests' <> (
            SELECT coalesce(jsonb_agg(d.checksum_sha256 ORDER BY n.position), '[]')
            FROM unnest(o.documents) WITH ORDINALITY AS n (id, position)
            LEFT JOIN issuers_document d ON d.id = n.id))
        FROM accounts_approvalrequest r
        JOIN accounts_approvaloutcome u ON u.request_id = r.id AND u.is_executed
        JOIN issuers_offering o ON o.id = (r.content ->> 'offering')::uuid
        WHERE r.kind = 'OFFERING' AND r.content ->> 'step' = 'OPEN'
        """,
    ),
)
