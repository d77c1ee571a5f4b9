-- Returns the entries of a token, of a range of numbers, that its rules or restrictions
-- forbade at their time. Trades of auctions are judged when their fills are listed.
-- called by: application, register_keep_judged
CREATE OR REPLACE FUNCTION public.register_broken_entries(
    of_token uuid, since bigint, until bigint
)
RETURNS SETOF bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT b.seq FROM (
        SELECT t.seq FROM issuers_ledgertransaction t
        LEFT JOIN issuers_ledgertransaction before
            ON before.token_id = t.token_id AND before.seq = t.seq - 1
        LEFT JOIN issuers_ledgerposting s
            ON s.token_id = t.token_id AND s.seq = t.seq AND s.leg = 1
        LEFT JOIN issuers_ledgerposting g
            ON g.token_id = t.token_id AND g.seq = t.seq AND g.leg = 2
        WHERE t.token_id = of_token AND t.seq > since AND t.seq <= until
            AND (EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = of_token)
                OR EXISTS (SELECT FROM issuers_restriction r
                    WHERE r.ledger_account_id IN (t.source_id, t.target_id)))
            AND EXISTS (SELECT FROM register_judge(of_token, t.kind, t.source_id,
                t.target_id, t.amount, t.effective_at, TRUE,
                s.balance_after + t.amount, 0, g.balance_after - t.amount,
                t.supply_after, coalesce(before.holders_after, 0), t.holders_after))
        OFFSET 0
    ) b
    WHERE NOT EXISTS (SELECT FROM trading_execution x WHERE x.token_id = of_token
        AND x.ledger_seq = b.seq AND x.aggressor IS NULL)
    ORDER BY b.seq;
END $$;
REVOKE ALL ON FUNCTION public.register_broken_entries(uuid, bigint, bigint) FROM PUBLIC;
