-- Returns the fills of an auction that the token's rules or restrictions of holders
-- forbade when they were listed, each after those before it, with the code of a refusal.
-- called by: application, trading_uncross
CREATE OR REPLACE FUNCTION public.trading_refused_fills(
    of_token uuid, of_call bigint, past boolean
)
RETURNS TABLE(place integer, code text) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    auction trading_auction;
    listed issuers_ledgertransaction;
BEGIN
    SELECT * INTO auction FROM trading_auction a
        WHERE a.token_id = of_token AND a.began = of_call;
    -- Most tokens have no rule, and most of the time no holder has a restriction.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = of_token
            AND (r.ended_at IS NULL OR r.ended_at > auction.listed_at))
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at > auction.listed_at) THEN
        RETURN;
    END IF;
    SELECT * INTO listed FROM issuers_ledgertransaction t
        WHERE t.token_id = of_token AND t.seq = auction.listed_entry;
    RETURN QUERY
    SELECT f.place, j.code
    FROM (
        SELECT m.*, listed.holders_after + sum(m.holders) OVER (ORDER BY m.place)
            AS holders_after
        FROM (
            SELECT l.place, l.quantity,
                min(l.account) FILTER (WHERE l.delta < 0) AS seller,
                min(l.account) FILTER (WHERE l.delta > 0) AS buyer,
                min(l.after - l.delta) FILTER (WHERE l.delta < 0) AS given,
                min(l.after - l.delta) FILTER (WHERE l.delta > 0) AS taken,
                sum((l.after > 0)::integer - (l.after - l.delta > 0)::integer)
                    AS holders
            FROM (
                SELECT f.place, f.quantity, l.account, l.delta,
                    coalesce(p.balance_after, 0) + sum(l.delta) OVER (
                        PARTITION BY l.account ORDER BY f.place) AS after
                FROM trading_auctionfill f
                CROSS JOIN LATERAL (
                    SELECT * FROM trading_order x WHERE x.id = f.buy_order_id LIMIT 1) b
                CROSS JOIN LATERAL (
                    SELECT * FROM trading_order x WHERE x.id = f.sell_order_id LIMIT 1) s
                CROSS JOIN LATERAL (VALUES (s.ledger_account_id, -f.quantity),
                    (b.ledger_account_id, f.quantity)) AS l (account, delta)
                LEFT JOIN LATERAL (
                    SELECT x.balance_after FROM issuers_ledgerposting x
                    WHERE x.token_id = of_token AND x.account_id = l.account
                        AND x.seq <= auction.listed_entry
                    ORDER BY x.seq DESC LIMIT 1
                ) p ON TRUE
                WHERE f.token_id = of_token AND f.began = of_call
            ) l
            GROUP BY l.place, l.quantity
        ) m
    ) f
    CROSS JOIN LATERAL (
        SELECT x.code FROM register_judge(of_token, 'TRADE', f.seller, f.buyer,
            f.quantity, auction.listed_at, past, f.given, 0, f.taken,
            listed.supply_after, (f.holders_after - f.holders)::bigint,
            f.holders_after::bigint) x LIMIT 1
    ) j
    ORDER BY f.place;
END $$;
REVOKE ALL ON FUNCTION public.trading_refused_fills(uuid, bigint, boolean) FROM PUBLIC;
