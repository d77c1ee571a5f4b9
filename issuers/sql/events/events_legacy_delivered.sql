-- Tells partners with a grant about delivered legacy shares.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_legacy_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'events_legacy_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg('GRANTED'::text ORDER BY e.ledger_seq), NULL,
        array_agg('LEGACY_SHARES_DELIVERED'::text ORDER BY e.ledger_seq),
        array_agg(e.id ORDER BY e.ledger_seq),
        array_agg(e.issuer_id ORDER BY e.ledger_seq),
        array_agg(e.token_id ORDER BY e.ledger_seq), NULL,
        array_agg(e.ledger_seq ORDER BY e.ledger_seq))
    FROM entered e WHERE e.status = 'DELIVERED'
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_legacy_delivered() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_legacy_delivered AFTER UPDATE
    ON public.issuers_legacyshareholder REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION public.events_legacy_delivered();
