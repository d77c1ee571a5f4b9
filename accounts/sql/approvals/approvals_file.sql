-- Accepts a request of an active member of staff with the right to file its kind; it
-- expires within 31 days.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.approvals_file()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_approvalrequest'::regclass THEN
        RAISE EXCEPTION 'approvals_file guards accounts_approvalrequest, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.filed_at := clock_timestamp();
    IF NEW.expires_at <= NEW.filed_at
        OR NEW.expires_at > NEW.filed_at + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NOT approvals_may(NEW.filed_by_id, 'file_' || NEW.kind) THEN
        RAISE EXCEPTION 'A request is filed by an active member of staff with the right '
            'to file its kind: %.', lower(NEW.kind) USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.approvals_file() FROM PUBLIC;

CREATE OR REPLACE TRIGGER approvals_file BEFORE INSERT
    ON public.accounts_approvalrequest FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.approvals_file();
