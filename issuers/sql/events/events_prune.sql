-- Removes at most so many events older than so many days (30 or more) of one partner
-- whose head is free, and counts them no more. Returns how many.
-- called by: application
-- raises: restrict_violation
-- locks: issuers_eventhead (FOR NO KEY UPDATE SKIP LOCKED)
CREATE OR REPLACE FUNCTION public.events_prune(days integer, most integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    old timestamptz;
    head issuers_eventhead;
    until bigint;
    deleted bigint;
BEGIN
    IF days < 30 THEN
        RAISE EXCEPTION 'Events are kept for 30 days at least, not for %.', days
            USING ERRCODE = 'restrict_violation';
    END IF;
    old := clock_timestamp() - make_interval(days => days);
    SELECT h.* INTO head FROM issuers_eventhead h
        WHERE EXISTS (SELECT FROM issuers_event e WHERE e.partner_id = h.partner_id
            AND e.sequence = h.pruned_sequence + 1 AND e.at < old)
        ORDER BY h.partner_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT max(e.sequence) INTO until FROM (
        SELECT sequence, at FROM issuers_event
        WHERE partner_id = head.partner_id AND sequence > head.pruned_sequence
        ORDER BY sequence LIMIT most) e
    WHERE e.at < old;
    WITH removed AS (
        DELETE FROM issuers_event WHERE partner_id = head.partner_id
            AND sequence > head.pruned_sequence AND sequence <= until
        RETURNING type,
            CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
                THEN issuer_id END AS issuer_id,
            CASE WHEN type IN ('AUCTION_INDICATED', 'MARKET_PARAMETERS_CHANGED',
                'MARKET_PHASE_CHANGED', 'OFFERING_CHANGED', 'TOKEN_PRICE_CHANGED')
                THEN token_id END AS token_id
    ), counted AS (
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT type, issuer_id, token_id, count(*) AS number FROM removed
            GROUP BY 1, 2, 3) g
        WHERE c.partner_id = head.partner_id AND c.type = g.type
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id
    )
    SELECT count(*) INTO deleted FROM removed;
    UPDATE issuers_eventhead SET pruned_sequence = until
        WHERE partner_id = head.partner_id;
    RETURN deleted;
END $$;
REVOKE ALL ON FUNCTION public.events_prune(integer, integer) FROM PUBLIC;
