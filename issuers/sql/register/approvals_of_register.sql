-- A new name or owner of an issuer whose tokens have entries uses an approval where
-- policy asks for one.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_of_register()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    supplies jsonb;
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'approvals_of_register guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT jsonb_object_agg(t.symbol, h.supply::text) INTO supplies
        FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
        WHERE t.issuer_id = NEW.id AND h.last_seq > 0;
    IF supplies IS NOT NULL AND approvals_person() <> 'SQL' THEN
        PERFORM approvals_use('REGISTER', jsonb_build_object('issuer', NEW.id,
            'owner', NEW.owner_id, 'name', NEW.trading_name, 'supplies', supplies),
            NULL, NULL, NULL);
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_register() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_register ON public.issuers_issuer;
CREATE CONSTRAINT TRIGGER approvals_of_register AFTER INSERT ON public.issuers_issuer
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.approvals_of_register();
