-- The end of a restriction uses an approval where policy asks for one.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.approvals_of_lifting()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_restriction'::regclass THEN
        RAISE EXCEPTION 'approvals_of_lifting guards issuers_restriction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM approvals_use('LIFTING', jsonb_build_object('restriction', NEW.id), NULL,
        NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_of_lifting() FROM PUBLIC;

DROP TRIGGER IF EXISTS approvals_of_lifting ON public.issuers_restriction;
CREATE CONSTRAINT TRIGGER approvals_of_lifting AFTER UPDATE
    ON public.issuers_restriction DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_of_lifting();
