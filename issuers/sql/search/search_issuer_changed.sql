-- Keeps the terms of an issuer that is new or has another name or owner.
-- called by: triggers
-- raises: insufficient_privilege
-- locks: accounts_user (FOR SHARE)
CREATE OR REPLACE FUNCTION public.search_issuer_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'search_issuer_changed guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- A writer of the new owner cannot see yet that it is the owner.
    IF TG_OP = 'INSERT' OR NEW.owner_id <> OLD.owner_id THEN
        PERFORM FROM accounts_user WHERE id = NEW.owner_id FOR SHARE;
    END IF;
    PERFORM search_refresh(NEW.id);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_issuer_changed() FROM PUBLIC;

DROP TRIGGER IF EXISTS search_issuer_changed ON public.issuers_issuer;
CREATE CONSTRAINT TRIGGER search_issuer_changed AFTER UPDATE OF trading_name, owner_id
    ON public.issuers_issuer DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (old.trading_name IS DISTINCT FROM new.trading_name OR old.owner_id IS DISTINCT
        FROM new.owner_id)
    EXECUTE FUNCTION public.search_issuer_changed();

DROP TRIGGER IF EXISTS search_issuer_made ON public.issuers_issuer;
CREATE CONSTRAINT TRIGGER search_issuer_made AFTER INSERT ON public.issuers_issuer
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION public.search_issuer_changed();
