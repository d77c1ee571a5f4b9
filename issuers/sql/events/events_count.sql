-- Counts the events that are removed: events_write counts those that come, by type, and
-- by issuer or token where lists filter by them.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_count()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'issuers_event'::regclass THEN
        RAISE EXCEPTION 'events_count guards issuers_event, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    UPDATE issuers_eventcount c SET number = c.number - g.number
    FROM (SELECT partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type IN ('MARKET_PHASE_CHANGED', 'TOKEN_PRICE_CHANGED')
            THEN token_id END AS token_id,
        count(*) AS number FROM changed GROUP BY 1, 2, 3, 4) g
    WHERE (c.partner_id, c.type) = (g.partner_id, g.type)
        AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
        AND c.token_id IS NOT DISTINCT FROM g.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_count() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_count_less AFTER DELETE ON public.issuers_event
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION public.events_count();
ALTER TABLE public.issuers_event ENABLE ALWAYS TRIGGER events_count_less;
