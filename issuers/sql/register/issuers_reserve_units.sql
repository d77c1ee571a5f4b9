-- Adds to what holders have reserved of a token, in units; the CHECKs of the balance
-- refuse more than there is.
-- called by: trading_follow_changed, trading_follow_placed
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.issuers_reserve_units(
    of_token uuid, accounts bigint[], deltas bigint[]
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
    changed bigint;
BEGIN
    UPDATE issuers_holderbalance b SET reserved = b.reserved + d.delta
        FROM (SELECT w.account, sum(w.delta) AS delta
              FROM unnest(accounts, deltas) AS w (account, delta)
              GROUP BY w.account) d
        WHERE b.token_id = of_token AND b.account_id = d.account;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed <> (SELECT count(DISTINCT w.account) FROM unnest(accounts) AS w (account))
    THEN
        RAISE EXCEPTION 'Units are reserved of a holder who has some: token %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.issuers_reserve_units(uuid, bigint[], bigint[]) FROM
    PUBLIC;
