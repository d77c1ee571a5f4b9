-- A new or revived grant uses an approval where policy asks for one.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_of_grant()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'approvals_of_grant guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.ended_at IS NULL AND (OLD.partner_id, OLD.issuer_id)
        IS NOT DISTINCT FROM (NEW.partner_id, NEW.issuer_id) THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use('GRANT', jsonb_strip_nulls(jsonb_build_object(
        'partner', NEW.partner_id, 'issuer', NEW.issuer_id)), NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_grant() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_grant ON public.issuers_issuergrant;
CREATE CONSTRAINT TRIGGER approvals_of_grant AFTER INSERT OR UPDATE
    ON public.issuers_issuergrant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (new.ended_at IS NULL AND public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_grant();
