-- Tells partners with a grant about entries that no trade made.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_register_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'events_register_changed guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg('GRANTED'::text ORDER BY t.id), NULL,
        array_agg('REGISTER_CHANGED'::text ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), array_agg(t.issuer_id ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), NULL,
        array_agg(e.seq ORDER BY t.id))
    FROM (SELECT token_id, max(seq) AS seq FROM entered WHERE kind <> 'TRADE'
        GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_register_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_register_changed AFTER INSERT
    ON public.issuers_ledgertransaction REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION public.events_register_changed();
