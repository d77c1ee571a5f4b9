-- A grant keeps its partner and issuer and is ended, not deleted.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_grants()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'register_keep_grants guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'Grant % stays with its partner and its issuer, and is not deleted. '
        'Set ended_at.', OLD.id USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.register_keep_grants() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_delete_no_grant BEFORE DELETE
    ON public.issuers_issuergrant FOR EACH ROW
    EXECUTE FUNCTION public.register_keep_grants();

CREATE OR REPLACE TRIGGER register_keep_grants BEFORE UPDATE
    ON public.issuers_issuergrant FOR EACH ROW
    WHEN (new.id <> old.id OR new.partner_id <> old.partner_id OR new.issuer_id IS
        DISTINCT FROM old.issuer_id)
    EXECUTE FUNCTION public.register_keep_grants();
