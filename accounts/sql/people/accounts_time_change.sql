-- Times each change of a status by the database's clock.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.accounts_time_change()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_accountstatuschange'::regclass THEN
        RAISE EXCEPTION 'accounts_time_change guards accounts_accountstatuschange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.recorded_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_time_change() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_time_change BEFORE INSERT
    ON public.accounts_accountstatuschange FOR EACH ROW
    EXECUTE FUNCTION public.accounts_time_change();
