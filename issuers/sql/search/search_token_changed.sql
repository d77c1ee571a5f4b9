-- Keeps the terms of an issuer whose tokens change.
-- called by: triggers
-- raises: insufficient_privilege
-- locks: issuers_issuerterm (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.search_token_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    folded text;
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'search_token_changed guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        SELECT name INTO folded FROM issuers_issuerterm
            WHERE issuer_id = NEW.issuer_id AND term = '' FOR UPDATE;
        -- An issuer that was made past the triggers.
        IF NOT FOUND THEN
            PERFORM search_refresh(NEW.issuer_id);
            RETURN NULL;
        END IF;
        INSERT INTO issuers_issuerterm (term, name, issuer_id, private)
            SELECT term, folded, NEW.issuer_id, NEW.visibility = 'PRIVATE' FROM (
                SELECT '#' || lower(NEW.symbol)
                UNION SELECT '#' || lower(NEW.isin) WHERE NEW.isin IS NOT NULL
                UNION SELECT search_beginnings(lower(NEW.symbol))) AS t (term)
            ON CONFLICT (term, name, issuer_id) DO UPDATE SET private = FALSE
            WHERE issuers_issuerterm.private AND NOT excluded.private;
        RETURN NULL;
    END IF;
    PERFORM search_refresh(OLD.issuer_id);
    IF TG_OP = 'UPDATE' AND NEW.issuer_id <> OLD.issuer_id THEN
        PERFORM search_refresh(NEW.issuer_id);
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_token_changed() FROM PUBLIC;

DROP TRIGGER IF EXISTS search_token_changed ON public.issuers_token;
CREATE CONSTRAINT TRIGGER search_token_changed AFTER UPDATE OF symbol, isin, visibility,
        issuer_id
    ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (old.symbol IS DISTINCT FROM new.symbol OR old.isin IS DISTINCT FROM new.isin
        OR old.visibility IS DISTINCT FROM new.visibility OR old.issuer_id IS DISTINCT
        FROM new.issuer_id)
    EXECUTE FUNCTION public.search_token_changed();

DROP TRIGGER IF EXISTS search_token_made ON public.issuers_token;
CREATE CONSTRAINT TRIGGER search_token_made AFTER INSERT OR DELETE
    ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.search_token_changed();
