-- The next member of a running export follows the last one's number and byte.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.partnerapi_follow_members()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    UPDATE partnerapi_export e SET members = NEW.number, rows = e.rows + NEW.rows,
        size_bytes = NEW.position + octet_length(NEW.data)
    WHERE e.id = NEW.export_id AND e.status = 'RUNNING' AND NOT e.is_written
        AND e.members = NEW.number - 1 AND e.size_bytes = NEW.position;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Member % at byte % is not the next of export %.',
            NEW.number, NEW.position, NEW.export_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.partnerapi_follow_members() FROM PUBLIC;

CREATE OR REPLACE TRIGGER partnerapi_follow_members BEFORE INSERT
    ON public.partnerapi_exportmember FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.partnerapi_follow_members();
