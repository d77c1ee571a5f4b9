-- At the commit: keeps the terms of an issuer that is new or has another name or owner.
-- A new issuer whose tokens have entries uses an approval where policy asks for one.
-- called by: triggers
-- locks: accounts_user (FOR SHARE)
CREATE OR REPLACE FUNCTION public.register_follow_issuer()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    supplies jsonb;
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT jsonb_object_agg(t.symbol, h.supply::text) INTO supplies
            FROM issuers_token t JOIN issuers_tokenledgerhead h ON h.token_id = t.id
            WHERE t.issuer_id = NEW.id AND h.last_seq > 0;
        IF supplies IS NOT NULL AND approvals_person() <> 'SQL' THEN
            PERFORM approvals_use('REGISTER', jsonb_build_object('issuer', NEW.id,
                'owner', NEW.owner_id, 'name', NEW.trading_name, 'supplies', supplies),
                NULL, NULL, NULL);
        END IF;
    ELSIF (NEW.trading_name, NEW.owner_id) = (OLD.trading_name, OLD.owner_id) THEN
        RETURN NULL;
    END IF;
    -- A writer of the new owner cannot see yet that it is the owner.
    IF TG_OP = 'INSERT' OR NEW.owner_id <> OLD.owner_id THEN
        PERFORM FROM accounts_user WHERE id = NEW.owner_id FOR SHARE;
    END IF;
    PERFORM search_refresh(NEW.id);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_issuer() FROM PUBLIC;

DROP TRIGGER IF EXISTS register_follow_issuer ON public.issuers_issuer;
CREATE CONSTRAINT TRIGGER register_follow_issuer AFTER INSERT OR UPDATE OF trading_name,
        owner_id
    ON public.issuers_issuer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.register_follow_issuer();
