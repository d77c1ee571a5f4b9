-- Returns what register_judge would refuse of a movement from present balances.
-- called by: anyone
CREATE OR REPLACE FUNCTION public.register_refusals(
    of_token uuid, kind text, source bigint, target bigint, amount numeric, at timestamp
    with time zone DEFAULT clock_timestamp(), newcomer uuid DEFAULT NULL::uuid
)
RETURNS TABLE(code text, details jsonb) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    head issuers_tokenledgerhead;
    gives issuers_holderbalance;
    takes issuers_holderbalance;
    is_made boolean := source IS NULL AND kind NOT IN ('TRADE', 'TRANSFER');
    after bigint;
BEGIN
    SELECT * INTO head FROM issuers_tokenledgerhead h WHERE h.token_id = of_token;
    SELECT * INTO gives FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = source;
    SELECT * INTO takes FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = target;
    after := head.holder_count
        + (coalesce(target::text, newcomer::text) IS NOT NULL
            AND coalesce(takes.balance, 0) = 0)::integer
        - coalesce(gives.user_id IS NOT NULL AND gives.balance = amount, FALSE)::integer;
    RETURN QUERY SELECT j.code, j.details FROM register_judge(of_token, kind, source,
        target, amount, at, FALSE, coalesce(gives.balance, 0),
        coalesce(gives.reserved, 0), coalesce(takes.balance, 0),
        head.supply + CASE WHEN is_made THEN amount ELSE 0 END, head.holder_count,
        after, newcomer) j;
END $$;
