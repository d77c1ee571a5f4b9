-- At the commit: a new symbol or ISIN of a token on the secondary market uses an approval
-- where policy asks for one, and the terms of an issuer follow its tokens.
-- called by: triggers
-- locks: issuers_issuerterm (FOR UPDATE)
CREATE OR REPLACE FUNCTION public.register_follow_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    folded text;
BEGIN
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
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.symbol, NEW.isin, NEW.visibility) IS NOT DISTINCT FROM
            (OLD.symbol, OLD.isin, OLD.visibility) THEN
            RETURN NULL;
        END IF;
        IF OLD.market_type = 'SECONDARY_MARKET'
            AND (NEW.symbol, NEW.isin) IS DISTINCT FROM (OLD.symbol, OLD.isin) THEN
            PERFORM approvals_use('IDENTITY', jsonb_build_object('token', NEW.id,
                'from', jsonb_build_object('symbol', OLD.symbol, 'isin', OLD.isin),
                'symbol', NEW.symbol, 'isin', NEW.isin), NULL, NEW.id, NULL);
        END IF;
    END IF;
    PERFORM search_refresh(OLD.issuer_id);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_token() FROM PUBLIC;

DROP TRIGGER IF EXISTS register_follow_token ON public.issuers_token;
CREATE CONSTRAINT TRIGGER register_follow_token AFTER INSERT OR DELETE OR UPDATE OF
        symbol, isin, visibility
    ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.register_follow_token();
