-- A new API key uses an approval of its partner, scopes and end where policy asks for
-- one; a key of a partner's desk was approved with its member.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.approvals_of_key()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM FROM accounts_deskkey d JOIN accounts_deskmember m ON m.id = d.member_id
        WHERE d.key_id = NEW.id AND m.partner_id = NEW.partner_id
            AND NEW.scopes::text[] <@ m.scopes::text[] AND NEW.expires_at IS NOT NULL;
    IF FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('KEY', jsonb_build_object('partner', NEW.partner_id,
        'scopes', ARRAY(SELECT s FROM unnest(NEW.scopes) AS s ORDER BY s COLLATE "C"),
        'expiresAt', floor(extract(epoch FROM NEW.expires_at))), NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_key() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_key ON public.accounts_apikey;
CREATE CONSTRAINT TRIGGER approvals_of_key AFTER INSERT ON public.accounts_apikey
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_key();
