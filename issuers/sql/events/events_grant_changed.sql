-- Tells the partner that gains or loses a grant.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.events_grant_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'events_grant_changed guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(g.partner_id),
        array_agg('GRANT_CHANGED'::text), array_agg(g.issuer_id),
        array_agg(g.issuer_id), NULL, NULL)
    FROM (SELECT OLD.partner_id, OLD.issuer_id WHERE OLD.partner_id IS NOT NULL
          UNION SELECT NEW.partner_id, NEW.issuer_id WHERE NEW.partner_id IS NOT NULL
    ) g
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_grant_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_grant_changed AFTER INSERT OR DELETE OR UPDATE
    ON public.issuers_issuergrant FOR EACH ROW
    EXECUTE FUNCTION public.events_grant_changed();
