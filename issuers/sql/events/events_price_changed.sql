-- Tells partners about a price that no trade made: all of them for a public token,
-- those with a grant for a private one.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_price_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'events_price_changed guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg(CASE t.visibility WHEN 'PUBLIC' THEN 'ALL'
            ELSE 'GRANTED' END ORDER BY t.id), NULL,
        array_agg('TOKEN_PRICE_CHANGED'::text ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), array_agg(t.issuer_id ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), NULL)
    FROM (SELECT DISTINCT token_id FROM entered WHERE source <> 'TRADE') e
    JOIN issuers_token t ON t.id = e.token_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_price_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_price_changed AFTER INSERT
    ON public.issuers_tokenprice REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    EXECUTE FUNCTION public.events_price_changed();
