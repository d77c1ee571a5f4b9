-- Judges that rules and restrictions admit each order that was taken or amended since
-- an event, and that open sells leave locked units alone.
-- called by: trading_write
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_judge_holders(
    of_token uuid, since_event bigint, judged_at timestamp with time zone
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    wrong uuid;
BEGIN
    SELECT o.id INTO wrong
    FROM trading_orderevent e
    CROSS JOIN LATERAL (
        SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
    CROSS JOIN LATERAL register_standing(of_token, ARRAY[o.ledger_account_id],
        judged_at, FALSE) s
    LEFT JOIN issuers_holderbalance b
        ON b.token_id = of_token AND b.account_id = o.ledger_account_id
    WHERE e.token_id = of_token AND e.number > since_event
        AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
        AND (s.is_paused
            OR CASE o.side WHEN 0 THEN s.receiving ELSE s.sending END <> '[]'
            OR o.side = 1 AND o.status = 'OPEN' AND b.reserved > b.balance - s.locked)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule or a restriction refuses the order: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_judge_holders(uuid, bigint, timestamp with time
    zone) FROM PUBLIC;
