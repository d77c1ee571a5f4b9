-- Times each change of a status by the database's clock.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.accounts_time_change()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    NEW.recorded_at := clock_timestamp();
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_time_change() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_time_change BEFORE INSERT
    ON public.accounts_accountstatuschange FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_time_change();
