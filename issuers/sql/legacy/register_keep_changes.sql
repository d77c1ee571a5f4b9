-- What changed of a legacy line stays as long as the line does.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_changes()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholderchange'::regclass THEN
        RAISE EXCEPTION 'register_keep_changes guards issuers_legacyshareholderchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (
        SELECT FROM issuers_legacyshareholder WHERE id = OLD.shareholder_id) THEN
        RAISE EXCEPTION 'What changed of legacy shares % stays with them.',
            OLD.shareholder_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_changes() FROM PUBLIC;

DROP TRIGGER IF EXISTS register_keep_changes ON public.issuers_legacyshareholderchange;
CREATE CONSTRAINT TRIGGER register_keep_changes AFTER DELETE
    ON public.issuers_legacyshareholderchange DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION public.register_keep_changes();
