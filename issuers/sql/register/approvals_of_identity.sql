-- A new symbol or ISIN of a token uses an approval where policy asks for one.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_of_identity()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'approvals_of_identity guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM approvals_use('IDENTITY', jsonb_build_object('token', NEW.id,
        'from', jsonb_build_object('symbol', OLD.symbol, 'isin', OLD.isin),
        'symbol', NEW.symbol, 'isin', NEW.isin), NULL, NEW.id, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_identity() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_identity ON public.issuers_token;
CREATE CONSTRAINT TRIGGER approvals_of_identity AFTER UPDATE OF symbol, isin
    ON public.issuers_token DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (old.market_type = 'SECONDARY_MARKET' AND (old.symbol IS DISTINCT FROM
        new.symbol OR old.isin IS DISTINCT FROM new.isin))
    EXECUTE FUNCTION public.approvals_of_identity();
