-- A token keeps its issuer and creation, never leaves the secondary market, and
-- authorises no fewer units than there are.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_token()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    made numeric;
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'register_keep_token guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF (NEW.id, NEW.issuer_id, NEW.created_at)
            <> (OLD.id, OLD.issuer_id, OLD.created_at) THEN
        RAISE EXCEPTION 'The issuer of token % and its creation stay: tables of the '
            'past list it.', OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF OLD.market_type = 'SECONDARY_MARKET' AND NEW.market_type <> OLD.market_type THEN
        RAISE EXCEPTION 'Token % is on the secondary market and cannot go back.',
            OLD.symbol USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.authorized_units IS DISTINCT FROM OLD.authorized_units THEN
        UPDATE issuers_tokenledgerhead SET supply = supply WHERE token_id = OLD.id
            RETURNING supply INTO made;
        IF made > NEW.authorized_units THEN
            RAISE EXCEPTION 'Of token % there are % units: no fewer can be '
                'authorized.', OLD.symbol, made USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_token() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_token BEFORE UPDATE ON public.issuers_token
    FOR EACH ROW EXECUTE FUNCTION public.register_keep_token();
