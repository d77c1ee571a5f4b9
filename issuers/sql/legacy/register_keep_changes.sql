-- What changed of a legacy line stays as long as the line does.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_changes()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
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
